#pragma once
// Sets of exactly k of n labels, scored by the sum of the scores of their labels.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "structured/criteria.hpp"
#include "structured/enumeration.hpp"

namespace margrove {

/// 0 or 1 per label, k of them 1.
using LabelChoice = std::vector<std::uint8_t>;

/// The k labels of the largest scores. Ties go to the lowest label. O(n log n).
LabelChoice best_choice(std::span<const double> scores, std::size_t k);

/// The best set among those that lack j of the true labels, for each j: the j worst true labels
/// give way to the j best others. Every other set has the same loss and no larger score as one of
/// them, so that they decide every surrogate. Task loss: the number of labels in one of the two
/// sets only. O(n log n + n min(k, n - k)).
EnumerationOracle<LabelChoice> choice_oracle(std::span<const double> scores,
                                             const LabelChoice& truth, Criteria criteria);

/// p(y) = exp f(y) / Z over the sets of k labels: returns log Z and writes the probability of each
/// label. O(n k).
double choice_marginals(std::span<const double> scores, std::size_t k,
                        std::vector<double>& probabilities);

}  // namespace margrove
