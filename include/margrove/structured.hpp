#pragma once
// Structured SVMs with a model of your own: any joint feature map and oracle that meet the concepts
// of margrove/oracle.hpp, with every surrogate and solver of the library.
//
//   min_w  ||w||^2 / 2 + C sum_i max_y psi(m_i(y), g_i(y))

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "margrove/oracle.hpp"
#include "margrove/surrogates.hpp"

namespace margrove MARGROVE_API {

enum class StructuredSolver {
  automatic,      // bcfw where the surrogate is affine in the margin violation, otherwise sgd
  bcfw,           // block-coordinate Frank-Wolfe, up to a duality gap
  sgd,            // averaged stochastic subgradients, until passes lower the objective no more
  cutting_plane,  // cutting planes with one slack per example, up to a duality gap; surrogates
                  // convex in the margin violation
  one_slack,      // the same with one slack for all examples
};
template <>
inline constexpr auto kEnumNames<StructuredSolver> =
    std::array{EnumName{StructuredSolver::automatic, "auto"},
               EnumName{StructuredSolver::bcfw, "bcfw"}, EnumName{StructuredSolver::sgd, "sgd"},
               EnumName{StructuredSolver::cutting_plane, "cutting-plane"},
               EnumName{StructuredSolver::one_slack, "one-slack"}};

/// How calls to the oracle find the most violating labelling.
enum class StructuredSearch {
  automatic,    // margin for margin rescaling; for the others enumeration, or else convex_hull
  margin,       // margin rescaling: one call
  sarawagi,     // slack rescaling by solver cutting_plane
  binary,       // slack rescaling
  bisecting,    // slack rescaling
  angular,      // slack rescaling, exact, by a ConstrainedOracle
  convex_hull,  // every surrogate that increases with the task loss; exact with a BanListOracle
                // unless it reaches max_bans
  enumeration,  // every surrogate, for oracles that look at all labellings
};
template <>
inline constexpr auto kEnumNames<StructuredSearch> =
    std::array{EnumName{StructuredSearch::automatic, "auto"},
               EnumName{StructuredSearch::margin, "margin"},
               EnumName{StructuredSearch::sarawagi, "sarawagi"},
               EnumName{StructuredSearch::binary, "binary"},
               EnumName{StructuredSearch::bisecting, "bisecting"},
               EnumName{StructuredSearch::angular, "angular"},
               EnumName{StructuredSearch::convex_hull, "convex-hull"},
               EnumName{StructuredSearch::enumeration, "enumeration"}};

/// Whether the most violating label set is searched, or the maximum of the linear relaxation.
enum class Inference { exact, relaxed };
template <>
inline constexpr auto kEnumNames<Inference> =
    std::array{EnumName{Inference::exact, "exact"}, EnumName{Inference::relaxed, "relaxed"}};

namespace detail {

/// The fields that all estimators trained as structured SVMs share. `when` is put before each help
/// text, and `automatic` says what the solver auto is.
template <class Options>
auto structured_fields(const std::string& when = {},
                       const std::string& automatic =
                           "bcfw where the surrogate is affine in the margin, otherwise sgd") {
  return std::tuple{
      field("surrogate", &Options::surrogate,
            when + "function of margin violation and task loss: margin, slack, generalised:BETA,A, "
                   "beta:BETA, log, prob, prob-convex, micro-f1 (label sets and sequences), "
                   "normalized-difference (rows with one label)"),
      field("search", &Options::search,
            when +
                "how the most violating labelling is found; auto: margin for margin rescaling; for "
                "the others enumeration where the oracle looks at all labellings, otherwise "
                "convex-hull"),
      field("solver", &Options::solver,
            when +
                "bcfw (block-coordinate Frank-Wolfe), cutting-plane and one-slack stop at a "
                "duality gap, sgd (averaged stochastic subgradients) after its passes; auto: " +
                automatic),
      field("max_bans", &Options::max_bans, non_negative,
            when + "maximum number of rounds in which convex-hull search bans labellings to make a "
                   "fractional optimum integral; auto: 10, and 0 by sgd"),
      field("search_tolerance", &Options::search_tolerance, non_negative,
            when + "allowed error of a search: of the maximum, relative, for convex-hull and "
                   "angular; of the logarithm of lambda for sarawagi, binary and bisecting; auto: "
                   "0.01 for convex-hull by sgd and for binary and bisecting, 0.001 for angular, "
                   "0.1 for sarawagi, otherwise 0"),
      field("search_calls", &Options::search_calls, at_least(1),
            when + "maximum number of oracle calls of one search; auto: 1000 for convex-hull and "
                   "angular, 50 for sarawagi, binary and bisecting"),
      field("convex_passes", &Options::convex_passes, non_negative,
            when + "prob by sgd: number of first passes that train with its convex extension "
                   "prob-convex, as prob is flat where margins are badly violated; auto: half of "
                   "the passes, and 0 from the weights of an earlier model"),
      field("learning_rate", &Options::learning_rate, positive,
            when + "sgd: size of the first step; later ones fall, step t to "
                   "rate / (1 + rate t / (C n)) with n examples; auto: C, and C / 11 from the "
                   "weights of an earlier model"),
  };
}
}  // namespace detail

struct StructuredSvmOptions {
  double C = 1.0;
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double tolerance = 1e-2;
  int max_passes = 50;
  std::optional<int> max_bans = {};  // none, here and below, stands for `auto`
  std::optional<double> search_tolerance = {};
  std::optional<int> search_calls = {};
  std::optional<int> convex_passes = {};
  std::optional<double> learning_rate = {};
  std::uint64_t seed = 0;

