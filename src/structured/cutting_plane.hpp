#pragma once
// Cutting planes for structured SVMs with a surrogate that is convex in the margin violation.
//
//   n slacks [Tsochantaridis2005]
//     primal  min ||w||^2 / 2 + C sum_i c_i xi_i,  xi_i >= <w, a_c> + b_c for the cuts c of i,
//     dual    max sum_c alpha_c b_c - ||sum_c alpha_c a_c||^2 / 2,
//             alpha >= 0, sum of alpha_c over the cuts c of i <= C c_i;  w = -sum_c alpha_c a_c.
//   1 slack [Joachims2009]
//     one xi for the sum of all examples; a cut is the sum of one cut per example.
//
// Algorithm 1 of [Tsochantaridis2005] and Algorithm 3 of [Joachims2009]:
//
//   1    y_i = argmax_y psi_i(y; w) for every example
//   2    add the cuts at y_i to the working sets, if they are violated by more than the slacks
//   3    alpha = argmax of the dual over the working sets, w = w(alpha)
//        and again from line 1 until no cut is violated
//
// The cut at y_i is the tangent of psi in m: a = psi_m d_iy and b = psi - psi_m <w, d_iy>. It
// equals psi for affine surrogates. We deviate as follows. With n slacks, line 3 follows line 2 for
// all examples instead of each. It is as accurate as the duality gap needs, and this gap ends
// training.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/out_of_time.hpp"
#include "margrove/control.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "structured/oracle.hpp"
#include "structured/search.hpp"
#include "structured/simplex_block.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

struct CuttingPlaneOptions {
  double C = 1.0;
  double tolerance = 1e-3;  // relative duality gap to stop at, (primal - dual) / primal
  int max_rounds = 500;     // each with one search per example and a quadratic programme
  bool one_slack = false;   // one for all examples, which takes a dense vector per round

  /// No front end shows these options.
  static auto fields() {
    using O = CuttingPlaneOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_rounds", &O::max_rounds, at_least(1), {}),
    };
  }
};

namespace detail {

inline constexpr int kMaxSweeps = 2000;  // over the blocks of one quadratic programme
/// Of a programme of 1 slack, about 0.05 s; the next round's continues from there. Without this
/// limit, dozens of rows take seconds where C times the squared norm of a row is about 1e12.
inline constexpr double kMaxMultiplications = 1e8;

inline double product(std::span<const float> w, const SparseVector& a) { return dot({w, 1.0}, a); }
inline double product(const SparseVector& a, const SparseVector& b) { return dot(a, b); }
inline double product(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < a.size(); ++k) {
    sum += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  }
  return sum;
}

inline void subtract(double alpha, const SparseVector& a, std::span<double> w) {
  for (std::size_t m = 0; m < a.indices.size(); ++m) {
    w[a.indices[m]] -= alpha * static_cast<double>(a.values[m]);
  }
}
inline void subtract(double alpha, std::span<const float> a, std::span<double> w) {
  for (std::size_t j = 0; j < w.size(); ++j) w[j] -= alpha * static_cast<double>(a[j]);
}

/// A loss is at least <w, a> + b.
template <class Vector>
struct Cut {
  Vector a;  // sorted if it is sparse
  double b;
};

/// The cuts that share a slack.
template <class Vector>
struct WorkingSet {
  std::vector<Cut<Vector>> cuts;
  SimplexBlock qp;

  double slack(std::span<const float> w) const {
    double slack = 0.0;
    for (const auto& cut : cuts) slack = std::max(slack, product(w, cut.a) + cut.b);
    return slack;
  }
  bool is_violated(double loss, std::span<const float> w) const {
    const double xi = slack(w);
    return loss > xi + 1e-9 * (1.0 + xi);
  }
  void add(Cut<Vector> cut) {
    const std::size_t before = cuts.size(), size = before + 1;
    cuts.push_back(std::move(cut));
    std::vector<double> Q(size * size);
    for (std::size_t j = 0; j < before; ++j) std::copy_n(&qp.Q[j * before], before, &Q[j * size]);
    for (std::size_t j = 0; j < size; ++j) {
      Q[j * size + before] = Q[before * size + j] = product(cuts[j].a, cuts[before].a);
    }
    qp.Q = std::move(Q);
    qp.duals.push_back(0.0);
  }
};
using ExampleSet = WorkingSet<SparseVector>;

