#include "data/unicode.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace margrove {
namespace {
struct UseRun {
  char32_t first;
  char32_t last;
  CharacterUse use;
};
struct LowerRun {
  char32_t first;
  char32_t last;
  std::uint32_t stride;
  std::int32_t shift;
};
struct ClassRun {
  char32_t first;
  char32_t last;
  std::uint8_t combining_class;
};
struct Decomposition {
  char32_t composed;
  char32_t first;
  char32_t second;  // 0: none
};
struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};
struct Mapping {
  char32_t from;
  std::uint16_t begin;  // of what stands for it in the texts of the table
  std::uint8_t size;
};
#include "data/unicode_tables.inc"

/// The entry whose range may hold `c`: the last one that does not start after it.
template <class Entry, std::size_t kSize>
const Entry* find_range(const Entry (&table)[kSize], char32_t c) {
  const Entry* after = std::upper_bound(std::begin(table), std::end(table), c,
                                        [](char32_t x, const Entry& e) { return x < e.first; });
  if (after == std::begin(table) || c > (after - 1)->last) return nullptr;
  return after - 1;
}

/// Appends what the table has for a character; false if it has nothing.
template <std::size_t kSize>
bool append_mapped(std::u32string& text, char32_t c, const Mapping (&table)[kSize],
                   const char32_t* texts) {
  const Mapping* found =
      std::lower_bound(std::begin(table), std::end(table), c,
                       [](const Mapping& entry, char32_t x) { return entry.from < x; });
  if (found == std::end(table) || found->from != c) return false;
  text.append(texts + found->begin, found->size);
  return true;
}

std::uint8_t combining_class(char32_t c) {
  const ClassRun* run = find_range(kClasses, c);
  return run == nullptr ? 0 : run->combining_class;
}

// Syllables of Hangul are composed of a leading consonant, a vowel and perhaps a final consonant by
// arithmetic (Unicode 3.12).
constexpr char32_t kSyllable = 0xAC00, kLeading = 0x1100, kVowel = 0x1161, kFinal = 0x11A7;
constexpr char32_t kNumLeading = 19, kNumVowels = 21, kNumFinals = 28;  // one final is none
constexpr char32_t kNumSyllables = kNumLeading * kNumVowels * kNumFinals;

/// Appends the canonical decomposition, which is at most as deep as Unicode's.
void append_decomposed(std::u32string& text, char32_t c) {
  if (c >= kSyllable && c < kSyllable + kNumSyllables) {
    const char32_t place = c - kSyllable;
    text.push_back(kLeading + place / (kNumVowels * kNumFinals));
    text.push_back(kVowel + place / kNumFinals % kNumVowels);
    if (place % kNumFinals > 0) text.push_back(kFinal + place % kNumFinals);
    return;
  }
  const auto* found =
      std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), c,
                       [](const Decomposition& entry, char32_t x) { return entry.composed < x; });
  if (found == std::end(kDecompositions) || found->composed != c) {
    text += c;
    return;
  }
  append_decomposed(text, found->first);
  if (found->second != 0) append_decomposed(text, found->second);
}

/// Sorts each run of characters with a combining class by it.
void order_marks(std::u32string& text, WorkMeter& meter) {
  for (auto begin = text.begin(); begin != text.end();) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end =
        std::find_if(begin, text.end(), [](char32_t c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end, [&](char32_t a, char32_t b) {
      meter.add();
      return combining_class(a) < combining_class(b);
    });
    begin = end;
  }
}

/// The character that two make together; 0 if they make none.
char32_t composed(char32_t first, char32_t second) {
  if (first >= kLeading && first < kLeading + kNumLeading && second >= kVowel &&
      second < kVowel + kNumVowels) {
    return kSyllable + ((first - kLeading) * kNumVowels + (second - kVowel)) * kNumFinals;
  }
  const bool lacks_final = first >= kSyllable && first < kSyllable + kNumSyllables &&
                           (first - kSyllable) % kNumFinals == 0;
  if (lacks_final && second > kFinal && second < kFinal + kNumFinals) {
    return first + (second - kFinal);
  }
  const std::pair<char32_t, char32_t> pair{first, second};
  const auto* found = std::lower_bound(std::begin(kCompositions), std::end(kCompositions), pair,
                                       [](const Composition& entry, const auto& x) {
                                         return std::pair(entry.first, entry.second) < x;
                                       });
  const bool is_found =
      found != std::end(kCompositions) && found->first == first && found->second == second;
  return is_found ? found->composed : 0;
}

}  // namespace

CharacterUse use_of(char32_t c) {
  const UseRun* run = find_range(kUses, c);
  return run == nullptr ? CharacterUse{0} : run->use;
}

char32_t to_lower(char32_t c) {
  const LowerRun* run = find_range(kLowerRuns, c);
  if (run == nullptr || (c - run->first) % run->stride != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + run->shift);
}

void append_compatible(std::u32string& text, char32_t c) {
  if (!append_mapped(text, c, kCompatible, kCompatibleTexts)) text += c;
}

void append_folded(std::u32string& text, char32_t c) {
  if (!append_mapped(text, c, kFolded, kFoldedTexts)) text += to_lower(c);
}

void compose(std::u32string& text, WorkMeter& meter) {
  std::u32string parts;
  for (const char32_t c : text) {
    meter.add();
    append_decomposed(parts, c);
  }
  order_marks(parts, meter);
  text.clear();
  std::size_t starter = std::u32string::npos;  // the last character of class 0
  std::uint8_t last_class = 0;                 // of the characters after it; 0: there are none
  for (const char32_t c : parts) {
    meter.add();
    const std::uint8_t own_class = combining_class(c);
    if (starter != std::u32string::npos) {
      const bool is_next = starter + 1 == text.size();
      // A character of the same class, or of class 0, between the two keeps them apart.
      const char32_t both = is_next || last_class < own_class ? composed(text[starter], c) : 0;
      if (both != 0) {
        text[starter] = both;
        continue;
      }
    }
    if (own_class == 0) starter = text.size();
    last_class = own_class;
    text += c;
  }
}

}  // namespace margrove