  static auto fields() {
    using Options = StructuredSvmOptions;
    return std::tuple_cat(
        detail::structured_fields<Options>(),
        std::tuple{
            field("C", &Options::C, positive,
                  "loss weight: the objective is the regulariser plus C times the sum of the "
                  "losses"),
            field("tolerance", &Options::tolerance, positive,
                  "relative duality gap at which bcfw and cutting planes stop; sgd stops where two "
                  "passes lower the objective by no more than this share"),
            field("max_passes", &Options::max_passes, at_least(1),
                  "maximum number of passes over the examples"),
            field("seed", &Options::seed, at_least(0), "seed of the order of the examples"),
        });
  }
};

/// How a structured solver ended. NaN stands for "not known".
struct StructuredFit {
  // The objective at the weights returned, or an upper bound on it if searches end at a goal.
  double primal = std::numeric_limits<double>::quiet_NaN();
  double dual = std::numeric_limits<double>::quiet_NaN();
  double relative_gap = std::numeric_limits<double>::quiet_NaN();  // (primal - dual) / primal
  // Whether it is proven that the objective is at most `primal`. If not, some search was not exact
  // or the time limit passed before all examples were searched, and `primal` is an estimate.
  bool certified = false;
  int passes = 0;
  std::int64_t oracle_calls = 0;
  Stop stop = Stop::pass_limit;
};

/// The num_weights() weights, and how the solver ended.
struct StructuredWeights {
  std::vector<float> weights;
  StructuredFit fit;
};

namespace detail {

/// A labelling of any type. Copies share it.
class AnyLabelling {
 public:
  AnyLabelling() = default;
  template <class Y>
  static AnyLabelling of(Y y) {
    AnyLabelling any;
    any.held_ = std::make_shared<Held<Y>>(std::move(y));
    return any;
  }
  template <class Y>
  const Y& as() const {
    return static_cast<const Held<Y>&>(*held_).y;
  }
  bool operator==(const AnyLabelling& other) const {
    return held_ == other.held_ || (held_ && other.held_ && held_->equals(*other.held_));
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual bool equals(const Base& other) const = 0;  // both hold the same type
  };
  template <class Y>
  struct Held final : Base {
    explicit Held(Y labelling) : y(std::move(labelling)) {}
    bool equals(const Base& other) const override { return y == static_cast<const Held&>(other).y; }
    Y y;
  };
  std::shared_ptr<const Base> held_;
};

/// An oracle of any type. It is valid until its workspace is used again.
class AnyOracle {
 public:
  using Labelling = AnyLabelling;
  using Found = Candidate<AnyLabelling>;
  virtual ~AnyOracle() = default;
  virtual Found argmax(double w_m, double w_g) const = 0;
  virtual Found truth() const = 0;
  virtual bool has_argmax_without() const = 0;
  virtual std::optional<Found> argmax_without(double w_m, double w_g,
                                              std::span<const AnyLabelling> banned) const = 0;
  virtual bool has_constrained_argmax() const = 0;
  virtual std::optional<Found> constrained_argmax(double w_m, double w_g,
                                                  const SlopeBounds& bounds) const = 0;
};

/// A model of any type, so that the library can compile the solvers for all of them.
class AnyStructuredModel {
 public:
  virtual ~AnyStructuredModel() = default;
  virtual std::size_t num_examples() const = 0;
  virtual std::size_t num_weights() const = 0;
  virtual std::shared_ptr<void> workspace() const = 0;
  virtual std::unique_ptr<AnyOracle> oracle(std::size_t i, ScaledWeights w,
                                            void* workspace) const = 0;
  virtual void difference(std::size_t i, const AnyLabelling& y, SparseVector& out) const = 0;
  virtual AnyLabelling truth(std::size_t i) const = 0;
};

template <Oracle O>
class OracleAdapter final : public AnyOracle {
 public:
  using Y = typename O::Labelling;
  explicit OracleAdapter(O oracle) : oracle_(std::move(oracle)) {}
  Found argmax(double w_m, double w_g) const override { return erased(oracle_.argmax(w_m, w_g)); }
  Found truth() const override { return erased(oracle_.truth()); }
  bool has_argmax_without() const override { return BanListOracle<O>; }
  std::optional<Found> argmax_without(double w_m, double w_g,
                                      std::span<const AnyLabelling> banned) const override {
    if constexpr (BanListOracle<O>) {
      std::vector<Y> labellings;
      for (const AnyLabelling& y : banned) labellings.push_back(y.as<Y>());
      return erased(oracle_.argmax_without(w_m, w_g, std::span<const Y>(labellings)));
    } else {
      return std::nullopt;
    }
  }
  bool has_constrained_argmax() const override { return ConstrainedOracle<O>; }
  std::optional<Found> constrained_argmax(double w_m, double w_g,
                                          const SlopeBounds& bounds) const override {
    if constexpr (ConstrainedOracle<O>) {
      return erased(oracle_.constrained_argmax(w_m, w_g, bounds));
    } else {
      return std::nullopt;
    }
  }

