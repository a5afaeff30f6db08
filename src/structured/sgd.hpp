#pragma once
// Stochastic subgradient descent for structured SVMs with any bi-criteria surrogate.
//
//   min_w  ||w||^2 / 2 + C sum_i max_y psi_i(y; w)
//
// Pegasos [ShalevShwartz2011] on the objective divided by C N, lambda = 1 / (C N): at step t, for
// an example i with most violating labelling y,
//   w <- (1 - 1/(t + t0)) w - d psi/d m * (phi(x_i, y) - phi(x_i, y_i)) / (lambda (t + t0)),
// so that w_t = -S_t / (lambda (t + t0)) with S_t the sum of the subgradients, and shrinking w
// costs nothing. t0 is the number of steps in `warm_up` passes; it makes the first steps of size C,
// not C N. The average weights w_t by t + t0 [LacosteJulien2012].
//
// Where psi is steeper than margin rescaling, d psi/d m > 1, such steps are too long at first by
// the square of the slope, which takes as many passes to forget. There a step ends where psi, taken
// as linear in w, reaches its minimum 0 [AsiDuchi2019, the truncated model], but is not shorter
// than one of margin rescaling.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/checkpoint.hpp"
#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "margrove/control.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "structured/oracle.hpp"
#include "structured/search.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

struct SgdOptions {
  double C = 1.0;
  int max_passes = 20;
  double warm_up = 1.0;   // passes that the step size counts as made before, so that the first
                          // step has the size C / warm_up; 0: as in Pegasos
  bool averaging = true;  // return the average of the iterates, in which later ones weigh more
  int minibatch = 1;      // examples whose oracles run at the same weights, in parallel
  /// Ends where two passes in a row lower the objective, as the passes see it, by no more than this
  /// share; 0: makes all passes.
  double settled = 0.0;
  std::uint64_t seed = 0;  // of the order of the examples

  /// No front end shows these options.
  static auto fields() {
    using O = SgdOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("max_passes", &O::max_passes, at_least(1), {}),
        field("warm_up", &O::warm_up, non_negative, {}),
        field("minibatch", &O::minibatch, at_least(1), {}),
        field("settled", &O::settled, non_negative, {}),
    };
  }
};

/// The state from which a later run continues.
struct SgdState {
  std::vector<float> sum, weighted_sum;  // of the subgradients g_s, of s g_s
  double steps = 0.0;
  std::uint64_t passes = 0;
  double lambda = 0.0, offset = 0.0;  // t0
  double C = 0.0;
};

inline TensorMap to_tensors(const SgdState& state) {
  TensorMap out("checkpoint");
  out.put<float>("sgd.sum", state.sum);
  out.put<float>("sgd.weighted_sum", state.weighted_sum);
  out.put<double>("sgd.numbers", std::array{state.steps, state.lambda, state.offset, state.C});
  out.put_text("passes", concat(state.passes));
  return out;
}
/// Throws ModelFileError.
inline SgdState sgd_state(const TensorMap& tensors) {
  const auto numbers = tensors.get<double>("sgd.numbers", 4);
  SgdState state;
  state.sum = tensors.get<float>("sgd.sum");
  state.weighted_sum = tensors.get<float>("sgd.weighted_sum");
  state.steps = numbers[0];
  state.passes = tensors.whole_number("passes", std::numeric_limits<std::int32_t>::max());
  state.lambda = numbers[1];
  state.offset = numbers[2];
  state.C = numbers[3];
  return state;
}
/// Tells when two passes in a row have lowered the objective by no more than a share of it.
class Settling {
 public:
  /// share 0: never.
  explicit Settling(double share) : share_(share) {}

  void see(double objective) {
    const bool has_fallen = objective < lowest_ * (1.0 - share_);
    slow_passes_ = has_fallen ? 0 : slow_passes_ + 1;
    lowest_ = std::min(lowest_, objective);
  }
  bool has_ended() const { return share_ > 0.0 && slow_passes_ >= 2; }

 private:
  double share_;
  double lowest_ = std::numeric_limits<double>::max();
  int slow_passes_ = 0;
};

/// One solver run. Model, executor and control must outlive it. The oracles of a minibatch run in
/// parallel and the steps are taken in order, so that the number of threads changes no bit.
template <StructuredModel Model, Surrogate Psi, class Search>
class Sgd {
 public:
  using Labelling = typename Model::Labelling;

