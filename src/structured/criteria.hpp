#pragma once
// The two criteria of a labelling that is made of parts (tokens, labels, nodes).

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "structured/oracle.hpp"

namespace margrove {

/// hamming: m = margin violation, g = number of wrong parts.
/// micro_f1: with |y| the parts of y that are not "nothing", and H = |y| + |y_i| - 2 |y & y_i|,
/// m = H + margin violation and g = -|y| - |y_i| (Thesis 3.3.3).
enum class Criteria { hamming, micro_f1 };

/// The contribution of one part to the two criteria.
struct PartCriteria {
  double constant;  // of m
  double g;
};

/// value, truth: whether the part is other than "nothing" in y and in y_i. equal: whether it is the
/// same in both.
inline PartCriteria part_criteria(Criteria criteria, bool value, bool truth, bool equal) {
  if (criteria == Criteria::hamming) return {0.0, equal ? 0.0 : 1.0};
  const double sum = double(value) + double(truth);
  return {sum - (value && equal ? 2.0 : 0.0), -sum};
}

/// Sorts `vector` by index, adds up the values of repeated indices and drops zeros. O(n log n).
inline void merge_repeated(SparseVector& vector) {
  const std::size_t n = vector.indices.size();
  std::vector<std::pair<std::uint64_t, float>> entries(n);
  for (std::size_t k = 0; k < n; ++k) entries[k] = {vector.indices[k], vector.values[k]};
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  vector.clear();
  for (std::size_t k = 0; k < n;) {
    const std::uint64_t index = entries[k].first;
    float sum = 0.0F;
    for (; k < n && entries[k].first == index; ++k) sum += entries[k].second;
    if (sum != 0.0F) vector.add(index, sum);
  }
}

}  // namespace margrove
