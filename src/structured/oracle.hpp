#pragma once
// What a structured model must offer so that every search (search/) and every solver (solver/) can
// use it. Notation: f(x, y) = <w, phi(x, y)>; for example i with true labelling y_i,
//   m(y) = f(x_i, y) - f(x_i, y_i)   the margin violation,
//   g(y) = L(y, y_i)                 the task loss, >= 0, 0 at y_i.

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/search_goal.hpp"
#include "margrove/surrogate.hpp"

namespace margrove {

/// A labelling and its place in the plane that the searches walk through.
template <class Labelling>
struct Candidate {
  Labelling y;
  double m;               // margin violation, plus `constant`
  double g;               // task loss
  double constant = 0.0;  // what m holds that does not depend on the weights: 0 but for Micro-F1,
                          // whose first coordinate is Hamming loss + margin violation
};

/// lambda-oracle of one example at fixed weights: argmax_y w_m m(y) + w_g g(y), exact; y_i itself
/// is a candidate. Ties at w_m = 0 go to the larger m, at w_g = 0 to the larger g, other ties to
/// the lowest labelling. w_m, w_g >= 0, not both 0.
/// truth() is y_i: m = g = 0, but for Micro-F1, where g = -2|y_i|.
template <class O>
concept Oracle = requires(const O& oracle, double w_m, double w_g) {
  typename O::Labelling;
  { oracle.argmax(w_m, w_g) } -> std::same_as<Candidate<typename O::Labelling>>;
  { oracle.truth() } -> std::same_as<Candidate<typename O::Labelling>>;
};

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

/// Optional: an oracle that has looked at every labelling can maximise any surrogate: the labelling
/// with the largest psi(m, g) and this value, y_i and 0 where no other has more; ties to the
/// lowest.
template <class O>
concept EnumeratingOracle = Oracle<O> && requires(const O& oracle) {
  {
    oracle.maximise(MarginRescaling{})
  } -> std::same_as<std::pair<Candidate<typename O::Labelling>, double>>;
};

/// Optional: the k best distinct labellings, best first (fewer if there are fewer).
template <class O>
concept KBestOracle = Oracle<O> && requires(const O& oracle, double w_m, double w_g, int k) {
  { oracle.k_best(w_m, w_g, k) } -> std::same_as<std::vector<Candidate<typename O::Labelling>>>;
};

/// Optional: argmax over all labellings except the banned ones; none if all are banned.
template <class O>
concept BanListOracle = Oracle<O> && requires(const O& oracle, double w_m, double w_g,
                                              std::span<const typename O::Labelling> banned) {
  {
    oracle.argmax_without(w_m, w_g, banned)
  } -> std::same_as<std::optional<Candidate<typename O::Labelling>>>;
};

/// Whether the oracle has one of the last two for the example at hand: those of some models depend
/// on the shape of the data and say so by a member has_k_best().
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

/// The part of the plane between two rays from the origin of (h, g), h = 1 + m:
/// h > 0, g > 0 and lower h <= g <= upper h, each side strict or not.
struct SlopeBounds {
  double lower = 0.0;
  double upper = std::numeric_limits<double>::infinity();
  bool lower_strict = true;
  bool upper_strict = false;
  /// What does not exceed it in w_m m + w_g g is of no use: an oracle may leave it out.
  double floor = -std::numeric_limits<double>::infinity();

  bool contain(double h, double g) const {
    return h > 0 && g > 0 && (lower_strict ? lower * h < g : lower * h <= g) &&
           (upper == std::numeric_limits<double>::infinity() ||
            (upper_strict ? g < upper * h : g <= upper * h));
  }
};

/// Optional: argmax over the labellings within the bounds, exact; none if there is
/// none above the floor.
template <class O>
concept ConstrainedOracle =
    Oracle<O> && requires(const O& oracle, double w_m, double w_g, const SlopeBounds& bounds) {
      {
        oracle.constrained_argmax(w_m, w_g, bounds)
      } -> std::same_as<std::optional<Candidate<typename O::Labelling>>>;
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

/// A sparse vector over the flat weights of a structured model; indices need not be sorted but do
/// not repeat.
struct SparseVector {
  std::vector<std::uint64_t> indices;
  std::vector<float> values;
  void clear() {
    indices.clear();
    values.clear();
  }
  void add(std::uint64_t index, float value) {
    indices.push_back(index);
    values.push_back(value);
  }
};

/// Flat weights times a scalar, so that shrinking all of them costs O(1).
struct ScaledWeights {
  std::span<const float> values;
  double scale = 1.0;
};

/// A joint feature map with inference over a fixed set of training examples. Stateless but for the
/// examples; one Workspace a thread.
template <class M>
concept StructuredModel =
    requires(const M& model, std::size_t i, ScaledWeights w, typename M::Workspace& workspace,
             const typename M::Labelling& y, SparseVector& difference) {
      typename M::Labelling;  // regular (copyable, ==); ordered if k_best is offered
      typename M::Workspace;  // default-constructible scratch
      { model.num_examples() } -> std::convertible_to<std::size_t>;
      { model.num_weights() } -> std::convertible_to<std::size_t>;
      // Scores example i under w; the oracle refers to the workspace and to the model.
      { model.oracle(i, w, workspace) } -> Oracle;
      // phi(x_i, y) - phi(x_i, y_i), appended to `difference` (which the caller cleared).
      { model.difference(i, y, difference) } -> std::same_as<void>;
      { model.truth(i) } -> std::convertible_to<typename M::Labelling>;
    };

/// What a model's oracle() returns.
template <class M>
using OracleOf = decltype(std::declval<const M&>().oracle(0, ScaledWeights{},
                                                          std::declval<typename M::Workspace&>()));

}  // namespace margrove
