#pragma once
// Properties of characters, by the tables of one version of Unicode, so that words and models are
// the same on every machine.

#include <cstdint>
#include <string>

#include "base/work_meter.hpp"

namespace margrove {

/// How words use a character; flags.
using CharacterUse = std::uint8_t;
inline constexpr CharacterUse kLetter = 1;  // letters, digits, other numbers and '_'
inline constexpr CharacterUse kMark = 2;    // belongs to the letter before it: Mn and Mc
/// Changes how a word looks, but not which word it is: the soft hyphen, tatweel (also a letter),
/// marks that surround a letter, variation selectors, controls of direction.
inline constexpr CharacterUse kUnseen = 4;
inline constexpr CharacterUse kJoiner = 8;      // ZWNJ and ZWJ
inline constexpr CharacterUse kMayChange = 16;  // of the others: a text with it may not be in NFC

inline constexpr CharacterUse kAlone = 32;     // letters that are words: ideographs and Hiragana
inline constexpr CharacterUse kKatakana = 64;  // letters
inline constexpr CharacterUse kDigit = 128;  // also a letter; with other numbers, such as ² and ½

CharacterUse use_of(char32_t c);

/// Unicode's lower case of a single character; of one that is longer, the first character.
char32_t to_lower(char32_t c);

/// Appends the compatible decomposition of a character (the form KD), or the character.
void append_compatible(std::u32string& text, char32_t c);

/// Appends Unicode's full case folding of a character, which may be several.
void append_folded(std::u32string& text, char32_t c);

/// Brings a text into the normal form C (Unicode Standard Annex 15). O(n log n). The characters are
/// the work that `meter` counts.
void compose(std::u32string& text, WorkMeter& meter);

}  // namespace margrove