/// Drops the cuts without weight once there are many.
inline void drop_unused(ExampleSet& set) {
  constexpr std::size_t kMany = 20;
  const std::size_t size = set.cuts.size();
  if (size < kMany) return;
  const std::vector<double> duals = set.qp.duals, Q = std::exchange(set.qp.Q, {});
  for (std::size_t j = 0; j < size * size; ++j) {
    if (duals[j / size] > 0.0 && duals[j % size] > 0.0) set.qp.Q.push_back(Q[j]);
  }
  for (std::size_t k = size; k-- > 0;) {
    if (!(duals[k] > 0.0)) set.cuts.erase(set.cuts.begin() + static_cast<std::ptrdiff_t>(k));
  }
  std::erase_if(set.qp.duals, [](double dual) { return !(dual > 0.0); });
}

/// Keeps w = w(alpha). Returns the gap that the example had before.
inline double maximise_over(ExampleSet& set, std::span<float> w) {
  const std::size_t size = set.cuts.size();
  set.qp.values.resize(size);
  for (std::size_t k = 0; k < size; ++k) {
    set.qp.values[k] = product(w, set.cuts[k].a) + set.cuts[k].b;
  }
  const double gap = set.qp.gap();
  if (gap <= 0.0) return 0.0;
  const std::vector<double> before = set.qp.duals;
  pairwise_steps(set.qp, 0.05, 10 * static_cast<int>(size));
  for (std::size_t k = 0; k < size; ++k) {
    const double step = before[k] - set.qp.duals[k];
    if (step != 0.0) add_scaled(step, set.cuts[k].a, w);
  }
  return gap;
}

/// The dual over working sets.
template <class Vector>
class WorkingSetDual {
 public:
  explicit WorkingSetDual(std::size_t num_sets) : sets_(num_sets) {}
  /// w = w(alpha); returns the dual objective. The steps of maximise() leave errors in float32
  /// weights, of which the dual must be free: w is summed in float64 and rounded at the end.
  double set_weights(std::span<float> w) {
    exact_.assign(w.size(), 0.0);
    double dual = 0.0;
    for (const auto& set : sets_) {
      for (std::size_t k = 0; k < set.cuts.size(); ++k) {
        if (set.qp.duals[k] != 0.0) subtract(set.qp.duals[k], set.cuts[k].a, exact_);
      }
    }
    for (const double each : exact_) dual -= 0.5 * each * each;
    for (const auto& set : sets_) {
      for (std::size_t k = 0; k < set.cuts.size(); ++k) dual += set.cuts[k].b * set.qp.duals[k];
    }
    for (std::size_t j = 0; j < w.size(); ++j) w[j] = static_cast<float>(exact_[j]);
    return dual;
  }

 protected:
  std::vector<WorkingSet<Vector>> sets_;

 private:
  std::vector<double> exact_;  // w(alpha)
};

/// n slacks: a working set and a block of the dual for each example.
class NSlackDual final : public WorkingSetDual<SparseVector> {
 public:
  NSlackDual(double C, std::span<const double> example_weights)
      : WorkingSetDual(example_weights.size()) {
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      sets_[i].qp.budget = sets_[i].qp.rest = C * example_weights[i];
    }
  }
  double slack(std::size_t i, std::span<const float> w) const { return sets_[i].slack(w); }
  /// Adds the cuts that are violated at w by more than the slack; false if there are none. loss(i)
  /// at w and tangent(i), the cut, are those of example i.
  bool add_cuts(std::span<const float> w, std::span<const double> example_weights, const auto& loss,
                const auto& tangent) {
    bool any = false;
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      if (!(example_weights[i] > 0.0) || !sets_[i].is_violated(loss(i), w)) continue;
      drop_unused(sets_[i]);
      sets_[i].add(tangent(i));
      any = true;
    }
    return any;
  }
  /// Raises the dual until it can rise by at most `gap`; false if that takes too long. w: w(alpha),
  /// up to rounding; with 1 slack it is neither used nor changed.
  bool maximise(double gap, std::span<float> w, RunControl& control) {
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      double left = 0.0;
      for (ExampleSet& set : sets_) {
        if (!control.proceed()) return true;
        if (!set.cuts.empty()) left += maximise_over(set, w);
      }
      if (left <= gap) return true;
    }
    return false;
  }
};

