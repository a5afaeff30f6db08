#pragma once
// What a word looks like, from which features of tokens are made.

#include <cstdint>
#include <string>
#include <string_view>

namespace margrove {

/// The characters of which case and kind are known: those of ASCII, or all of Unicode.
enum class Alphabet : std::uint8_t { ascii, unicode };

/// The text in lower case, character by character; bytes that are no UTF-8 stay.
std::string lower_case(std::string_view text, Alphabet alphabet);

struct WordForm {
  std::string lower;  // lower_case() of the word
  /// For example "Xxx-99": X for capitals, x for other letters, 9 for digits, u for bytes of all
  /// that is not in the alphabet, for ideographs and for signs beyond ASCII. Runs are cut to two;
  /// marks on letters are left out.
  std::string shape;
  bool starts_upper = false, is_upper = false, has_digit = false;
};
WordForm word_form(std::string_view word, Alphabet alphabet);

/// The bytes of the first (or last) `count` characters; empty if the text is not longer.
std::string_view affix(std::string_view text, int count, bool from_end);

}  // namespace margrove
