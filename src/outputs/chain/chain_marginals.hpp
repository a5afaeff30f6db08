#pragma once
// Sums over all tag sequences of a chain, p(y) = exp f(y) / Z: log Z, and the probabilities of tags
// and of pairs of neighbouring tags.

#include <cstddef>
#include <vector>

#include "outputs/chain/chain.hpp"

namespace margrove {

struct ChainMarginals {
  double log_partition = 0.0;
  std::vector<double> tags;         // T x K: the probability of tag k at token t
  std::vector<double> transitions;  // K x K: the expected number of times that b follows a

  // Scratch space.
  std::vector<double> forward, backward, exp_transitions, from, to, sums;
};

/// Forward-backward for the scores of the workspace, O(T K^2) for T tokens and K tags. Sums are
/// products of matrices with exp of the scores, each scaled by its largest number; where that would
/// underflow, they are computed from the logarithms, so that scores may have any size.
void sum_over_chain(const ChainWorkspace& scores, std::size_t num_tags, ChainMarginals& marginals);

}  // namespace margrove