  /// example_weights: factors >= 0 of the examples' losses; empty for all 1.
  Sgd(const Model& model, Psi psi, Search search, const SgdOptions& options, Executor& executor,
      RunControl& control, std::span<const double> example_weights = {})
      : model_(model),
        psi_(std::move(psi)),
        options_(options),
        executor_(executor),
        control_(control),
        example_weights_(example_weights.begin(), example_weights.end()),
        sum_(model.num_weights(), 0.0F),
        caches_(model.num_examples()),
        searches_(static_cast<std::size_t>(executor.size()), search),
        workspaces_(static_cast<std::size_t>(executor.size())) {
    validate(options);
    require(model.num_examples() > 0, "sgd: there are no examples, but must be at least one");
    check_example_weights(example_weights, model.num_examples(), "sgd");
    lambda_ = 1.0 / (options.C * static_cast<double>(model.num_examples()));
    offset_ = options.warm_up * static_cast<double>(model.num_examples());
    if (options.averaging) weighted_sum_.resize(sum_.size(), 0.0F);
    watch(workspaces_, control);
  }

  /// Makes all passes. Leaves `primal` unknown; structured_objective() computes it.
  StructuredFit run() { return run(options_.max_passes); }
  /// Makes further passes, fewer where the objective settles. Progress is reported as a share of
  /// options.max_passes.
  StructuredFit run(int passes) {
    StructuredFit fit;
    Settling settling(options_.settled);
    while (fit.passes < passes && !settling.has_ended()) {
      const double loss = one_pass();
      if (!control_.proceed()) break;  // within the pass
      sort_sums(1.0);
      ++fit.passes;
      if (checkpoint_ != nullptr && checkpoint_->is_due() && control_.proceed()) {
        TensorMap saved = to_tensors(state());
        if constexpr (GrowingModel<Model>) {
          saved.put<std::uint64_t>("sgd.numbering", model_.places().list());
        }
        checkpoint_->write(std::move(saved));
      }
      Progress progress;
      progress.stage = "sgd";
      progress.done = static_cast<std::int64_t>(passes_ - first_pass_);
      progress.total = options_.max_passes;
      progress.objective = 0.5 * squared_norm(present()) + options_.C * loss;
      settling.see(progress.objective);
      if (!control_.proceed(progress)) break;
    }
    fit.oracle_calls = oracle_calls_;
    fit.stop = settling.has_ended() ? Stop::settled : Stop::epochs_done;
    if (!control_.proceed()) fit.stop = control_.stop_reason();
    return fit;
  }

  /// One pass over the examples. Returns the sum of their losses, each at the weights of its step.
  double one_pass() {
    std::vector<std::uint32_t> order(model_.num_examples());
    std::iota(order.begin(), order.end(), 0U);
    Random(options_.seed, passes_++).shuffle(std::span(order));
    const auto batch_size = static_cast<std::size_t>(options_.minibatch);
    std::vector<SearchResult<Labelling>> found;
    double loss = 0.0;
    for (std::size_t begin = 0; begin < order.size() && control_.proceed(); begin += batch_size) {
      const std::size_t size = std::min(batch_size, order.size() - begin);
      try {
        search_all(std::span(order).subspan(begin, size), present(), found);
      } catch (const OutOfTime&) {
        break;
      }
      for (std::size_t k = 0; k < size; ++k) {
        loss +=
            (example_weights_.empty() ? 1.0 : example_weights_[order[begin + k]]) * found[k].value;
        step(order[begin + k], found[k]);
      }
      sort_sums(2.0);
    }
    return loss;
  }

  /// The present weights, or the average of the iterates if options.averaging.
  std::vector<float> weights() const {
    std::vector<float> w(sum_.size());
    if (steps_ == 0.0 && !has_start_) return w;
    if (!options_.averaging || steps_ == 0.0) {
      const double scale = present().scale;
      for (std::size_t k = 0; k < w.size(); ++k) {
        w[k] = static_cast<float>(scale * static_cast<double>(sum_[k]));
      }
      return w;
    }
    // sum_t (t + t0) w_t = -1/lambda sum_t S_t = -1/lambda sum_s (T + 1 - s) g_s
    const double total = 0.5 * steps_ * (steps_ + 1.0) + offset_ * steps_;
    for (std::size_t k = 0; k < w.size(); ++k) {
      const double sum_of_sums =
          (steps_ + 1.0) * static_cast<double>(sum_[k]) - static_cast<double>(weighted_sum_[k]);
      w[k] = static_cast<float>(-sum_of_sums / (lambda_ * total));
    }
    return w;
  }

