#include "outputs/shared_norm_svm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "base/closing_time.hpp"
#include "base/out_of_time.hpp"
#include "hierarchy/shared_norm.hpp"
#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_svm.hpp"
#include "structured/structured_fit.hpp"
#include "structured/train_by_bcfw.hpp"

namespace margrove {
namespace {

constexpr double kShare = 0.2;    // the tolerance of a step in W as a share of the joint gap
constexpr double kClosed = 1e-7;  // node weights below this are not raised by the step in alpha
constexpr double kOpening =
    0.2;  // first share of bound.alpha in alpha when such weights are raised
constexpr std::size_t kExamplesPerCheck = 64;
constexpr int kMaxSharpenings = 8;  // repetitions of a step that did not lower the objective

// All node weights are equal, and the longest path has the largest path sum allowed, 1.
std::vector<double> equal_weights(const LabelGraph& graph) {
  std::size_t longest = 1;
  for (const NodeId leaf : graph.leaves()) {
    longest = std::max(longest, graph.ancestors(leaf).size());
  }
  return std::vector<double>(graph.num_nodes(), 1.0 / static_cast<double>(longest));
}

// make_model(alpha) returns the structured model for fixed node weights.
template <class Model, class MakeModel>
class SharedNormAlternation {
 public:
  SharedNormAlternation(const MakeModel& make_model, const LabelGraph& graph,
                        const SharedNormSvmOptions& options, Executor& executor,
                        RunControl& control, std::span<const double> row_weights)
      : make_model_(make_model),
        graph_(graph),
        options_(options),
        executor_(executor),
        control_(control),
        closing_(control),
        row_weights_(row_weights),
        weight_step_(graph) {}

  SharedNormSvmResult run(std::uint32_t num_features) {
    double inner_tolerance = 0.1, opening = kOpening;
    State state = solve(equal_weights(graph_), nullptr, inner_tolerance);
    double dual = 0.0;
    StructuredFit fit;
    std::vector<double> objectives{state.primal};
    int round = 0;
    for (;; ++round) {
      // The objective is not known where the time limit ended the first step.
      const auto bound = std::isfinite(state.primal) ? joint_bound(state) : std::nullopt;
      if (!bound) {
        fit.relative_gap = dual = std::numeric_limits<double>::quiet_NaN();
        break;
      }
      dual = std::max(dual, losses(state) - 0.5 * bound->value);
      const double gap = std::max(0.0, state.primal - dual);
      fit.relative_gap = gap > 0 ? gap / state.primal : 0.0;
      if (fit.relative_gap <= options_.tolerance || round == options_.max_rounds) break;
      Progress progress;
      progress.stage = "shared-norm";
      progress.done = round;
      progress.total = options_.max_rounds;
      progress.unit = Progress::Unit::rounds;
      progress.objective = state.primal;
      progress.relative_gap = fit.relative_gap;
      if (!control_.proceed(progress)) break;
      inner_tolerance = std::min(inner_tolerance, kShare * fit.relative_gap);
      if (!advance(state, *bound, inner_tolerance, opening)) {
        fit.stop = Stop::stalled;
        break;
      }
      objectives.push_back(state.primal);
    }
    fit.primal = state.primal;
    fit.dual = dual;
    fit.certified = state.certified;
    fit.stop =
        stop_of(fit, options_.tolerance, control_.proceed() ? fit.stop : control_.stop_reason());
    fit.passes = passes_;
    fit.oracle_calls = oracle_calls_;
    SharedNormSvmResult result;
    result.weights = state.model->scorer().node_weights({state.weights, 1.0}, num_features);
    result.alpha = std::move(state.alpha);
    result.fit = fit;
    result.objectives = std::move(objectives);
    return result;
  }

 private:
  using Duals = BcfwState<typename Model::Labelling, AnyProblem>;

  struct State {
    std::shared_ptr<const Model> model;
    std::vector<double> alpha;
    std::vector<float> weights;         // W under alpha
    std::vector<double> squared_norms;  // ||W_n||^2
    std::shared_ptr<const FitState> duals;
    double primal = 0.0;  // joint objective
    bool certified = false;
    const auto& sets() const { return duals->as<Duals>()->sets; }
  };

