#pragma once
// The labellings in play of one example of a structured SVM, and which join them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "structured/oracle.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// The labellings of one example that have, or lately had, weight in the dual.
template <class Labelling>
struct ActiveSet {
  std::vector<Labelling> labellings;
  std::vector<double> duals;       // a_iy; what is missing to C_i is the true labelling's
  std::vector<double> slopes;      // s_iy
  std::vector<double> offsets;     // o_iy
  std::vector<std::uint8_t> idle;  // visits without weight
  // <d_j, d_k>, k <= j, row after row; shorter where they have not been asked for
  std::vector<double> products;
  std::vector<SparseVector> differences;  // sorted; unused by models with implicit differences

  static constexpr std::uint8_t kMaxIdle = 5;

  std::size_t size() const { return labellings.size(); }
  /// How many of the first labellings have their products.
  std::size_t num_products_known() const {
    std::size_t known = 0;
    while ((known + 1) * (known + 2) / 2 <= products.size()) ++known;
    return known;
  }

  bool contains(const Labelling& y) const {
    return std::find(labellings.begin(), labellings.end(), y) != labellings.end();
  }
  /// sum_y a_iy psi_iy at margins <w, d_iy>
  double mixture_value(std::span<const double> margins) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < size(); ++k)
      sum += duals[k] * (slopes[k] * margins[k] + offsets[k]);
    return sum;
  }
  /// The largest psi_iy, or 0
  double best_value(std::span<const double> margins) const {
    double best = 0.0;
    for (std::size_t k = 0; k < size(); ++k) {
      best = std::max(best, slopes[k] * margins[k] + offsets[k]);
    }
    return best;
  }

  /// Counts a visit; labellings without weight for more than kMaxIdle of them go.
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

/// Steps (SteppingOracle) from the labelling with the largest weight, the true one among them.
template <SteppingOracle O>
std::vector<typename O::Labelling> steps_from_heaviest(const O& oracle,
                                                       const ActiveSet<typename O::Labelling>& set,
                                                       const typename O::Labelling& truth,
                                                       double budget) {
  double weight = budget - std::accumulate(set.duals.begin(), set.duals.end(), 0.0);
  const typename O::Labelling* from = &truth;
  for (std::size_t k = 0; k < set.size(); ++k) {
    if (set.duals[k] <= weight) continue;
    weight = set.duals[k];
    from = &set.labellings[k];
  }
  std::vector<typename O::Labelling> steps;
  oracle.steps(1.0, 1.0, *from, weight, steps);
  return steps;
}

/// Where the dual of example i would gain most from single changes: for each labelling with weight
/// (the true one, too) its best neighbour y', and of these the kMaxNeighbours with the largest
/// weight times rise in psi. Moves of weight between two neighbours are moves of one part's
/// marginal probability; the oracle's answers, which change many parts at once, are slow to compose
/// them.
template <NeighbourOracle O, AffineSurrogate Psi>
std::vector<Candidate<typename O::Labelling>> best_neighbours(
    const O& oracle, const Psi& psi, const ActiveSet<typename O::Labelling>& set,
    const typename O::Labelling& truth, double budget) {
  using Labelling = typename O::Labelling;
  constexpr std::size_t kMaxNeighbours = 3;
  struct Proposal {
    double gain;
    const Labelling* y;
    std::size_t part;
    Place place;
  };
  std::vector<Proposal> proposals;
  std::vector<Place> places;
  const auto look = [&](const Labelling& y, double value, double dual) {
    if (!(dual > 0)) return;
    oracle.neighbours(y, places);
    Proposal best{1e-9 * dual * (1 + std::abs(value)), nullptr, 0, {}};
    for (std::size_t part = 0; part < places.size(); ++part) {
      const double gain = dual * (psi.value(places[part].m, places[part].g) - value);
      if (gain > best.gain) best = {gain, &y, part, places[part]};
    }
    if (best.y != nullptr) proposals.push_back(best);
  };
  for (std::size_t k = 0; k < set.size(); ++k) {
    if (!(set.duals[k] > 0)) continue;
    const auto place = oracle.evaluate(set.labellings[k]);
    look(set.labellings[k], psi.value(place.m, place.g), set.duals[k]);
  }
  look(truth, 0.0, budget - std::accumulate(set.duals.begin(), set.duals.end(), 0.0));
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Proposal& a, const Proposal& b) { return a.gain > b.gain; });
  if (proposals.size() > kMaxNeighbours) proposals.resize(kMaxNeighbours);
  std::vector<Candidate<Labelling>> best;
  for (const auto& [gain, y, part, place] : proposals) {
    best.push_back({oracle.neighbour(*y, part), place.m, place.g, place.constant});
  }
  return best;
}

}  // namespace margrove
