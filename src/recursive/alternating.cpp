// Recursive regularisation by block coordinate descent over nodes (HR, algorithms 1 and 2).
//
//   min_w  regulariser(w) + C sum_l sum_i loss(y_il w_l.x_i)
//
// A Coupling is the regulariser. With all else fixed, target l minimises S_l/2 |w_l - m_l|^2 + C
// sum_i loss with the mean m_l and the strength S_l of the coupling, and the nodes without loss
// have a closed form. Both steps lower the objective.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/closing_time.hpp"
#include "data/csr_operations.hpp"
#include "linear/binary_linear.hpp"
#include "linear/point_loss.hpp"
#include "linear/used_columns.hpp"
#include "margrove/errors.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/coupling.hpp"
#include "recursive/leaf_paths.hpp"
#include "recursive/recursive.hpp"

namespace margrove {
namespace {

/// What both couplings have.
struct SharedProblem {
  const LabelSets& labels;
  std::span<const NodeId> targets;
  std::span<const double> row_weights;
  const PartialLabels& partial;
  std::uint32_t num_nodes;
  std::uint32_t num_columns;  // of the caller's X
};

template <class Coupling>
class AlternatingDescent {
 public:
  AlternatingDescent(const SharedProblem& shared, const detail::UsedColumns& used,
                     Coupling& coupling, const AlternatingOptions& options, Executor& executor,
                     RunControl& control)
      : shared_(shared),
        used_(used),
        X_(used.view()),
        tail_(detail::dense_tail(X_)),
        coupling_(coupling),
        options_(options),
        executor_(executor),
        control_(control),
        closing_(control),
        kind_(options.loss),
        squared_norms_(squared_norms(X_)),
        target_of_(shared.num_nodes, detail::kNoTarget),
        positives_(detail::rows_of_targets(shared.labels, shared.targets, shared.num_nodes,
                                           "alternating")),
        duals_(shared.targets.size()),
        losses_(shared.targets.size(), 0.0) {
    for (std::uint32_t t = 0; t < shared.targets.size(); ++t) target_of_[shared.targets[t]] = t;
    const double row_loss =
        options.C * visit_point_loss(kind_, [](auto loss) { return decltype(loss)::value(0.0); });
    const auto weight = [&](std::uint32_t i) {
      return shared.row_weights.empty() ? 1.0 : shared.row_weights[i];
    };
    double loss_at_zero = 0;
    for (std::uint32_t i = 0; i < X_.num_rows(); ++i) loss_at_zero += weight(i) * row_loss;
    for (std::uint32_t t = 0; t < losses_.size(); ++t) {
      losses_[t] = loss_at_zero;
      shared_.partial.for_each_without_sign(
          shared_.targets[t], [&](std::uint32_t i) { losses_[t] -= weight(i) * row_loss; });
    }
  }

  AlternatingFit run() {
    AlternatingFit fit;
    fit.primal = std::accumulate(losses_.begin(), losses_.end(), 0.0);
    inner_tolerance_ = kFirstInnerTolerance;
    while (fit.passes < options_.max_passes) {
      for (const auto group : coupling_.groups()) {
        executor_.for_each(group.size(), [&](std::size_t k, int) { solve_target(group[k]); });
      }
      coupling_.update_free_nodes(executor_, control_);
      const double before = fit.primal;
      fit.primal = coupling_.regulariser(executor_, closing_);
      for (const double loss : losses_) fit.primal += loss;
      if (!std::isnan(fit.primal)) fit.objectives.push_back(fit.primal);
      ++fit.passes;
      if (!control_.proceed(
              {.stage = "alternating", .done = fit.passes, .objective = fit.primal})) {
        fit.stop = control_.stop_reason();
        break;
      }
      const bool settled = before - fit.primal <= options_.tolerance * fit.primal;
      if (settled && inner_tolerance_ <= kLastInnerTolerance * options_.tolerance) break;
      inner_tolerance_ = std::max(inner_tolerance_ * 0.3, kLastInnerTolerance * options_.tolerance);
      if (fit.passes == options_.max_passes) fit.stop = Stop::pass_limit;
    }
    fit.weights = weights();
    return fit;
  }

 private:
  /// The weights of the rows for a target: 0 for those without a sign. `scratch` may hold them.
  std::span<const double> row_weights_of(std::uint32_t t, std::vector<double>& scratch) const {
    if (shared_.partial.empty()) return shared_.row_weights;
    scratch.assign(X_.num_rows(), 1.0);
    std::ranges::copy(shared_.row_weights, scratch.begin());
    shared_.partial.for_each_without_sign(shared_.targets[t],
                                          [&](std::uint32_t i) { scratch[i] = 0; });
    return scratch;
  }

