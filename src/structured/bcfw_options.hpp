#pragma once
// The options of block-coordinate Frank-Wolfe (structured/bcfw.hpp).

#include <cstdint>
#include <tuple>

#include "margrove/options.hpp"

namespace margrove {

struct BcfwOptions {
  double C = 1.0;
  double tolerance = 1e-3;  // relative duality gap to stop at, (primal - dual) / primal
  int max_passes = 1000;    // over the examples that call the oracle
  /// Passes over known labellings between two that call the oracle, at most; they end early when
  /// they raise the dual too little.
  int cached_passes = 10;
  /// Examples whose oracles run at the same weights, in parallel; 1 where oracles are faster than
  /// starting threads.
  int minibatch = 32;
  /// Moves weight between two labellings of a block until it is solved; false: one Frank-Wolfe step
  /// towards the oracle's.
  bool pairwise = true;
  /// Returns the average of the iterates weighted by their number; useful without pairwise steps or
  /// a small gap. Takes a second array of weights.
  bool averaging = false;
  std::uint64_t seed = 0;  // of the order of the examples

  /// No front end shows these options.
  static auto fields() {
    using O = BcfwOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_passes", &O::max_passes, at_least(1), {}),
        field("cached_passes", &O::cached_passes, at_least(0), {}),
        field("minibatch", &O::minibatch, at_least(1), {}),
    };
  }
};

}  // namespace margrove
