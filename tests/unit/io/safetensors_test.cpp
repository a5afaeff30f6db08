#include "io/safetensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string container(const std::string& header, const std::string& data = "") {
  std::string bytes(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + data;
}

std::string error_of(const std::string& bytes) {
  try {
    parse_safetensors(std::as_bytes(std::span(bytes)), "m.safetensors");
  } catch (const ModelFileError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TensorMap example() {
  TensorMap map;
  map.put<float>("weights", std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  map.put<std::uint8_t>("bytes", std::vector<std::uint8_t>{7, 8, 9});
  map.put<double>("duals", std::vector<double>{});
  map.put_strings("names", std::vector<std::string>{"a", "", "zo\xC3\xAB", std::string("\0x", 2)});
  map.put_text("title", "a \"quoted\"\ntext");
  map.put_number("third", 1.0 / 3);
  return map;
}

TEST(Safetensors, round_trip_keeps_every_tensor_and_text) {
  const std::string bytes = serialize_safetensors(example());
  const TensorMap read = parse_safetensors(std::as_bytes(std::span(bytes)), "memory");
  EXPECT_THAT(read.get_matrix<float>("weights", 2, 3), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(read.get<std::uint8_t>("bytes", 3), ElementsAre(7, 8, 9));
  EXPECT_TRUE(read.get<double>("duals").empty());
  EXPECT_THAT(read.get_strings("names"), ElementsAre("a", "", "zo\xC3\xAB", std::string("\0x", 2)));
  EXPECT_EQ(read.text("title"), "a \"quoted\"\ntext");
  EXPECT_EQ(read.number("third"), 1.0 / 3);
}

TEST(Safetensors, tensors_start_at_multiples_of_their_element_size) {
  const std::string bytes = serialize_safetensors(example());
  const TensorMap read = parse_safetensors(std::as_bytes(std::span(bytes)), "memory");
  for (const auto& [name, tensor] : read.tensors()) {
    const auto offset = reinterpret_cast<const char*>(tensor.bytes.data()) - bytes.data();
    EXPECT_EQ(offset % static_cast<std::ptrdiff_t>(size_of(tensor.dtype)), 0) << name;
  }
}

TEST(Safetensors, a_file_cut_while_it_is_read_throws) {
  const auto path = std::filesystem::temp_directory_path() / "margrove_safetensors_cut_test";
  write_safetensors(example(), path);
  const TensorMap read = read_safetensors(path);
  EXPECT_EQ(read.get_matrix<float>("weights", 2, 3).size(), 6u);
  std::filesystem::resize_file(path, 20);
  try {
    read.get_matrix<float>("weights", 2, 3);
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("margrove_safetensors_cut_test: was cut at byte"));
  }
  std::filesystem::remove(path);
}

TEST(Safetensors, file_round_trip_and_missing_file) {
  const auto path = std::filesystem::temp_directory_path() / "margrove_safetensors_test";
  write_safetensors(example(), path);
  EXPECT_EQ(read_safetensors(path).tensors().size(), 5u);
  std::filesystem::remove(path);
  try {
    read_safetensors(path);
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("margrove_safetensors_test: cannot be opened"));
  }
  try {
    read_safetensors(std::filesystem::temp_directory_path());
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("not a regular file"));
  }
}

TEST(Safetensors, every_way_to_be_wrong_is_named) {
  const std::string good = R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_EQ(error_of(container(good, "ab")), "nothing was thrown");
  EXPECT_THAT(error_of("abc"), HasSubstr("m.safetensors: byte 0: the file has 3 bytes"));
  EXPECT_THAT(error_of(container(good, "ab").substr(0, 20)), HasSubstr("the header's length is"));
  EXPECT_THAT(error_of(container("")), HasSubstr("byte 8: the header must be a JSON object"));
  EXPECT_THAT(error_of(container("[]")), HasSubstr("must be a JSON object"));
  EXPECT_THAT(error_of(container("{\"t\"")), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(error_of(container(good + "{")), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(error_of(container(good, "a")), HasSubstr("but the file holds 1 bytes of data"));
  EXPECT_THAT(error_of(container(good, "abc")), HasSubstr("but the file holds 3"));
  const auto entry = [](const std::string& fields) {
    return container("{\"t\":{" + fields + "}}");
  };
  EXPECT_THAT(error_of(entry(R"("dtype":"F16","shape":[],"data_offsets":[0,2])")),
              HasSubstr("tensor t has dtype F16"));
  EXPECT_THAT(error_of(entry(R"("dtype":"U8","shape":[])")), HasSubstr("must have a dtype"));
  EXPECT_THAT(error_of(entry(R"("dtype":"U8","shape":[0],"data_offsets":[0])")),
              HasSubstr("two data_offsets"));
  EXPECT_THAT(error_of(entry(R"("dtype":"U8","shape":[0],"data_offsets":[1,0])")),
              HasSubstr("data_offsets 1, 0"));
  EXPECT_THAT(error_of(entry(R"("dtype":"U8","shape":[1],"data_offsets":[0,0])")),
              HasSubstr("a shape of 1 bytes, but data_offsets of 0"));
  EXPECT_THAT(
      error_of(entry(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])")),
      HasSubstr("tensor t has a shape"));
  EXPECT_THAT(error_of(entry(R"("dtype":"U8","shape":[-1],"data_offsets":[0,0])")),
              HasSubstr("a negative number"));
  EXPECT_THAT(error_of(entry(R"("dtype":"U8","shape":[0.5],"data_offsets":[0,0])")),
              HasSubstr("a fraction"));
  EXPECT_THAT(error_of(entry(R"("dtype":"U8","dtype":"U8")")), HasSubstr("key dtype occurs twice"));
  EXPECT_THAT(error_of(entry(R"("dtype":[])")), HasSubstr("a list"));
  EXPECT_THAT(error_of(entry(R"("shape":[[]])")), HasSubstr("a list"));
  EXPECT_THAT(error_of(entry(R"("shape":{})")), HasSubstr("an object"));
  EXPECT_THAT(error_of(entry(R"("extra":"x")")), HasSubstr("text at 'extra'"));
  EXPECT_THAT(error_of(container(R"({"t":null})")), HasSubstr("null"));
  EXPECT_THAT(error_of(container(R"({"t":true})")), HasSubstr("a truth value"));
  EXPECT_THAT(error_of(container(R"({"t":3})")), HasSubstr("a number"));
  EXPECT_THAT(error_of(container(R"({"__metadata__":{"a":1}})")), HasSubstr("a number at 'a'"));
  const std::string two = R"("dtype":"U8","shape":[2],"data_offsets":)";
  EXPECT_THAT(error_of(container("{\"a\":{" + two + "[0,2]},\"b\":{" + two + "[1,3]}}", "abc")),
              HasSubstr("overlap or leave a gap"));
  EXPECT_THAT(error_of(container("{\"a\":{" + two + "[0,2]},\"b\":{" + two + "[3,5]}}", "abcde")),
              HasSubstr("overlap or leave a gap"));
}

TEST(Safetensors, deep_nesting_is_refused_without_building_it) {
  EXPECT_THAT(error_of(container("{\"t\":" + std::string(1 << 20, '['))), HasSubstr("a list"));
}

TEST(TensorMap, wrong_requests_name_the_tensor) {
  const TensorMap map = example();
  const auto error = [&](auto request) -> std::string {
    try {
      request();
    } catch (const ModelFileError& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(error([&] { map.get<float>("none"); }), HasSubstr("tensor none is missing"));
  EXPECT_THAT(error([&] { map.shape("none"); }), HasSubstr("tensor none is missing"));
  EXPECT_THAT(error([&] { map.get<float>("bytes"); }),
              HasSubstr("has dtype U8, but must have F32"));
  EXPECT_THAT(error([&] { map.get<float>("weights"); }), HasSubstr("has 2 axes, but must have 1"));
  EXPECT_THAT(error([&] { map.get<std::uint8_t>("bytes", 2); }),
              HasSubstr("has 3 entries along axis 0, but must have 2"));
  EXPECT_THAT(error([&] { map.text("none"); }), HasSubstr("metadata none is missing"));
  EXPECT_THAT(error([&] { map.number("title"); }), HasSubstr("must be a number"));
  EXPECT_THAT(error([&] { map.whole_number("third"); }), HasSubstr("must be a whole number"));
  TensorMap strings;
  strings.put<std::uint8_t>("s.bytes", std::vector<std::uint8_t>{1, 2});
  strings.put<std::uint64_t>("s.offsets", std::vector<std::uint64_t>{0, 5, 2});
  EXPECT_THAT(error([&] { strings.get_strings("s"); }), HasSubstr("must not decrease or exceed 2"));
  strings.put<std::uint64_t>("s.offsets", std::vector<std::uint64_t>{0, 1});
  EXPECT_THAT(error([&] { strings.get_strings("s"); }), HasSubstr("must start at 0 and end at 2"));
}

}  // namespace
}  // namespace margrove
