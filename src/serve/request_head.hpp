#pragma once
// The head of a request as bytes, looked at before it is parsed: where it ends, whether it is well
// formed, and whether everybody on the way agrees where its body ends. A parser that is lenient
// there lets one client's bytes become another's request behind a proxy (request smuggling).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace margrove::serve {

/// Finds the end of a head in bytes that arrive in pieces; looks at each byte once.
class HeadEnd {
 public:
  /// `bytes`: all so far. True once they have the whole head, or a byte that no head may have.
  bool is_reached(std::string_view bytes);
  /// Of the head, its empty line included, or up to the wrong byte.
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

/// Refuses heads that are not those of RFC 9112: StatusError 400, or 501 for a transfer coding
/// besides chunked. `head` ends with its empty line. After either, the connection must be closed,
/// because nobody can know where the next request begins. The request line is the parser's.
void check_head(std::string_view head);

/// An authority, `name`, `name:port`, `[IPv6]:port`.
struct HostName {
  std::string name;  // in small letters, without brackets
  std::string port;  // may be empty
};
/// Nothing is allowed but what stands in a URL: StatusError 400.
HostName parse_host(std::string_view text);

/// Which names a server without a token goes by, and the pages that may ask it. A browser sends
/// requests for any page that it shows, to loopback addresses too; that it names the page (Origin)
/// and the name by which it found the server (Host) is all that tells them apart.
class AllowedSites {
 public:
  /// `hosts`: names or IP addresses, without a port; `origins`: SCHEME://HOST or
  /// SCHEME://HOST:PORT. Throws InvalidOption for others.
  AllowedSites(const std::vector<std::string>& hosts, const std::vector<std::string>& origins);
  /// The values of the headers. Old clients send no host, and most programs no origin. Throws
  /// StatusError 403.
  void check(std::optional<std::string_view> host, std::optional<std::string_view> origin) const;
  bool empty() const { return hosts_.empty() && origins_.empty(); }

 private:
  std::vector<std::string> hosts_, origins_;
};

/// Whether an extension of a chunk ("" or ";name=value...") may be skipped. Longer ones than any
/// client sends only cost memory.
bool is_chunk_extension(std::string_view extension);

}  // namespace margrove::serve