  // The step in W: BCFW from the earlier dual variables, which are feasible for any alpha.
  State solve(std::vector<double> alpha, const FitState* duals, double tolerance) {
    const auto model = std::make_shared<const Model>(make_model_(alpha));
    const StructuredTraining training{.C = options_.C,
                                      .tolerance = tolerance,
                                      .max_passes = options_.max_passes,
                                      .seed = options_.seed};
    const StructuredInputs<Model> inputs{.example_weights = row_weights_,
                                         .continuation = {.start = duals, .keep = true}};
    StructuredResult found = train_by_bcfw(*model, MarginRescaling{}, MarginSearch{}, training,
                                           inputs, executor_, control_);
    passes_ += found.fit.passes;
    oracle_calls_ += found.fit.oracle_calls;
    State state;
    state.squared_norms = model->scorer().squared_norms({found.weights, 1.0});
    state.model = model;
    state.alpha = std::move(alpha);
    state.duals = std::move(found.state);
    state.weights = std::move(found.weights);
    state.primal = found.fit.primal;
    state.certified = found.fit.certified;
    return state;
  }

  // One step in alpha and the step in W after it. False if they cannot lower the objective.
  bool advance(State& state, const WeightBound& bound, double& tolerance, double& opening) {
    std::vector<double> squared_norms(state.alpha.size());
    for (std::size_t n = 0; n < state.alpha.size(); ++n) {
      squared_norms[n] = state.alpha[n] * state.squared_norms[n];  // ||U_n||^2
    }
    SharedNormOptions weight_options;
    weight_options.gap_tolerance = std::min(1e-6, 0.1 * options_.tolerance);
    const std::vector<double> alpha =
        weight_step_.weights(squared_norms, weight_options, &control_).alpha;
    bool closed = false;
    for (std::size_t n = 0; n < alpha.size(); ++n) {
      closed = closed || (alpha[n] < kClosed && bound.alpha[n] > kClosed);
    }
    for (int attempt = 0; attempt < kMaxSharpenings && control_.proceed(); ++attempt) {
      std::vector<double> next = alpha;
      if (closed && opening > kClosed) {
        // A move towards the maximiser in the joint dual is feasible and a direction of descent.
        for (std::size_t n = 0; n < next.size(); ++n) {
          next[n] = (1 - opening) * next[n] + opening * bound.alpha[n];
        }
      }
      State found = solve(std::move(next), state.duals.get(), tolerance);
      if (found.primal <= state.primal) {
        state = std::move(found);
        return true;
      }
      tolerance *= 0.3;
      opening *= 0.3;
    }
    return false;
  }

  // max_alpha sum alpha_n ||g_n||^2 at the current dual variables; none if there is no time for it.
  std::optional<WeightBound> joint_bound(const State& state) {
    if (!closing_.proceed()) return std::nullopt;
    if (!unweighted_) unweighted_ = make_model_(std::vector<double>(graph_.num_nodes(), 1.0));
    std::vector<float> g(unweighted_->num_weights(), 0.0F);
    std::vector<double> coefficients;
    for (std::size_t i = 0; i < state.sets().size(); ++i) {
      if (i % kExamplesPerCheck == 0 && !closing_.proceed()) return std::nullopt;
      const auto& set = state.sets()[i];
      coefficients.assign(set.duals.begin(), set.duals.end());
      for (double& each : coefficients) each = -each;
      if (set.size() > 0) {
        unweighted_->add_differences(i, set.labellings, coefficients, workspace_, g);
      }
    }
    try {
      return weight_step_.largest_weighted_sum(unweighted_->scorer().squared_norms({g, 1.0}),
                                               &control_);
    } catch (const OutOfTime&) {
      return std::nullopt;
    }
  }

  static double losses(const State& state) {
    double sum = 0.0;
    for (const auto& set : state.sets()) {
      for (std::size_t k = 0; k < set.size(); ++k) sum += set.duals[k] * set.offsets[k];
    }
    return sum;
  }

