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

/// bcfw: block-coordinate Frank-Wolfe, for surrogates affine in m. cutting_plane, one_slack: n
/// slacks or one, for surrogates convex in m. sgd: any surrogate, without a duality gap. automatic:
/// bcfw where it can be used, otherwise sgd.
enum class StructuredSolver { automatic, bcfw, sgd, cutting_plane, one_slack };
template <>
inline constexpr auto kEnumNames<StructuredSolver> =
    std::array{EnumName{StructuredSolver::automatic, "auto"},
               EnumName{StructuredSolver::bcfw, "bcfw"}, EnumName{StructuredSolver::sgd, "sgd"},
               EnumName{StructuredSolver::cutting_plane, "cutting-plane"},
               EnumName{StructuredSolver::one_slack, "one-slack"}};

/// How the most violating labelling is found by calls to the oracle. margin: one call, for margin
/// rescaling only. sarawagi, binary, bisecting, angular: for slack rescaling; angular is exact and
/// needs a ConstrainedOracle, sarawagi needs solver cutting_plane. convex_hull: every surrogate,
/// exact with a BanListOracle unless max_bans ends it. automatic: margin for margin rescaling,
/// convex_hull for the others.
enum class StructuredSearch {
  automatic,
  margin,
  sarawagi,
  binary,
  bisecting,
  angular,
  convex_hull
};
template <>
inline constexpr auto kEnumNames<StructuredSearch> =
    std::array{EnumName{StructuredSearch::automatic, "auto"},
               EnumName{StructuredSearch::margin, "margin"},
               EnumName{StructuredSearch::sarawagi, "sarawagi"},
               EnumName{StructuredSearch::binary, "binary"},
               EnumName{StructuredSearch::bisecting, "bisecting"},
               EnumName{StructuredSearch::angular, "angular"},
               EnumName{StructuredSearch::convex_hull, "convex-hull"}};

struct StructuredSvmOptions {
  double C = 1.0;
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double tolerance = 1e-2;
  int max_passes = 50;
  int max_bans = 10;
  std::uint64_t seed = 0;

  static auto fields() {
    return std::tuple{
        field("C", &StructuredSvmOptions::C, positive,
              "loss weight: the objective is the regulariser plus C times the sum of the losses"),
        field("search", &StructuredSvmOptions::search, "how the most violating labelling is found"),
        field("solver", &StructuredSvmOptions::solver,
              "auto: bcfw where the surrogate is affine in the margin, otherwise sgd"),
        field("tolerance", &StructuredSvmOptions::tolerance, positive,
              "relative duality gap at which bcfw and cutting planes stop"),
        field("max_passes", &StructuredSvmOptions::max_passes, at_least(1),
              "passes over the examples, at most; sgd makes all of them"),
        field("max_bans", &StructuredSvmOptions::max_bans, at_least(0),
              "rounds in which convex-hull search makes a fractional optimum integral"),
        field("seed", &StructuredSvmOptions::seed, at_least(0), "order of the examples"),
    };
  }
};

/// How a structured solver ended. NaN stands for "not known".
struct StructuredFit {
  // Of the weights returned, or a bound on it where searches end at a goal.
  double primal = std::numeric_limits<double>::quiet_NaN();
  double dual = std::numeric_limits<double>::quiet_NaN();
  double relative_gap = std::numeric_limits<double>::quiet_NaN();  // (primal - dual) / primal
  // The primal is at most `primal`; false: not every search was exact, or time was out before all
  // examples had been searched, and `primal` is what the last passes, or searches, suggest.
  bool certified = false;
  int passes = 0;
  std::int64_t oracle_calls = 0;
  Stop stop = Stop::pass_limit;
};

/// num_weights() numbers, and how they were found.
struct StructuredWeights {
  std::vector<float> weights;
  StructuredFit fit;
};

namespace detail {

/// A labelling of whatever type, shared by its copies.
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

/// An oracle of whatever type, for as long as its workspace is not used again.
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

/// A model of whatever type, so that the solvers are compiled in the library.
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
                            Executor& executor, RunControl& control);

}  // namespace detail

/// Fits the weights of `model`. Oracles of different examples are asked from the executor's threads
/// at once; the result does not depend on their number. Throws InvalidOption for a value out of
/// range and for a surrogate, search and solver that do not go together, InvalidInput if there are
/// no examples, and what the model throws. `control` ends it early: the weights so far come back,
/// and fit.stop says why.
template <StructuredModel M>
StructuredWeights train_structured(const M& model, const StructuredSvmOptions& options,
                                   Executor& executor, RunControl& control) {
  return detail::train_any(detail::ModelAdapter<M>(model), options, executor, control);
}
/// On the calling thread, until done.
template <StructuredModel M>
StructuredWeights train_structured(const M& model, const StructuredSvmOptions& options = {}) {
  Executor executor(1);
  RunControl control;
  return train_structured(model, options, executor, control);
}

}  // namespace margrove