/// 1 slack: a working set whose cuts are sums over all examples.
class OneSlackDual final : public WorkingSetDual<std::vector<float>> {
 public:
  explicit OneSlackDual(double C) : WorkingSetDual(1) { sets_[0].qp.budget = sets_[0].qp.rest = C; }
  double slack(std::size_t, std::span<const float>) const { return 0.0; }
  bool add_cuts(std::span<const float> w, std::span<const double> example_weights, const auto& loss,
                const auto& tangent) {
    Cut<std::vector<float>> sum{std::vector<float>(w.size(), 0.0F), 0.0};
    for (std::size_t i = 0; i < example_weights.size(); ++i) {
      if (!(example_weights[i] * loss(i) > 0.0)) continue;
      const auto cut = tangent(i);
      add_scaled(example_weights[i], cut.a, sum.a);
      sum.b += example_weights[i] * cut.b;
    }
    if (!sets_[0].is_violated(product(w, sum.a) + sum.b, w)) return false;
    sets_[0].add(std::move(sum));
    return true;
  }
  bool maximise(double gap, std::span<float>, RunControl& control) {
    SimplexBlock& qp = sets_[0].qp;
    const std::size_t size = qp.size();
    qp.values.resize(size);
    for (std::size_t j = 0; j < size; ++j) {
      qp.values[j] = sets_[0].cuts[j].b;
      for (std::size_t k = 0; k < size; ++k) qp.values[j] -= qp.Q[j * size + k] * qp.duals[k];
    }
    const int steps = 100 * static_cast<int>(size);
    double done = 0;
    while (done < kMaxMultiplications && qp.gap() > gap && control.proceed()) {
      pairwise_steps(qp, 1e-6, steps);
      done += 2.0 * steps * static_cast<double>(size);
    }
    return true;
  }
};

}  // namespace detail

/// One solver run. Model, executor and control must outlive it. If a search has a member `slack`
/// (Sarawagi-Gupta), the solver sets it to the example's present slack before each call.
template <StructuredModel Model, Surrogate Psi, class Search>
class CuttingPlane {
 public:
  using Labelling = typename Model::Labelling;

  /// example_weights: factors c_i >= 0 of the examples' losses; empty for all 1.
  CuttingPlane(const Model& model, Psi psi, Search search, const CuttingPlaneOptions& options,
               Executor& executor, RunControl& control,
               std::span<const double> example_weights = {})
      : model_(model),
        psi_(std::move(psi)),
        options_(options),
        executor_(executor),
        control_(control),
        example_weights_(example_weights.begin(), example_weights.end()),
        w_(model.num_weights(), 0.0F),
        dual_(detail::OneSlackDual(options.C)),
        caches_(model.num_examples()),
        found_(model.num_examples()),
        searches_(static_cast<std::size_t>(executor.size()), search),
        workspaces_(static_cast<std::size_t>(executor.size())) {
    validate(options);
    check_example_weights(example_weights, model.num_examples(), "cutting planes");
    if (example_weights.empty()) example_weights_.assign(model.num_examples(), 1.0);
    if (!options.one_slack) dual_.emplace<detail::NSlackDual>(options.C, example_weights_);
    watch(workspaces_, control);
  }

  /// The first round searches at these weights instead of 0. Throws InvalidInput if their number
  /// differs.
  void start_at(std::span<const float> weights) {
    require(weights.size() == w_.size(), "cutting planes: start of ", weights.size(),
            " weights, but must be ", w_.size());
    w_.assign(weights.begin(), weights.end());
  }

  StructuredFit run() {
    StructuredFit fit;
    fit.dual = 0.0;
    fit.primal = std::numeric_limits<double>::infinity();
    try {
      run_rounds(fit);
    } catch (const OutOfTime&) {  // the weights are those of the rounds before
      if (fit.passes == 0) fit.primal = std::numeric_limits<double>::quiet_NaN();
    }
    if (best_.empty()) best_ = w_;
    fit.oracle_calls = oracle_calls_;
    fit.stop =
        stop_of(fit, options_.tolerance, control_.proceed() ? fit.stop : control_.stop_reason());
    return fit;
  }

  /// The weights with the smallest primal so far.
  const std::vector<float>& weights() const { return best_; }

 private:
  /// Training ends after this many consecutive rounds whose quadratic programme used up its sweeps
  /// without a larger dual: where columns have very different scales, the rounding of the weights
  /// can be larger than all steps.
  static constexpr int kMaxStuckRounds = 3;

