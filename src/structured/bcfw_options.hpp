#pragma once
// The options of block-coordinate Frank-Wolfe (structured/bcfw.hpp).

#include <cstdint>
#include <tuple>

#include "margrove/options.hpp"

namespace margrove {

struct BcfwOptions {
  double C = 1.0;
  double tolerance = 1e-3;
  int max_passes = 1000;
  int cached_passes = 10;
  int minibatch = 32;
  bool pairwise = true;
  bool averaging = false;
  std::uint64_t seed = 0;

  static auto fields() {
    return std::tuple{
        field("C", &BcfwOptions::C, positive, "loss weight"),
        field("tolerance", &BcfwOptions::tolerance, positive,
              "relative duality gap to stop at, (primal - dual) / primal"),
        field("max_passes", &BcfwOptions::max_passes, at_least(1),
              "maximum number of passes over the examples that call the oracle"),
        field("cached_passes", &BcfwOptions::cached_passes, at_least(0),
              "maximum number of passes over known labellings between two that call the oracle; "
              "they end early when they raise the dual too little"),
        field("minibatch", &BcfwOptions::minibatch, at_least(1),
              "number of examples whose oracles run at the same weights, in parallel; 1 where "
              "oracles are faster than starting threads"),
        field("pairwise", &BcfwOptions::pairwise,
              "move weight between two labellings of a block until it is solved; false: one "
              "Frank-Wolfe step towards the oracle's"),
        field("averaging", &BcfwOptions::averaging,
              "return the average of the iterates weighted by their number; useful without "
              "pairwise steps or a small gap; takes a second array of weights"),
        field("seed", &BcfwOptions::seed, non_negative, "seed of the order of the examples"),
    };
  }
};

}  // namespace margrove
