#pragma once
// Lists of numbers in a single array, and the counting sort that inverts them.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace margrove::detail {

/// One list per row: row k is items[pointers[k] .. pointers[k + 1]).
struct RowLists {
  std::vector<std::uint32_t> pointers{0};
  std::vector<std::uint32_t> items;
  std::size_t size() const { return pointers.size() - 1; }
  std::span<const std::uint32_t> operator[](std::size_t row) const {
    return std::span(items).subspan(pointers[row], pointers[row + 1] - pointers[row]);
  }
  /// Ends a row: the items appended since the last call.
  void end_row() { pointers.push_back(static_cast<std::uint32_t>(items.size())); }
  void clear() {
    pointers.assign(1, 0);
    items.clear();
  }
};

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
