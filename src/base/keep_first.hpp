#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace margrove {

/// Keeps the first `count` items in the order `before`, in that order.
template <class Item, class Before>
void keep_first(std::vector<Item>& items, std::size_t count, const Before& before) {
  const std::size_t kept = std::min(count, items.size());
  std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(kept), items.end(),
                    before);
  items.resize(kept);
}

}  // namespace margrove
