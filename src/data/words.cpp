#include "data/words.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "data/utf8.hpp"

namespace margrove {
namespace {
struct WordRange {
  char32_t first;
  char32_t last;
};
struct LowerRun {
  char32_t first;
  char32_t last;
  std::uint32_t stride;
  std::int32_t shift;
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

bool is_word_character(char32_t c) { return find_range(kWordRanges, c) != nullptr; }

char32_t to_lower(char32_t c) {
  const LowerRun* run = find_range(kLowerRuns, c);
  if (run == nullptr || (c - run->first) % run->stride != 0) return c;
  return static_cast<char32_t>(static_cast<std::int64_t>(c) + run->shift);
}

}  // namespace

namespace detail {
std::size_t next_word(std::string_view text, std::string& word) {
  word.clear();
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      const bool upper = byte >= 'A' && byte <= 'Z';
      const bool inside =
          upper || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
      if (inside) {
        word += static_cast<char>(upper ? byte + ('a' - 'A') : byte);
      } else if (!word.empty()) {
        break;
      }
      ++at;
      continue;
    }
    const CodePoint c = decode_utf8(text.substr(at));
    if (c.size > 0 && is_word_character(c.value)) {
      append_utf8(word, to_lower(c.value));
    } else if (!word.empty()) {
      break;
    }
    at += std::max<std::size_t>(c.size, 1);
  }
  return at;
}
}  // namespace detail

}  // namespace margrove