  std::int64_t oracle_calls() const { return oracle_calls_; }

  static constexpr double kPassesOfStart = 10.0;

  SgdState state() const {
    return {sum_, weighted_sum_, steps_, passes_, lambda_, offset_, options_.C};
  }
  /// Continues the run that wrote this checkpoint, and returns the passes that it made. Throws
  /// ModelFileError if it was one of another problem.
  int restore(const TensorMap& saved) {
    if constexpr (GrowingModel<Model>) {
      std::vector<std::uint64_t> numbering;  // earlier versions had none
      if (saved.has("sgd.numbering")) numbering = saved.get<std::uint64_t>("sgd.numbering");
      saved.check(model_.places().set(numbering), "sgd.numbering is not one of this problem");
      extend_sums();
    }
    resume(sgd_state(saved));
    return static_cast<int>(passes_);
  }
  /// Writes the state after complete passes to the checkpoint.
  void keep_state_in(Checkpoint& checkpoint) { checkpoint_ = &checkpoint; }
  /// Begins at weights w instead of 0, as if further passes had led there, so that steps are small
  /// and the next pass keeps most of w. Before the first pass; options.warm_up or `passes` is not
  /// 0. Throws InvalidInput if their number differs.
  void start_at(std::span<const float> w, double passes = kPassesOfStart) {
    require(w.size() == sum_.size(), "sgd: start of ", w.size(), " weights, but must be ",
            sum_.size());
    offset_ += passes * static_cast<double>(model_.num_examples());
    for (std::size_t k = 0; k < w.size(); ++k) {
      sum_[k] = static_cast<float>(-lambda_ * offset_ * static_cast<double>(w[k]));
    }
    if (options_.averaging) weighted_sum_ = sum_;  // as a subgradient of the first step
    has_start_ = true;
  }
  /// Changes the surrogate of the passes that follow.
  void set_surrogate(Psi psi) { psi_ = std::move(psi); }
  /// Continues a run on the same type of model. The examples may differ; C then weights their
  /// losses as if there were as many of them as in the first run. If C differs, the sums are scaled
  /// so that the weights stay the same. Throws InvalidInput if the number of weights differs.
  void resume(SgdState state) {
    require(state.sum.size() == sum_.size() && state.weighted_sum.size() == weighted_sum_.size(),
            "sgd: state of ", state.sum.size(), " weights, but must be ", sum_.size());
    sum_ = std::move(state.sum);
    weighted_sum_ = std::move(state.weighted_sum);
    steps_ = state.steps;
    passes_ = first_pass_ = state.passes;
    offset_ = state.offset;
    lambda_ = state.lambda * state.C / options_.C;
    if (state.C == options_.C) return;
    const auto scale = static_cast<float>(state.C / options_.C);  // w = -S / (lambda (t + t0))
    for (float& each : sum_) each *= scale;
    for (float& each : weighted_sum_) each *= scale;
  }

 private:
  ScaledWeights present() const {
    const bool is_zero = steps_ == 0.0 && !has_start_;
    return {sum_, is_zero ? 0.0 : -1.0 / (lambda_ * (steps_ + offset_))};
  }

  void search_all(std::span<const std::uint32_t> examples, ScaledWeights w,
                  std::vector<SearchResult<Labelling>>& found) {
    found.resize(std::max(found.size(), examples.size()));
    const auto one = [&](std::size_t k, int worker) {
      const auto oracle = model_.oracle(examples[k], w, workspaces_[worker]);
      found[k] = searches_[worker](oracle, psi_, caches_[examples[k]]);
    };
    if (examples.size() == 1) {
      one(0, 0);
    } else {
      executor_.for_each(examples.size(), one);
    }
    for (std::size_t k = 0; k < examples.size(); ++k) oracle_calls_ += found[k].oracle_calls;
  }

