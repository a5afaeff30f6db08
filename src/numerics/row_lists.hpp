#pragma once
// Lists of numbers in a single array, and the counting sort that inverts them.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace margrove::detail {

/// One list per row: row k is items[pointers[k] .. pointers[k + 1]). A Pointer counts the items.
template <class Pointer>
struct Lists {
  std::vector<Pointer> pointers{0};
  std::vector<std::uint32_t> items;
  std::size_t size() const { return pointers.size() - 1; }
  std::span<std::uint32_t> operator[](std::size_t row) {
    return std::span(items).subspan(pointers[row], pointers[row + 1] - pointers[row]);
  }
  std::span<const std::uint32_t> operator[](std::size_t row) const {
    return std::span(items).subspan(pointers[row], pointers[row + 1] - pointers[row]);
  }
  /// Ends a row: the items appended since the last call.
  void end_row() { pointers.push_back(static_cast<Pointer>(items.size())); }
  /// `row` must not lie in items.
  void append_row(std::span<const std::uint32_t> row) {
    items.insert(items.end(), row.begin(), row.end());
    end_row();
  }
  void clear() {
    pointers.assign(1, 0);
    items.clear();
  }
};
using RowLists = Lists<std::uint32_t>;  // fewer than 2^32 items
using LongRowLists = Lists<std::size_t>;

/// Counting sort. `entries(visit)` calls visit(key, values...) for every entry; it is called twice.
/// put(place, values...) is then called for every entry in the same order, where the places of key
/// k are [pointers[k], pointers[k + 1]), ascending as the entries come. O(entries + num_keys).
template <class Pointer, class Entries, class Put>
void group_by_key(std::size_t num_keys, const Entries& entries, std::vector<Pointer>& pointers,
                  const Put& put) {
  pointers.assign(num_keys + 2, 0);
  entries([&](std::size_t key, const auto&...) { ++pointers[key + 2]; });
  std::partial_sum(pointers.begin(), pointers.end(), pointers.begin());
  entries([&](std::size_t key, const auto&... values) { put(pointers[key + 1]++, values...); });
  pointers.pop_back();
}

}  // namespace margrove::detail
