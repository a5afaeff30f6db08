#include "serve/request_head.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cstdint>

#include "data/text_scan.hpp"
#include "margrove/errors.hpp"
#include "serve/service.hpp"

namespace margrove::serve {
namespace {

constexpr std::size_t kMaxChunkExtension = 256;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

template <class... Parts>
[[noreturn]] void refuse(int status, const Parts&... parts) {
  throw StatusError(status, concat(parts...));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// Of a name of a header (RFC 9110 5.6.2).
bool is_token_char(char c) {
  return is_letter_or_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

std::string small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return small;
}

/// Calls use(part) for the parts of a list, without the blanks around them.
template <class Use>
void for_list(std::string_view list, const Use& use) {
  for (;;) {
    const std::size_t comma = std::min(list.find(','), list.size());
    use(detail::trimmed(list.substr(0, comma)));
    if (comma == list.size()) return;
    list.remove_prefix(comma + 1);
  }
}

/// What the headers say about the host and the end of the body.
struct Framing {
  std::vector<std::string> hosts;
  std::vector<std::string> lengths;
  std::vector<std::string> codings;
  bool has_coding = false;
};

void read_header(std::string_view line, Framing& framing) {
  if (line.front() == ' ' || line.front() == '\t') {
    refuse(400, "the head has a line that begins with a blank, which continues no header");
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    refuse(400, "the head has the line ", detail::quoted(line), ", which has no colon");
  }
  const std::string_view name = line.substr(0, colon);
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_token_char)) {
    refuse(400, "the name of a header is ", detail::quoted(name),
           ", but must have letters, digits and marks only, up to the colon");
  }
  const std::string_view value = detail::trimmed(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(), is_control)) {
    refuse(400, "header ", name, " has a control character");
  }
  const std::string small = small_letters(name);
  if (small == "host") framing.hosts.emplace_back(value);
  if (small == "content-length") framing.lengths.emplace_back(value);
  if (small == "transfer-encoding") {
    framing.has_coding = true;
    for_list(value, [&](std::string_view part) { framing.codings.push_back(small_letters(part)); });
  }
}

void check_length(const Framing& framing) {
  if (framing.lengths.empty()) return;
  if (framing.lengths.size() > 1) refuse(400, "header Content-Length is given twice");
  const std::string& text = framing.lengths.front();
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    refuse(400, "header Content-Length is ", detail::quoted(text),
           ", but must be a whole number below 2^64, in digits only");
  }
}

void check_codings(const Framing& framing, bool is_old) {
  if (!framing.has_coding) return;
  if (is_old) refuse(400, "header Transfer-Encoding is given, but HTTP/1.0 has none");
  if (!framing.lengths.empty()) {
    refuse(400, "headers Content-Length and Transfer-Encoding are both given, but exclude each ",
           "other");
  }
  const auto is_chunked = [](const std::string& coding) { return coding == "chunked"; };
  const auto& codings = framing.codings;
  if (!is_chunked(codings.back()) ||
      std::count_if(codings.begin(), codings.end(), is_chunked) != 1) {
    refuse(400, "header Transfer-Encoding is ", detail::quoted(detail::join(codings, ", ")),
           ", but its last coding, and no other, must be chunked");
  }
  if (std::any_of(codings.begin(), codings.end(), [](const auto& name) { return name.empty(); })) {
    refuse(400, "header Transfer-Encoding has an empty coding");
  }
  if (codings.size() > 1) {
    refuse(501, "header Transfer-Encoding is ", detail::quoted(detail::join(codings, ", ")),
           ", but only chunked is known");
  }
}

void check_hosts(const Framing& framing, bool is_old) {
  if (framing.hosts.size() > 1) refuse(400, "header Host is given twice");
  if (framing.hosts.empty()) {
    if (!is_old) refuse(400, "header Host is missing, but HTTP/1.1 requires it");
    return;
  }
  parse_host(framing.hosts.front());
}

/// Of the machine itself.
bool is_own_name(const std::string& name) {
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(name, error);
  return !error && address.is_loopback();
}

/// SCHEME://HOST[:PORT] in small letters without a port that the scheme implies; nothing for what
/// is no origin.
std::optional<std::string> plain_origin(std::string_view text) {
  const std::size_t mark = text.find("://");
  if (mark == std::string_view::npos || mark == 0) return std::nullopt;
  const std::string scheme = small_letters(text.substr(0, mark));
  if (!std::all_of(scheme.begin(), scheme.end(), [](char c) {
        return is_letter_or_digit(c) || c == '+' || c == '-' || c == '.';
      })) {
    return std::nullopt;
  }
  try {
    const HostName host = parse_host(text.substr(mark + 3));
    if (host.name.empty()) return std::nullopt;
    const std::string_view implied = scheme == "http" ? "80" : scheme == "https" ? "443" : "";
    const bool has_port = !host.port.empty() && host.port != implied;
    return concat(scheme, "://", host.name, has_port ? ":" : "", has_port ? host.port : "");
  } catch (const StatusError&) {
    return std::nullopt;
  }
}

}  // namespace