  void run_rounds(StructuredFit& fit) {
    bool was_accurate = false;
    while (fit.passes < options_.max_rounds) {
      record(search_all(), fit);  // line 1
      if (fit.relative_gap <= options_.tolerance || !report(fit)) return;
      const bool has_new = add_cuts();     // line 2
      if (fit.passes == 1) set_weights();  // 0 instead of those of start_at()
      // Without new cuts, line 3 may have been too rough, and it is done accurately once. If there
      // are still none, the searches do not find the labellings that would close the gap.
      if ((!has_new && was_accurate) || !maximise_dual(has_new, fit)) {  // line 3
        fit.stop = Stop::stalled;
        return;
      }
      was_accurate = !has_new;
    }
  }

  void record(double primal, StructuredFit& fit) {
    ++fit.passes;
    if (primal < fit.primal) {
      fit.primal = primal;
      fit.certified = is_exact_;
      best_ = w_;
    }
    fit.relative_gap = fit.primal > 0 ? (fit.primal - fit.dual) / fit.primal : 0.0;
  }

  bool report(const StructuredFit& fit) {
    return control_.proceed({.stage = "cutting-plane",
                             .done = fit.passes,
                             .total = options_.max_rounds,
                             .unit = Progress::Unit::rounds,
                             .objective = fit.primal,
                             .relative_gap = fit.relative_gap});
  }

  // Fills found_; returns the primal objective at w_.
  double search_all() {
    const double loss = executor_.ordered_sum(found_.size(), [&](std::size_t i, int worker) {
      end_if_out_of_time(&control_);
      Search& search = searches_[worker];
      if constexpr (requires { search.slack; }) {
        search.slack = std::visit([&](const auto& dual) { return dual.slack(i, w_); }, dual_);
      }
      found_[i] = search(model_.oracle(i, {w_, 1.0}, workspaces_[worker]), psi_, caches_[i]);
      return example_weights_[i] * found_[i].value;
    });
    is_exact_ = true;
    for (const auto& found : found_) {
      oracle_calls_ += found.oracle_calls;
      is_exact_ = is_exact_ && found.upper_bound <= found.value * (1 + 1e-9);
    }
    return 0.5 * squared_norm({w_, 1.0}) + options_.C * loss;
  }

  double set_weights() {
    return std::visit([&](auto& dual) { return dual.set_weights(w_); }, dual_);
  }
  bool add_cuts() {
    const auto loss = [&](std::size_t i) { return found_[i].value; };
    const auto cut = [&](std::size_t i) { return tangent(i); };
    return std::visit([&](auto& dual) { return dual.add_cuts(w_, example_weights_, loss, cut); },
                      dual_);
  }

  // The cut of example i at the labelling found.
  detail::Cut<SparseVector> tangent(std::size_t i) const {
    end_if_out_of_time(&control_);
    const auto& best = found_[i].best;
    const double slope = psi_.derivative_m(best.m, best.g);
    detail::Cut<SparseVector> cut{{}, found_[i].value - slope * (best.m - best.constant)};
    model_.difference(i, best.y, cut.a);
    sort_indices(cut.a);
    for (float& value : cut.a.values)
      value = static_cast<float>(slope * static_cast<double>(value));
    return cut;
  }

  // Returns false after kMaxStuckRounds.
  bool maximise_dual(bool has_new_cuts, StructuredFit& fit) {
    const double gap =
        has_new_cuts ? 0.1 * (fit.primal - fit.dual) : 1e-2 * options_.tolerance * fit.primal;
    const bool is_done =
        std::visit([&](auto& dual) { return dual.maximise(gap, w_, control_); }, dual_);
    const double before = std::exchange(fit.dual, set_weights());
    const bool has_risen = fit.dual - before > 1e-6 * (fit.primal - before);
    stuck_rounds_ = is_done || has_risen ? 0 : stuck_rounds_ + 1;
    return stuck_rounds_ < kMaxStuckRounds;
  }

  const Model& model_;
  Psi psi_;
  CuttingPlaneOptions options_;
  Executor& executor_;
  RunControl& control_;

  std::vector<double> example_weights_;
  std::vector<float> w_, best_;
  std::variant<detail::OneSlackDual, detail::NSlackDual> dual_;
  int stuck_rounds_ = 0;
  std::int64_t oracle_calls_ = 0;
  bool is_exact_ = false;  // whether every search of the last round was

  std::vector<LabelCache<Labelling>> caches_;
  std::vector<SearchResult<Labelling>> found_;
  std::vector<Search> searches_;
  std::vector<typename Model::Workspace> workspaces_;
};

}  // namespace margrove