  void solve_target(std::uint32_t t) {
    if (!control_.proceed()) return;
    std::vector<double> mean(X_.num_columns());
    coupling_.mean(t, mean);
    const double strength = coupling_.strength(t);
    const auto w = coupling_.weights(t);
    std::vector<double> prior_scores(X_.num_rows());
    for (std::size_t i = 0; i < prior_scores.size(); ++i) {
      const SparseRow x = X_.row(i);
      for (std::size_t k = 0; k < x.size(); ++k)
        prior_scores[i] += x.values[k] * mean[x.columns[k]];
    }
    std::vector<double> own_weights;
    BinaryProblem problem{.X = X_,
                          .tail = tail_,
                          .squared_norms = squared_norms_,
                          .positives = positives_[t],
                          .C = options_.C / strength,
                          .row_weights = row_weights_of(t, own_weights),
                          .prior_scores = prior_scores};
    BinaryState state;
    state.v.resize(mean.size());
    double start = 0;  // |w - m|^2 / 2 at the present w
    for (std::size_t j = 0; j < mean.size(); ++j) {
      state.v[j] = w[j] - mean[j];
      start += 0.5 * state.v[j] * state.v[j];
    }
    state.a = std::move(duals_[t]);
    const BinaryFit fit =
        solve_binary(problem, kind_, {.tolerance = inner_tolerance_, .seed = options_.seed + t},
                     state, control_);
    duals_[t] = std::move(state.a);
    double end = 0;
    for (const double v : state.v) end += 0.5 * v * v;
    // An unfinished dual method may end above its start; the objective must not rise.
    if (strength * fit.primal > strength * start + losses_[t]) return;
    losses_[t] = strength * (fit.primal - end);
    for (std::size_t j = 0; j < mean.size(); ++j) w[j] = static_cast<float>(mean[j] + state.v[j]);
  }

  /// The vectors of all nodes over the caller's columns, feature-major.
  WeightMatrix weights() {
    WeightMatrix W = WeightMatrix::dense(shared_.num_columns, shared_.num_nodes);
    const auto values = W.dense_values();
    executor_.for_ranges(
        X_.num_columns(), detail::kColumnGrain, [&](std::size_t begin, std::size_t end, int) {
          std::vector<double> v(end - begin);
          for (NodeId n = 0; n < shared_.num_nodes; ++n) {
            if (!coupling_.node_part(n, target_of_[n], begin, v)) continue;
            for (std::size_t j = begin; j < end; ++j) {
              values[static_cast<std::size_t>(used_.original()[j]) * shared_.num_nodes + n] =
                  static_cast<float>(v[j - begin]);
            }
          }
        });
    return std::move(W).compacted();
  }

  // The leaves are solved roughly while their neighbours still change.
  static constexpr double kFirstInnerTolerance = 0.1;
  static constexpr double kLastInnerTolerance = 0.3;  // times options.tolerance

  SharedProblem shared_;
  const detail::UsedColumns& used_;
  CsrView X_;
  std::uint32_t tail_;  // of X_
  Coupling& coupling_;
  const AlternatingOptions& options_;
  Executor& executor_;
  RunControl& control_;
  ClosingTime closing_;
  PointLossKind kind_;
  std::vector<double> squared_norms_;
  std::vector<std::uint32_t> target_of_;
  std::vector<std::vector<std::uint32_t>> positives_;
  std::vector<std::vector<double>> duals_;
  std::vector<double> losses_;  // C sum_i loss of each target at its present weights
  double inner_tolerance_ = 0.0;
};

template <class Coupling, class Problem>
AlternatingFit alternate(const Problem& problem, std::uint32_t num_nodes,
                         const AlternatingOptions& options, Executor& executor,
                         RunControl& control) {
  validate(options);
  detail::check_sizes(problem, "alternating");
  const detail::UsedColumns used(problem.X);
  Coupling coupling(problem, used.original().size());
  return AlternatingDescent<Coupling>({*problem.labels, problem.targets, problem.row_weights,
                                       *problem.partial, num_nodes, problem.X.num_columns()},
                                      used, coupling, options, executor, control)
      .run();
}

}  // namespace

SimilarityGraph SimilarityGraph::of_hierarchy(const LabelGraph& graph) {
  SimilarityGraph similar;
  similar.num_nodes = graph.num_nodes();
  similar.anchors.assign(graph.num_nodes(), 0.0);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    for (const NodeId p : graph.parents(n)) similar.edges.push_back({p, n, 1.0});
    if (graph.is_root(n)) similar.anchors[n] = 1.0;
  }
  return similar;
}

AlternatingFit train_alternating(const AdditiveProblem& problem, const AlternatingOptions& options,
                                 Executor& executor, RunControl& control) {
  require(problem.alpha.size() == problem.graph->num_nodes(), "alternating: ", problem.alpha.size(),
          " node weights, but ", problem.graph->num_nodes(), " nodes");
  return alternate<detail::AdditiveCoupling>(problem, problem.graph->num_nodes(), options, executor,
                                             control);
}

AlternatingFit train_alternating(const SimilarityProblem& problem,
                                 const AlternatingOptions& options, Executor& executor,
                                 RunControl& control) {
  return alternate<detail::GraphCoupling>(problem, problem.graph->num_nodes, options, executor,
                                          control);
}

}  // namespace margrove
