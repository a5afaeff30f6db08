#pragma once
// A hash table of numbers that stand for texts, which are held elsewhere.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace margrove {

/// A slot without a number. A table has a power of two of slots or none, at most half of them with
/// a number: some 12 bytes for a text, where a node of std::unordered_map with a copy of a short
/// text takes 72.
inline constexpr std::uint32_t kFreeSlot = ~std::uint32_t{0};

/// The slot of `text`, or the free one where its number would be; there must be slots.
/// `text_of(number)` is the text of a number. O(1) expected.
template <class TextOf>
std::size_t slot_of(std::span<const std::uint32_t> slots, std::string_view text,
                    const TextOf& text_of) {
  const std::size_t last = slots.size() - 1;
  std::size_t slot = std::hash<std::string_view>{}(text)&last;
  while (slots[slot] != kFreeSlot && text_of(slots[slot]) != text) slot = (slot + 1) & last;
  return slot;
}

/// The number of a text; kFreeSlot if it has none.
template <class TextOf>
std::uint32_t find_number(std::span<const std::uint32_t> slots, std::string_view text,
                          const TextOf& text_of) {
  return slots.empty() ? kFreeSlot : slots[slot_of(slots, text, text_of)];
}

/// Enters a number whose text has none yet. `count` numbers are in the table with it. O(1)
/// amortized.
template <class TextOf>
void add_number(std::vector<std::uint32_t>& slots, std::uint32_t number, std::size_t count,
                const TextOf& text_of) {
  if (2 * count > slots.size()) {
    std::vector<std::uint32_t> wider(std::bit_ceil(4 * count), kFreeSlot);
    for (const std::uint32_t each : slots) {
      if (each != kFreeSlot) wider[slot_of(wider, text_of(each), text_of)] = each;
    }
    slots = std::move(wider);
  }
  slots[slot_of(slots, text_of(number), text_of)] = number;
}

/// `text_of` of a list of texts.
struct ListedTexts {
  const std::vector<std::string>& texts;
  std::string_view operator()(std::uint32_t number) const { return texts[number]; }
};

}  // namespace margrove
