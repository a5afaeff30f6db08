#include "margrove/solver/path_svm.hpp"

#include <algorithm>

#include "margrove/oracle/path_oracle.hpp"
#include "margrove/solver/bcfw.hpp"

namespace margrove {
namespace {

// An oracle below this many multiplications costs less than waking up a thread.
constexpr double kCheapOracle = 20'000;

BcfwOptions bcfw_options(const PathSvmOptions& options, const PathModel& model) {
  BcfwOptions bcfw;
  bcfw.C = options.C;
  bcfw.tolerance = options.tolerance;
  bcfw.max_passes = options.max_passes;
  bcfw.seed = options.seed;
  if (model.scorer().sweep_cost() < kCheapOracle) {
    bcfw.minibatch = 1;
    bcfw.cached_passes = 3;  // hardly cheaper than the oracle
  }
  return bcfw;
}

}  // namespace

PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha,
                             const PathSvmOptions& options, Executor& executor, RunControl& control,
                             std::span<const double> row_weights) {
  validate(options);
  const PathModel model(X, leaf_of_row, graph, alpha, parse_task_loss(options.task_loss));
  Bcfw solver(model, MarginRescaling{}, MarginSearch{}, bcfw_options(options, model), executor,
              control, row_weights);
  PathSvmResult result;
  result.fit = solver.run();
  result.weights = model.scorer().node_weights({solver.weights(), 1.0}, X.num_columns());
  return result;
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