  const MakeModel& make_model_;
  const LabelGraph& graph_;
  const SharedNormSvmOptions& options_;
  Executor& executor_;
  RunControl& control_;
  ClosingTime closing_;
  std::span<const double> row_weights_;
  std::optional<Model> unweighted_;  // alpha = 1, to compute g
  typename Model::Workspace workspace_;
  SharedNormStep weight_step_;
  int passes_ = 0;
  std::int64_t oracle_calls_ = 0;
};

template <class Model, class MakeModel>
SharedNormSvmResult alternate(const MakeModel& make_model, const CsrView& X,
                              const LabelGraph& graph, const SharedNormSvmOptions& options,
                              Executor& executor, RunControl& control,
                              std::span<const double> row_weights) {
  validate(options);
  return SharedNormAlternation<Model, MakeModel>(make_model, graph, options, executor, control,
                                                 row_weights)
      .run(X.num_columns());
}

// N_n = ||U_n||^2
std::vector<double> node_squared_norms(const WeightMatrix& U) {
  std::vector<double> N(U.num_nodes(), 0.0);
  for (FeatureId j = 0; j < U.num_features(); ++j) {
    U.for_each_of(j, [&](NodeId n, float u) { N[n] += static_cast<double>(u) * u; });
  }
  return N;
}

}  // namespace

SharedNormSvmResult train_shared_norm_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                                          const LabelGraph& graph,
                                          const SharedNormSvmOptions& options, Executor& executor,
                                          RunControl& control, std::span<const double> row_weights,
                                          std::span<const double> costs) {
  const LeafLoss loss{options.task_loss, costs};
  const NodeStorage storage = node_storage(X, graph, equal_weights(graph), {}, {});
  const auto make_model = [&](std::span<const double> alpha) {
    return PathModel(X, leaf_of_row, graph, alpha, loss, storage);
  };
  return alternate<PathModel>(make_model, X, graph, options, executor, control, row_weights);
}

SharedNormSvmResult train_shared_norm_svm(const CsrView& X, const LabelSets& leaves_of_row,
                                          const LabelGraph& graph,
                                          const SharedNormSvmOptions& options, Executor& executor,
                                          RunControl& control,
                                          std::span<const double> row_weights) {
  const NodeStorage storage = node_storage(X, graph, equal_weights(graph), {}, {});
  const auto make_model = [&](std::span<const double> alpha) {
    return LabelSetModel(X, leaves_of_row, graph, alpha, storage);
  };
  return alternate<LabelSetModel>(make_model, X, graph, options, executor, control, row_weights);
}

SharedNormSvmResult train_shared_norm_svm_by_sgd(const CsrView& X,
                                                 std::span<const NodeId> leaf_of_row,
                                                 const LabelGraph& tree,
                                                 const SharedNormSgdOptions& options,
                                                 Executor& executor, RunControl& control,
                                                 std::span<const double> row_weights) {
  validate(options);
  require(tree.is_tree(), "shared norm: some nodes have several parents, but sgd is for trees");
  const StructuredTraining training{.solver = StructuredSolver::sgd,
                                    .C = options.C,
                                    .epochs = options.epochs,
                                    .seed = options.seed};
  const SharedNormStep step(tree);
  std::vector<double> alpha = equal_weights(tree);
  SharedNormSvmResult result;
  int passes = 0;
  std::int64_t oracle_calls = 0;
  for (int round = 0;; ++round) {
    PathSvmResult found = train_path_svm(X, leaf_of_row, tree, alpha, options.task_loss, training,
                                         executor, control, row_weights);
    passes += found.fit.passes;
    oracle_calls += found.fit.oracle_calls;
    if (round > 0 && is_cut_short(found.fit.stop)) {  // its weights are on the way from 0
      result.fit.stop = found.fit.stop;
      break;
    }
    result.weights = std::move(found.weights);
    result.alpha = std::move(alpha);
    result.fit = found.fit;
    result.objectives.push_back(found.fit.primal);
    if (round == options.max_rounds || !std::isfinite(found.fit.primal)) break;
    Progress progress;
    progress.stage = "shared-norm";
    progress.done = round;
    progress.total = options.max_rounds;
    progress.unit = Progress::Unit::rounds;
    progress.objective = found.fit.primal;
    if (!control.proceed(progress)) {
      result.fit.stop = control.stop_reason();
      break;
    }
    const std::vector<double> N = node_squared_norms(result.weights);
    alpha = options.printed ? printed_shared_weights(tree, N) : step.weights(N).alpha;
  }
  result.fit.passes = passes;
  result.fit.oracle_calls = oracle_calls;
  return result;
}

}  // namespace margrove
