#include "margrove/solver/path_svm.hpp"

#include <algorithm>

#include "margrove/loss/normalized_difference.hpp"
#include "margrove/oracle/path_oracle.hpp"
#include "margrove/search/leaf_search.hpp"
#include "margrove/solver/bcfw.hpp"
#include "margrove/solver/sgd.hpp"

namespace margrove {
namespace {

// Below this many multiplications an oracle's scores are used where they are made: with threads,
// each example would pay for its scores twice (once for the search, once after the steps since).
constexpr double kCheapOracle = 100'000;

BcfwOptions bcfw_options(const PathSvmOptions& options, const PathModel& model) {
  BcfwOptions bcfw;
  bcfw.C = options.C;
  bcfw.tolerance = options.tolerance;
  bcfw.max_passes = options.max_passes;
  bcfw.seed = options.seed;
  if (model.scorer().sweep_cost() < kCheapOracle) {
    bcfw.minibatch = 1;
    bcfw.cached_passes = 1;  // reads weights here and there: hardly cheaper than the oracle's sweep
  }
  return bcfw;
}

template <class Psi, class Search>
PathSvmResult train(const PathModel& model, Psi psi, Search search, const PathSvmOptions& options,
                    std::uint32_t num_features, Executor& executor, RunControl& control,
                    std::span<const double> row_weights) {
  PathSvmResult result;
  if (options.solver == "sgd" && model.num_examples() > 0) {
    SgdOptions sgd;
    sgd.C = options.C;
    sgd.max_passes = options.epochs;
    sgd.seed = options.seed;
    Sgd solver(model, psi, search, sgd, executor, control, row_weights);
    result.fit = solver.run();
    // All epochs made is the whole of what was asked for: there is no tolerance to miss.
    if (result.fit.stop == Stop::pass_limit) result.fit.stop = Stop::converged;
    const std::vector<float> w = solver.weights();
    const StructuredObjective objective =
        structured_objective(model, psi, search, options.C, {w, 1.0}, executor, row_weights);
    result.fit.primal = objective.value;
    result.fit.oracle_calls += objective.oracle_calls;
    result.weights = model.scorer().node_weights({w, 1.0}, num_features);
    return result;
  }
  Bcfw solver(model, psi, search, bcfw_options(options, model), executor, control, row_weights);
  result.fit = solver.run();
  result.weights = model.scorer().node_weights({solver.weights(), 1.0}, num_features);
  return result;
}

}  // namespace

PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha,
                             const PathSvmOptions& options, Executor& executor, RunControl& control,
                             std::span<const double> row_weights) {
  validate(options);
  const bool by_margin = options.surrogate == "margin";
  const TaskLoss loss = by_margin ? parse_task_loss(options.task_loss) : TaskLoss::normalized;
  const PathModel model(X, leaf_of_row, graph, alpha, loss);
  if (by_margin) {
    return train(model, MarginRescaling{}, MarginSearch{}, options, X.num_columns(), executor,
                 control, row_weights);
  }
  return train(model, NormalizedDifference{}, LeafSearch{}, options, X.num_columns(), executor,
               control, row_weights);
}

std::size_t path_svm_bytes(const CsrView& X, const LabelGraph& graph,
                           std::span<const double> alpha) {
  std::vector<bool> occurs(X.num_columns(), false);
  for (const FeatureId feature : X.columns()) occurs[feature] = true;
  const auto rows = static_cast<std::size_t>(std::count(occurs.begin(), occurs.end(), true));
  const auto columns = static_cast<std::size_t>(
      std::count_if(alpha.begin(), alpha.end(), [](double each) { return each > 0; }));
  const std::size_t leaves = graph.leaves().size();
  return rows * (columns + 15) * sizeof(float) +
         static_cast<std::size_t>(X.num_nonzeros()) * (sizeof(FeatureId) + sizeof(float)) +
         (leaves <= 2048 ? leaves * leaves * sizeof(double) : 0);
}

}  // namespace margrove
