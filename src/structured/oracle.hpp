#pragma once
// What the oracles and models of the library offer beside the concepts of margrove/oracle.hpp, so
// that searches and solvers take less time.

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/search_goal.hpp"
#include "margrove/oracle.hpp"

namespace margrove {

/// A labelling, and what no labelling exceeds in w_m m + w_g g.
template <class Labelling>
struct BoundedCandidate {
  Candidate<Labelling> candidate;
  double bound;
};

/// Optional: for less work than argmax, a labelling that is near enough to the best one, as the
/// goal has it in w_m m + w_g g, and a bound that proves it. For a heuristic goal the bound is
/// valid but may be far away.
template <class O>
concept BoundingOracle =
    Oracle<O> && requires(const O& oracle, double w_m, double w_g, const SearchGoal& goal) {
      {
        oracle.approximate_argmax(w_m, w_g, goal)
      } -> std::same_as<BoundedCandidate<typename O::Labelling>>;
    };

/// Optional: where a labelling known from earlier lies under the present weights. Far cheaper than
/// argmax; what warm starts and label caches need.
template <class O>
concept EvaluatingOracle = Oracle<O> && requires(const O& oracle, const O::Labelling& y) {
  { oracle.evaluate(y) } -> std::same_as<Candidate<typename O::Labelling>>;
};

/// m, g and constant of a Candidate: all of it but the labelling.
struct CandidateCriteria {
  double m, g, constant;
};

/// Optional: the labellings that differ from a known one in a single part. Far cheaper than argmax;
/// what block solvers refine their mixtures by.
template <class O>
concept NeighbourOracle =
    EvaluatingOracle<O> && requires(const O& oracle, const O::Labelling& y, std::size_t part,
                                    std::vector<CandidateCriteria>& criteria) {
      { oracle.neighbours(y, criteria) } -> std::same_as<void>;  // one per part
      { oracle.neighbour(y, part) } -> std::same_as<typename O::Labelling>;
    };

/// Optional: labellings that lie on the way from a known one with weight in the dual to where each
/// of its parts would go alone: those that differ in the parts which ask for most of the weight
/// come first, the others join them. A mixture of these moves every part by an amount of its own,
/// for which oracles, whose answers change many parts at once, take many calls.
template <class O>
concept SteppingOracle =
    EvaluatingOracle<O> && requires(const O& oracle, double w_m, double w_g, const O::Labelling& y,
                                    double weight, std::vector<typename O::Labelling>& steps) {
      { oracle.steps(w_m, w_g, y, weight, steps) } -> std::same_as<void>;  // appended
    };

/// Optional: the k best distinct labellings, best first (fewer if there are fewer).
template <class O>
concept KBestOracle = Oracle<O> && requires(const O& oracle, double w_m, double w_g, int k) {
  { oracle.k_best(w_m, w_g, k) } -> std::same_as<std::vector<Candidate<typename O::Labelling>>>;
};

/// Whether the oracle is a KBestOracle or a BanListOracle for the example at hand: with some models
/// this depends on the shape of the data, and they say so by a member has_k_best().
template <Oracle O>
bool has_k_best(const O& oracle) {
  if constexpr (requires { oracle.has_k_best(); }) {
    return oracle.has_k_best();
  } else {
    return KBestOracle<O> || BanListOracle<O>;
  }
}

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

/// Optional: argmax over a relaxation of the labellings, whose value bounds the exact one; y may be
/// fractional.
template <class O>
concept RelaxedOracle = Oracle<O> && requires(const O& oracle, double w_m, double w_g) {
  typename O::RelaxedLabelling;
  { oracle.relaxed_argmax(w_m, w_g) } -> std::same_as<Candidate<typename O::RelaxedLabelling>>;
};

/// Optional: labellings are the points of a convex set on which m and g are linear, as those of a
/// relaxation are; (1 - t) a + t b is one of them.
template <class O>
concept ConvexOracle =
    Oracle<O> && requires(const O& oracle, const O::Labelling& a, const O::Labelling& b, double t) {
      { oracle.mix(a, b, t) } -> std::same_as<typename O::Labelling>;
    };

/// What a model's oracle() returns.
template <class M>
using OracleOf = decltype(std::declval<const M&>().oracle(0, ScaledWeights{},
                                                          std::declval<typename M::Workspace&>()));

}  // namespace margrove
