#pragma once
// Labellings near those that already have weight, which are added to an active set between two
// calls of the oracle.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "structured/active_set.hpp"
#include "structured/oracle.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// Steps (SteppingOracle) from the labelling with the largest weight, which may be the true one.
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

/// The neighbours that raise the dual of an example most: the best neighbour of each labelling with
/// weight (the true one included), and of these the kMaxNeighbours with the largest product of
/// weight and increase of psi. Moving weight between two neighbours changes the marginal
/// probability of one part only. Answers of the oracle change many parts at once, so that many
/// would be needed for such a move.
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
    CandidateCriteria criteria;
  };
  std::vector<Proposal> proposals;
  std::vector<CandidateCriteria> neighbours;
  const auto look = [&](const Labelling& y, double value, double dual) {
    if (!(dual > 0)) return;
    oracle.neighbours(y, neighbours);
    Proposal best{1e-9 * dual * (1 + std::abs(value)), nullptr, 0, {}};
    for (std::size_t part = 0; part < neighbours.size(); ++part) {
      const double gain = dual * (psi.value(neighbours[part].m, neighbours[part].g) - value);
      if (gain > best.gain) best = {gain, &y, part, neighbours[part]};
    }
    if (best.y != nullptr) proposals.push_back(best);
  };
  for (std::size_t k = 0; k < set.size(); ++k) {
    if (!(set.duals[k] > 0)) continue;
    const auto criteria = oracle.evaluate(set.labellings[k]);
    look(set.labellings[k], psi.value(criteria.m, criteria.g), set.duals[k]);
  }
  look(truth, 0.0, budget - std::accumulate(set.duals.begin(), set.duals.end(), 0.0));
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Proposal& a, const Proposal& b) { return a.gain > b.gain; });
  if (proposals.size() > kMaxNeighbours) proposals.resize(kMaxNeighbours);
  std::vector<Candidate<Labelling>> best;
  for (const auto& [gain, y, part, criteria] : proposals) {
    best.push_back({oracle.neighbour(*y, part), criteria.m, criteria.g, criteria.constant});
  }
  return best;
}

}  // namespace margrove
