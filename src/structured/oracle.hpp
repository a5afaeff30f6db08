#pragma once
// Optional abilities of oracles, beside those of margrove/oracle.hpp, that make searches and
// solvers faster.

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/search_goal.hpp"
#include "margrove/oracle.hpp"
#include "margrove/surrogates.hpp"

namespace margrove {

/// A labelling, and an upper bound on w_m m + w_g g over all labellings.
template <class Labelling>
struct BoundedCandidate {
  Candidate<Labelling> candidate;
  double bound;
};

/// Optional: a labelling whose w_m m + w_g g meets the goal, and a bound that proves it, faster
/// than argmax. For a heuristic goal the bound is valid but may be loose.
template <class O>
concept BoundingOracle =
    Oracle<O> && requires(const O& oracle, double w_m, double w_g, const SearchGoal& goal) {
      {
        oracle.approximate_argmax(w_m, w_g, goal)
      } -> std::same_as<BoundedCandidate<typename O::Labelling>>;
    };

/// Optional: m and g of a known labelling under the present weights. Far cheaper than argmax. Warm
/// starts and label caches need it.
template <class O>
concept EvaluatingOracle = Oracle<O> && requires(const O& oracle, const O::Labelling& y) {
  { oracle.evaluate(y) } -> std::same_as<Candidate<typename O::Labelling>>;
};

/// m, g and constant of a Candidate: all of it but the labelling.
struct CandidateCriteria {
  double m, g, constant;
};

/// Optional: the labellings that differ from a known one in a single part. Far cheaper than argmax.
/// Block solvers refine their mixtures by them.
template <class O>
concept NeighbourOracle =
    EvaluatingOracle<O> && requires(const O& oracle, const O::Labelling& y, std::size_t part,
                                    std::vector<CandidateCriteria>& criteria) {
      { oracle.neighbours(y, criteria) } -> std::same_as<void>;  // one per part
      { oracle.neighbour(y, part) } -> std::same_as<typename O::Labelling>;
    };

/// Optional: a sequence of labellings that change more and more parts of a known labelling y. Each
/// part changes to its own best value; the parts that would take most of y's dual weight change
/// first. A mixture of these labellings moves every part by an amount of its own. Answers of argmax
/// change many parts at once, so that such a mixture of them would take many calls. The model's
/// member takes_steps() says whether steps are worth their time.
template <class O>
concept SteppingOracle =
    EvaluatingOracle<O> && requires(const O& oracle, double w_m, double w_g, const O::Labelling& y,
                                    double weight, std::vector<typename O::Labelling>& steps) {
      { oracle.steps(w_m, w_g, y, weight, steps) } -> std::same_as<void>;  // appended
    };

/// Optional: an oracle that looks at every labelling can maximise any surrogate. It returns the
/// labelling with the largest psi(m, g) and this value, or y_i and 0 if no value is positive. Ties
/// go to the lowest labelling.
template <class O>
concept EnumeratingOracle = Oracle<O> && requires(const O& oracle) {
  {
    oracle.maximise(MarginRescaling{})
  } -> std::same_as<std::pair<Candidate<typename O::Labelling>, double>>;
};

/// Optional: the k best distinct labellings, best first, or all if there are fewer.
template <class O>
concept KBestOracle = Oracle<O> && requires(const O& oracle, double w_m, double w_g, int k) {
  { oracle.k_best(w_m, w_g, k) } -> std::same_as<std::vector<Candidate<typename O::Labelling>>>;
};

/// Whether the oracle can serve as a KBestOracle or BanListOracle for this example. With some
/// models this depends on the data; their oracles have a member has_k_best().
template <Oracle O>
bool has_k_best(const O& oracle) {
  if constexpr (requires { oracle.has_k_best(); }) {
    return oracle.has_k_best();
  } else {
    return KBestOracle<O> || BanListOracle<O>;
  }
}

/// Optional: loss_front(most) has the largest m for each task loss g = 0, 1, 2, ..., up to `most`
/// or further (-infinity if no labelling has this loss), and at_loss(g) is a labelling with this m.
/// Among them is the maximiser of every surrogate that increases with m. has_loss_front() says
/// whether this example has a front, whose losses must be whole numbers, and has_cheap_front()
/// whether it takes no longer than a few calls of k_best. A front is valid until a longer one is
/// asked for.
template <class O>
concept LossFrontOracle = Oracle<O> && requires(const O& oracle, std::uint32_t g) {
  { oracle.has_loss_front() } -> std::same_as<bool>;
  { oracle.has_cheap_front() } -> std::same_as<bool>;
  { oracle.loss_front(g) } -> std::same_as<std::span<const double>>;
  { oracle.at_loss(g) } -> std::same_as<Candidate<typename O::Labelling>>;
};

inline constexpr std::uint32_t kAllLosses = std::numeric_limits<std::uint32_t>::max();

/// An oracle whose answers can be bounded by slopes: it has constrained_argmax(), or a loss front.
template <class O>
concept BoundedSlopeOracle = ConstrainedOracle<O> || LossFrontOracle<O>;

/// Whether constrained_argmax() may be called for this example.
template <Oracle O>
bool has_slope_bounds(const O& oracle) {
  if constexpr (!ConstrainedOracle<O> && LossFrontOracle<O>) {
    return oracle.has_loss_front();
  } else {
    return ConstrainedOracle<O>;
  }
}

/// argmax over the labellings within the bounds; none if there is none above the floor. Of an
/// oracle with a loss front only labellings of the front count, as any other one is worse than that
/// with the same g.
template <BoundedSlopeOracle O>
std::optional<Candidate<typename O::Labelling>> constrained_argmax(const O& oracle, double w_m,
                                                                   double w_g,
                                                                   const SlopeBounds& bounds) {
  if constexpr (ConstrainedOracle<O>) {
    return oracle.constrained_argmax(w_m, w_g, bounds);
  } else {
    const std::span<const double> front = oracle.loss_front(kAllLosses);
    double best = bounds.floor;
    std::uint32_t best_loss = 0;
    for (std::uint32_t g = 1; g < front.size(); ++g) {
      const double value = w_m * front[g] + w_g * g;
      if (value <= best || !bounds.contain(1.0 + front[g], g)) continue;
      best = value;
      best_loss = g;
    }
    if (best_loss == 0) return std::nullopt;
    auto y = oracle.at_loss(best_loss);
    y.m = front[best_loss];  // its own rounding might lie outside of the bounds
    return y;
  }
}

/// Optional: the labellings are the points of a convex set on which m and g are linear, as those of
/// a relaxation are. mix(a, b, t) is (1 - t) a + t b.
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