bool HeadEnd::is_reached(std::string_view bytes) {
  for (; size_ < bytes.size(); ++size_) {
    const char c = bytes[size_];
    const bool after_return = size_ > 0 && bytes[size_ - 1] == '\r';
    if ((c == '\n') != after_return || (is_control(c) && c != '\n' && c != '\r')) return true;
    if (c == '\n' && bytes.substr(0, size_ + 1).ends_with(kHeadEnd)) {
      ++size_;
      return true;
    }
  }
  return false;
}

void check_head(std::string_view head) {
  if (!head.ends_with(kHeadEnd)) {
    refuse(400,
           "the request is not HTTP: its head has a control character, or a line that does not end "
           "with CR LF");
  }
  head.remove_suffix(2);
  const std::size_t first_end = head.find("\r\n");
  const bool is_old = head.substr(0, first_end).ends_with("HTTP/1.0");
  Framing framing;
  for (head.remove_prefix(first_end + 2); !head.empty();) {
    const std::size_t end = head.find("\r\n");
    read_header(head.substr(0, end), framing);
    head.remove_prefix(end + 2);
  }
  check_codings(framing, is_old);
  check_length(framing);
  check_hosts(framing, is_old);
}

HostName parse_host(std::string_view text) {
  HostName host;
  const bool has_brackets = text.starts_with('[');
  const std::size_t name_end =
      has_brackets ? std::min(text.find(']'), text.size()) : std::min(text.find(':'), text.size());
  const std::string_view name =
      text.substr(has_brackets ? 1 : 0, name_end - (has_brackets ? 1 : 0));
  const std::string_view rest =
      text.substr(std::min(name_end + (has_brackets ? 1 : 0), text.size()));
  const std::string_view marks = has_brackets ? ":." : "-._~%!$&'()*+,;=";
  const bool is_closed = !has_brackets || name_end < text.size();
  const auto is_name_char = [&](char c) {
    return is_letter_or_digit(c) || marks.find(c) != std::string_view::npos;
  };
  const std::string_view port = rest.empty() ? rest : rest.substr(1);
  if (!is_closed || !std::all_of(name.begin(), name.end(), is_name_char) ||
      !(rest.empty() || rest.front() == ':') || !std::all_of(port.begin(), port.end(), is_digit)) {
    refuse(400, "header Host is ", detail::quoted(text), ", but must be a name or an address, ",
           "with a port or without");
  }
  return {small_letters(name), std::string(port)};
}

namespace {

std::optional<HostName> host_if_right(const std::string& text) {
  try {
    return parse_host(text);
  } catch (const StatusError&) {
    return std::nullopt;
  }
}

}  // namespace

AllowedSites::AllowedSites(const std::vector<std::string>& hosts,
                           const std::vector<std::string>& origins) {
  for (const std::string& text : hosts) {
    const std::optional<HostName> host = host_if_right(text);
    require<InvalidOption>(
        host && !host->name.empty() && text.find(':', text.find(']') + 1) == text.npos,
        "option allow_host is ", detail::quoted(text),
        ", but must be a name or an address without a port, such as "
        "shop.example");
    hosts_.push_back(host->name);
  }
  for (const std::string& text : origins) {
    const auto origin = plain_origin(text);
    require<InvalidOption>(origin.has_value(), "option allow_origin is ", detail::quoted(text),
                           ", but must be SCHEME://HOST or SCHEME://HOST:PORT, such as "
                           "https://shop.example");
    origins_.push_back(*origin);
  }
}

void AllowedSites::check(std::optional<std::string_view> host,
                         std::optional<std::string_view> origin) const {
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  if (host) {
    const std::string name = parse_host(*host).name;
    if (!is_own_name(name) && !has(hosts_, name)) {
      refuse(403, "header Host is ", detail::quoted(*host),
             ", but this server answers to localhost and loopback addresses only; the option "
             "--allow-host of serve adds a name");
    }
  }
  if (!origin) return;
  const auto plain = plain_origin(*origin);
  const std::string_view own = host.value_or("");
  const bool is_own = plain && (plain == plain_origin(concat("http://", own)) ||
                                plain == plain_origin(concat("https://", own)));
  if (is_own || (plain && has(origins_, *plain))) return;
  refuse(403, "header Origin is ", detail::quoted(*origin),
         ", but requests from pages of other servers are refused; the option --allow-origin of "
         "serve adds one");
}

bool is_chunk_extension(std::string_view extension) {
  return extension.empty() || (extension.front() == ';' && extension.size() <= kMaxChunkExtension &&
                               std::none_of(extension.begin(), extension.end(), is_control));
}

}  // namespace margrove::serve
