#pragma once
// What an oracle offers that knows the best labelling at every value of the task loss.

#include <concepts>
#include <cstdint>
#include <span>

#include "margrove/oracle/oracle.hpp"

namespace margrove {

/// Optional: the largest m of every task loss g = 0, 1, 2, ..., -infinity where no labelling has
/// this loss, and a labelling there. Among them is the maximiser of every surrogate that increases
/// with m. has_loss_front(): whether it is affordable for the example at hand. The front holds
/// until the next call of the oracle.
template <class O>
concept LossFrontOracle = Oracle<O> && requires(const O& oracle, std::uint32_t g) {
  { oracle.has_loss_front() } -> std::same_as<bool>;
  { oracle.loss_front() } -> std::same_as<std::span<const double>>;
  { oracle.at_loss(g) } -> std::same_as<Candidate<typename O::Labelling>>;
};

}  // namespace margrove
