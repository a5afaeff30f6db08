#include "serve/request_head.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "margrove/errors.hpp"
#include "serve/service.hpp"

namespace margrove::serve {
namespace {

int status_of(std::string_view headers, std::string_view version = "1.1") {
  try {
    check_head(concat("POST / HTTP/", version, "\r\n", headers, "\r\n"));
  } catch (const StatusError& error) {
    return error.status();
  }
  return 200;
}

TEST(RequestHead, the_end_is_found_wherever_parts_end) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", rest = "GET";
  HeadEnd end;
  for (std::size_t size = 0; size < head.size(); ++size) {
    EXPECT_FALSE(end.is_reached(head.substr(0, size)));
  }
  EXPECT_TRUE(end.is_reached(head + rest));
  EXPECT_EQ(end.size(), head.size());
}

TEST(RequestHead, wrong_bytes_end_a_head_at_once) {
  for (const std::string wrong : {"\n", "G\n", "G\rx", "G\r\r\n", "G\x01", "\x16\x03\x01"}) {
    HeadEnd end;
    EXPECT_TRUE(end.is_reached(wrong)) << wrong;
    EXPECT_THROW(check_head(std::string_view(wrong).substr(0, end.size())), StatusError);
  }
  HeadEnd end;
  EXPECT_TRUE(end.is_reached(std::string_view("G\0", 2)));
}

TEST(RequestHead, every_header_name_and_length_is_checked) {
  const std::string host = "Host: a\r\n";
  EXPECT_EQ(status_of(host), 200);
  EXPECT_EQ(status_of(""), 400);
  EXPECT_EQ(status_of("", "1.0"), 200);
  EXPECT_EQ(status_of(host + "transfer-encoding:\tCHUNKED \r\n"), 200);
  EXPECT_EQ(status_of(host + "Transfer-Encoding: chunked\r\n", "1.0"), 400);
  EXPECT_EQ(status_of(host + "Transfer-Encoding: br, chunked\r\n"), 501);
  EXPECT_EQ(status_of(host + "Content-Length: 18446744073709551615\r\n"), 200);
  EXPECT_EQ(status_of(host + "Content-Length: 18446744073709551616\r\n"), 400);
  EXPECT_EQ(status_of(host + "X: \xc3\xa4\tb\r\nY:\r\n"), 200);
}

TEST(AllowedSites, origins_equal_the_host_or_are_listed) {
  const AllowedSites none({}, {});
  EXPECT_TRUE(none.empty());
  EXPECT_NO_THROW(none.check(std::nullopt, std::nullopt));
  EXPECT_NO_THROW(none.check("localhost:80", "http://localhost"));
  EXPECT_NO_THROW(none.check("[::1]:80", "http://[::1]:80"));
  EXPECT_THROW(none.check(std::nullopt, "http://localhost"), StatusError);
  EXPECT_THROW(none.check("localhost:80", "http://localhost:81"), StatusError);
  EXPECT_THROW(none.check("localhost", "http://localhost, http://a"), StatusError);
  EXPECT_THROW(none.check("localhost", ""), StatusError);
  const AllowedSites some({"A.example"}, {"HTTPS://b.example:443"});
  EXPECT_NO_THROW(some.check("a.example:1", "https://b.example"));
  EXPECT_THROW(some.check("a.example", "https://b.example:444"), StatusError);
  EXPECT_THROW(AllowedSites({""}, {}), InvalidOption);
}

TEST(ChunkExtension, begins_with_a_semicolon_and_is_short) {
  EXPECT_TRUE(is_chunk_extension(""));
  EXPECT_TRUE(is_chunk_extension(";a=b"));
  EXPECT_FALSE(is_chunk_extension(" "));
  EXPECT_FALSE(is_chunk_extension(";\n"));
  EXPECT_FALSE(is_chunk_extension(";" + std::string(1000, 'a')));
}

}  // namespace
}  // namespace margrove::serve