  void step(std::size_t i, const SearchResult<Labelling>& found) {
    steps_ += 1.0;
    if (!(found.value > 0.0)) return;  // at y_i the subgradient is 0
    const double factor = step_factor(i, found);
    if (factor == 0.0) return;
    add_difference(i, found.best.y, factor, sum_);
    if (options_.averaging) add_difference(i, found.best.y, steps_ * factor, weighted_sum_);
    if constexpr (GrowingModel<Model>) extend_sums();
  }
  // That of the difference in the subgradient, c_i d psi/d m, or less where the step is cut short.
  double step_factor(std::size_t i, const SearchResult<Labelling>& found) {
    const double weight = example_weights_.empty() ? 1.0 : example_weights_[i];
    const double slope = psi_.derivative_m(found.best.m, found.best.g);
    if (!(slope > 1.0)) return weight * slope;
    // A factor u lowers m by u |difference|^2 / (lambda (t + t0)).
    const double to_zero =
        found.value / slope * lambda_ * (steps_ + offset_) / squared_difference(i, found.best.y);
    return std::clamp(to_zero, weight, weight * slope);
  }
  // |phi(x_i, y) - phi(x_i, y_i)|^2
  double squared_difference(std::size_t i, const Labelling& y) {
    double square = 0.0;
    if constexpr (ImplicitDifferences<Model>) {
      model_.difference_products(i, {&y, 1}, {&square, 1});
    } else {
      difference_.clear();
      model_.difference(i, y, difference_);
      for (const float value : difference_.values) {
        square += static_cast<double>(value) * static_cast<double>(value);
      }
    }
    return square;
  }
  void sort_sums(double growth) {
    if constexpr (GrowingModel<Model>) {
      const std::vector<std::uint32_t> order = model_.places().sort(growth);
      if (order.empty()) return;
      model_.places().follow(order, sum_);
      if (options_.averaging) model_.places().follow(order, weighted_sum_);
    }
  }
  // To num_weights(), as rounding may leave a new weight out of one of the sums.
  void extend_sums() {
    sum_.resize(model_.num_weights(), 0.0F);
    if (options_.averaging) weighted_sum_.resize(sum_.size(), 0.0F);
  }

  void add_difference(std::size_t i, const Labelling& y, double factor, std::vector<float>& w) {
    if constexpr (ImplicitDifferences<Model>) {
      model_.add_differences(i, {&y, 1}, {&factor, 1}, workspaces_[0], w);
    } else if constexpr (AddingModel<Model>) {
      model_.add_difference(i, y, factor, w);
    } else {
      difference_.clear();
      model_.difference(i, y, difference_);
      add_scaled(factor, difference_, w);
    }
  }

  const Model& model_;
  Psi psi_;
  SgdOptions options_;
  Executor& executor_;
  RunControl& control_;

  double lambda_ = 0.0, offset_ = 0.0, steps_ = 0.0;
  Checkpoint* checkpoint_ = nullptr;
  bool has_start_ = false;
  std::uint64_t passes_ = 0, first_pass_ = 0;
  std::int64_t oracle_calls_ = 0;
  std::vector<double> example_weights_;
  std::vector<float> sum_, weighted_sum_;  // of g_s, of s g_s
  SparseVector difference_;
  std::vector<LabelCache<Labelling>> caches_;
  std::vector<Search> searches_;
  std::vector<typename Model::Workspace> workspaces_;
};

/// ||w||^2 / 2 + C sum_i c_i max_y psi_i at given weights, by one search per example. Throws
/// OutOfTime if `control` ends it.
struct StructuredObjective {
  double value;        // from the labellings found: a lower bound on the true objective
  double upper_bound;  // from the upper bounds of the searches
  std::int64_t oracle_calls;
};
template <StructuredModel Model, Surrogate Psi, class Search>
StructuredObjective structured_objective(const Model& model, const Psi& psi, const Search& search,
                                         double C, ScaledWeights w, Executor& executor,
                                         std::span<const double> example_weights = {},
                                         RunControl* control = nullptr) {
  std::vector<typename Model::Workspace> workspaces(static_cast<std::size_t>(executor.size()));
  if (control != nullptr) watch(workspaces, *control);
  std::vector<Search> searches(static_cast<std::size_t>(executor.size()), search);
  std::vector<double> bounds(model.num_examples());
  std::vector<std::int64_t> calls(model.num_examples());
  const double loss = executor.ordered_sum(model.num_examples(), [&](std::size_t i, int worker) {
    end_if_out_of_time(control);
    LabelCache<typename Model::Labelling> cache;
    const auto found = searches[worker](model.oracle(i, w, workspaces[worker]), psi, cache);
    const double weight = example_weights.empty() ? 1.0 : example_weights[i];
    bounds[i] = weight > 0.0 ? weight * found.upper_bound : 0.0;
    calls[i] = found.oracle_calls;
    return weight * found.value;
  });
  const double regulariser = 0.5 * squared_norm(w);
  return {regulariser + C * loss,
          regulariser + C * std::accumulate(bounds.begin(), bounds.end(), 0.0),
          std::accumulate(calls.begin(), calls.end(), std::int64_t{0})};
}

}  // namespace margrove
