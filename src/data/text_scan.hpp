#pragma once
// The readers of text formats share this: places in messages, quoting, label names.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "margrove/errors.hpp"

namespace margrove::detail {

inline constexpr std::size_t kMaxLabelBytes = 1024;

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// `token` in quotes, with control characters and stray bytes as \xNN, cut after 40 bytes.
std::string quoted(std::string_view token);

/// Why `name` cannot be a label ("has 2000 bytes, but ..."); empty if it can. A label is 1 to
/// kMaxLabelBytes bytes of UTF-8 without blanks, control characters or commas, and does not start
/// with '#', which starts comments.
std::string label_fault(std::string_view name);

/// Whether `name` is like "12:0.5", which as a row's only label would be read as a feature.
bool looks_like_feature(std::string_view token);

/// One line of a file being read; columns are bytes, counted from 1.
struct Line {
  std::string_view source;
  std::int64_t number;
  std::string_view text;  // without the line end

  template <class... Parts>
  [[noreturn]] void fail(const char* at, const Parts&... parts) const {
    throw InvalidInput(concat(source, ":", number, ":", (at - text.data()) + 1, ": ", parts...));
  }
  /// What is missing has the end of the text as its place.
  const char* end() const { return text.data() + text.size(); }
  void require_label(std::string_view name) const {
    const std::string fault = label_fault(name);
    if (!fault.empty()) fail(name.data(), "label ", fault);
  }
};

/// The fields of a line, separated by blanks, before its comment. At most three are returned, which
/// is enough to notice a field too many where two are expected.
struct LineFields {
  std::array<std::string_view, 3> at;
  std::size_t count = 0;
};
LineFields split_fields(const Line& line);

/// Calls visit(line) for every line of a block and increases `number` by one for each. CR LF ends a
/// line too.
template <class Visit>
void for_each_line(std::string_view source, std::string_view block, std::int64_t& number,
                   const Visit& visit) {
  while (!block.empty()) {
    const std::size_t newline = block.find('\n');
    std::string_view text = block.substr(0, newline);
    block.remove_prefix(newline == std::string_view::npos ? block.size() : newline + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    visit(Line{source, ++number, text});
  }
}

}  // namespace margrove::detail
