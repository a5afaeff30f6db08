#include "data/label_words.hpp"

#include <algorithm>
#include <cstddef>

#include "data/hierarchy_edges.hpp"
#include "data/path_ids.hpp"
#include "data/unicode.hpp"
#include "data/utf8.hpp"

namespace margrove {
namespace {

constexpr std::size_t kLettersInARow = 3;
constexpr char32_t kEndOfAscii = 0x80;

bool is_digit(char32_t c) { return (use_of(c) & kDigit) != 0; }
bool is_letter(char32_t c) { return (use_of(c) & kLetter) != 0 && !is_digit(c) && c != U'_'; }

/// Calls visit(character, bytes) for each character; invalid bytes are left out.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const CodePoint c = decode_utf8(text);
    if (c.size > 0) visit(c.value, text.substr(0, c.size));
    text.remove_prefix(std::max<std::size_t>(c.size, 1));
  }
}

}  // namespace

bool is_words(std::string_view label) {
  if (label.find("://") != std::string_view::npos) return false;
  std::size_t in_a_row = 0, most = 0;
  bool has_digits = false;
  for_each_character(label, [&](char32_t c, std::string_view /*bytes*/) {
    has_digits = has_digits || is_digit(c);
    if (is_letter(c)) {
      in_a_row += (use_of(c) & kAlone) != 0 ? kLettersInARow : 1;
    } else if ((use_of(c) & kMark) == 0) {
      in_a_row = 0;
    }
    most = std::max(most, in_a_row);
  });
  return most >= kLettersInARow && !has_digits;
}

std::string words_of(std::string_view label) {
  std::string words;
  bool is_after_small = false;
  for_each_character(label, [&](char32_t c, std::string_view bytes) {
    const bool is_capital = to_lower(c) != c;
    const bool is_in_word = is_letter(c) || c == U'\'' || c >= kEndOfAscii;
    if (!is_in_word || (is_capital && is_after_small)) words += ' ';
    if (is_in_word) words += bytes;
    if ((use_of(c) & kMark) == 0) is_after_small = is_letter(c) && !is_capital;
  });
  return words;
}

std::vector<std::string> names_in_ids(const LabelCodec& labels, const std::string* path_separator) {
  std::vector<std::string> names;
  std::size_t num_words = 0;
  for (const std::string& id : labels.names()) {
    if (path_separator != nullptr) {
      const std::string part = split_path(id, *path_separator).back();
      names.push_back(is_words(part) ? words_of(part) : part);
      continue;
    }
    const bool counts = is_words(id);
    names.push_back(counts ? words_of(id) : std::string());
    num_words += static_cast<std::size_t>(counts);
  }
  const bool are_words = path_separator != nullptr || 2 * num_words >= names.size();
  if (!are_words) names.assign(names.size(), std::string());
  return names;
}

std::vector<std::string> names_of_labels(const LabelCodec& labels,
                                         std::span<const std::string> names,
                                         std::span<const std::string> other_names,
                                         const RecordSelection* columns) {
  std::vector<std::string> texts(names.begin(), names.end());
  texts.resize(labels.size());
  for (LabelId label = 0; label < other_names.size(); ++label) {
    if (!other_names[label].empty()) add_line(texts[label], other_names[label]);
  }
  if (!std::ranges::all_of(texts, &std::string::empty)) return texts;
  const bool has_paths = columns != nullptr && columns->has_paths();
  return names_in_ids(labels, has_paths ? &columns->separator : nullptr);
}

}  // namespace margrove
