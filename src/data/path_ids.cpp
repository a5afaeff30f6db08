#include "data/path_ids.hpp"

#include <algorithm>

#include "data/text_scan.hpp"
#include "data/utf8.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// The character of the separator that names have to escape.
std::string_view mark_of(std::string_view separator) {
  const std::size_t start = separator.find_first_not_of(" \t");
  const std::string_view rest = separator.substr(start == std::string_view::npos ? 0 : start);
  return rest.substr(0, std::max<std::size_t>(decode_utf8(rest).size, 1));
}

}  // namespace

void require_path_separator(std::string_view separator) {
  require<InvalidOption>(!separator.empty(),
                         "option separator is empty, but must have a character");
  require<InvalidOption>(separator.find('\\') == std::string_view::npos, "option separator is '",
                         separator, "', but must have no backslash, which escapes it in names");
}

std::string join_path(std::span<const std::string> names, std::string_view separator) {
  const std::string_view mark = mark_of(separator);
  std::string id;
  for (std::size_t level = 0; level < names.size(); ++level) {
    if (level > 0) id += separator;
    const std::string_view name = names[level];
    for (std::size_t at = 0; at < name.size(); ++at) {
      if (name[at] == '\\' || name.substr(at).starts_with(mark)) id += '\\';
      id += name[at];
    }
  }
  return id;
}

std::vector<std::string> split_path(std::string_view id, std::string_view separator) {
  const std::string_view mark = mark_of(separator);
  std::vector<std::string> names(1);
  for (std::size_t at = 0; at < id.size();) {
    const std::string_view rest = id.substr(at);
    if (rest.starts_with(separator)) {
      names.emplace_back();
      at += separator.size();
      continue;
    }
    const bool escapes = rest.front() == '\\' &&
                         (rest.substr(1).starts_with('\\') || rest.substr(1).starts_with(mark));
    if (escapes) ++at;
    names.back() += id[at++];
  }
  for (std::string& name : names) name = detail::trimmed(name);
  return names;
}

}  // namespace margrove
