#pragma once
// Starting points for the dual variables.

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "margrove/errors.hpp"
#include "structured/dual_blocks.hpp"

namespace margrove {

/// Starts from the dual variables of another run on the same examples with the same task losses,
/// times `scale`. The features may differ. Blocks above their budget are scaled down to it. Throws
/// InvalidInput if the number of examples differs.
template <class Model, class Psi>
void start_from_sets(DualBlocks<Model, Psi>& blocks,
                     std::vector<ActiveSet<typename Model::Labelling>> sets, double scale) {
  require(sets.size() == blocks.size(), "bcfw: warm start of ", sets.size(),
          " examples, but must be ", blocks.size());
  blocks.sets() = std::move(sets);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto& set = blocks.sets()[i];
    if (DualBlocks<Model, Psi>::kImplicit) set.products.clear();
    double total = 0.0;
    for (double& dual : set.duals) total += dual *= scale;
    if (total <= blocks.budget(i)) continue;
    for (double& dual : set.duals) dual *= blocks.budget(i) / total;
  }
  blocks.rebuild_weights();
}

/// Starts from dual variables of margin rescaling with the same task losses, one mixture per
/// example. Divided by the slopes of the surrogate they give the same weights. They are then
/// feasible where slopes are >= 1; other blocks are scaled down to their budgets. Then all are
/// scaled by the common factor that maximises the dual. Throws InvalidInput if the number of
/// examples differs.
template <class Model, class Psi>
void start_from_margin_rescaling(DualBlocks<Model, Psi>& blocks,
                                 std::span<const Mixture<typename Model::Labelling>> start) {
  require(start.size() == blocks.size(), "bcfw: start of ", start.size(), " examples, but must be ",
          blocks.size());
  double room = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < start.size(); ++i) {
    auto& set = blocks.sets()[i];
    set = {};
    const double budget = blocks.budget(i);
    const auto oracle = blocks.oracle(i, blocks.weights(), 0);
    double total = 0.0;
    for (std::size_t k = 0; k < start[i].labellings.size(); ++k) {
      const std::size_t before = set.size();
      blocks.admit(i, oracle.evaluate(start[i].labellings[k]));
      if (set.size() == before || !(set.slopes.back() > 0)) continue;
      total += set.duals.back() = start[i].weights[k] / set.slopes.back();
    }
    if (total > budget) {
      for (double& dual : set.duals) dual *= budget / total;
      total = budget;
    }
    if (total > 0) room = std::min(room, budget / total);
  }
  blocks.rebuild_weights();
  const double norm = squared_norm({blocks.weights(), 1.0}), gain = blocks.dual() + 0.5 * norm;
  if (!(norm > 0)) return;
  const double factor = std::min(room, std::max(0.0, gain / norm));
  for (auto& set : blocks.sets()) {
    for (double& dual : set.duals) dual *= factor;
  }
  blocks.rebuild_weights();
}

}  // namespace margrove
