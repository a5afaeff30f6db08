#pragma once
// The active set of one example of a structured SVM.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "structured/oracle.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// The labellings of one example that have, or recently had, weight in the dual. The symbols are
/// those of structured/bcfw.hpp.
template <class Labelling>
struct ActiveSet {
  std::vector<Labelling> labellings;
  std::vector<double> duals;       // a_iy; the true labelling has the rest of C_i
  std::vector<double> slopes;      // s_iy
  std::vector<double> offsets;     // o_iy
  std::vector<std::uint8_t> idle;  // consecutive visits without weight
  // <d_j, d_k> for k <= j, row after row; the last rows may be missing until they are needed
  std::vector<double> products;
  std::vector<SparseVector> differences;  // sorted; unused by models with implicit differences

  static constexpr std::uint8_t kMaxIdle = 5;

  std::size_t size() const { return labellings.size(); }
  /// The number of labellings whose rows `products` has.
  std::size_t num_products_known() const {
    std::size_t known = 0;
    while ((known + 1) * (known + 2) / 2 <= products.size()) ++known;
    return known;
  }

  bool contains(const Labelling& y) const {
    return std::find(labellings.begin(), labellings.end(), y) != labellings.end();
  }
  /// sum_y a_iy psi_iy, where margins[k] = <w, d_iy> of the k-th labelling.
  double mixture_value(std::span<const double> margins) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < size(); ++k)
      sum += duals[k] * (slopes[k] * margins[k] + offsets[k]);
    return sum;
  }
  /// The largest psi_iy, or 0, the value of the true labelling.
  double best_value(std::span<const double> margins) const {
    double best = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      best = std::max(best, slopes[k] * margins[k] + offsets[k]);
    }
    return best;
  }

  /// Counts a visit and drops labellings that had no weight at more than kMaxIdle consecutive
  /// visits.
  void drop_idle() {
    bool any = false;
    for (std::size_t k = 0; k < size(); ++k) {
      idle[k] = duals[k] > 0 ? 0 : static_cast<std::uint8_t>(idle[k] + 1);
      any = any || idle[k] > kMaxIdle;
    }
    if (!any) return;
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < size(); ++k) {
      if (idle[k] <= kMaxIdle) kept.push_back(k);
    }
    if (!products.empty()) keep_products(kept);
    keep(labellings, kept);
    keep(duals, kept);
    keep(slopes, kept);
    keep(offsets, kept);
    keep(idle, kept);
    if (!differences.empty()) keep(differences, kept);
  }

 private:
  // kept is ascending.
  template <class T>
  static void keep(std::vector<T>& values, const std::vector<std::size_t>& kept) {
    for (std::size_t j = 0; j < kept.size(); ++j) {
      if (kept[j] != j) values[j] = std::move(values[kept[j]]);
    }
    values.resize(kept.size());
  }

  void keep_products(const std::vector<std::size_t>& kept) {
    const std::size_t known = num_products_known();
    std::size_t at = 0;
    for (std::size_t j = 0; j < kept.size() && kept[j] < known; ++j) {
      for (std::size_t k = 0; k <= j; ++k) {
        products[at++] = products[kept[j] * (kept[j] + 1) / 2 + kept[k]];
      }
    }
    products.resize(at);
  }
};

}  // namespace margrove