 private:
  static Found erased(Candidate<Y> found) {
    return {AnyLabelling::of(std::move(found.y)), found.m, found.g, found.constant};
  }
  static std::optional<Found> erased(std::optional<Candidate<Y>> found) {
    return found ? std::optional(erased(*std::move(found))) : std::nullopt;
  }
  O oracle_;
};

template <StructuredModel M>
class ModelAdapter final : public AnyStructuredModel {
 public:
  explicit ModelAdapter(const M& model) : model_(model) {}
  std::size_t num_examples() const override { return model_.num_examples(); }
  std::size_t num_weights() const override { return model_.num_weights(); }
  std::shared_ptr<void> workspace() const override {
    return std::make_shared<typename M::Workspace>();
  }
  std::unique_ptr<AnyOracle> oracle(std::size_t i, ScaledWeights w,
                                    void* workspace) const override {
    auto& typed = *static_cast<typename M::Workspace*>(workspace);
    using O = decltype(model_.oracle(i, w, typed));
    return std::make_unique<OracleAdapter<O>>(model_.oracle(i, w, typed));
  }
  void difference(std::size_t i, const AnyLabelling& y, SparseVector& out) const override {
    model_.difference(i, y.as<typename M::Labelling>(), out);
  }
  AnyLabelling truth(std::size_t i) const override {
    return AnyLabelling::of(typename M::Labelling(model_.truth(i)));
  }

 private:
  const M& model_;
};

StructuredWeights train_any(const AnyStructuredModel& model, const StructuredSvmOptions& options,
                            Executor& executor, RunControl& control, std::span<const float> start);

}  // namespace detail

/// Fits the weights of `model`. The threads of the executor call oracles of different examples at
/// once; the result does not depend on their number. Throws InvalidOption for a value out of range
/// and for a surrogate, search and solver that do not go together, InvalidInput if there are no
/// examples, and what the model throws. If `control` ends the run early, it returns the weights so
/// far, and fit.stop says why. start: weights of an earlier model to start from, or none. sgd
/// begins at them; the other solvers begin with the labellings that violate them most.
template <StructuredModel M>
StructuredWeights train_structured(const M& model, const StructuredSvmOptions& options,
                                   Executor& executor, RunControl& control,
                                   std::span<const float> start = {}) {
  return detail::train_any(detail::ModelAdapter<M>(model), options, executor, control, start);
}
/// The same on the calling thread, without a time limit.
template <StructuredModel M>
StructuredWeights train_structured(const M& model, const StructuredSvmOptions& options = {}) {
  Executor executor(1);
  RunControl control;
  return train_structured(model, options, executor, control);
}

}  // namespace margrove
