#pragma once
// Paired tests of numbers.

#include <cstdint>
#include <span>

#include "margrove/significance.hpp"

namespace margrove {

/// The sign test of `first_better` wins against `second_better`: exact binomial.
PairedTest sign_test(std::int64_t first_better, std::int64_t second_better);

/// Wilcoxon's signed rank test of first[i] - second[i], zeros dropped, mean ranks for ties. Up to
/// 50 differences it uses the exact distribution given the ranks (ties included), otherwise the
/// normal approximation with the correction for ties. Throws InvalidInput when the lengths differ
/// or a difference is not finite.
PairedTest wilcoxon_signed_rank(std::span<const double> first, std::span<const double> second);

}  // namespace margrove
