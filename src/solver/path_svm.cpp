#include "margrove/solver/path_svm.hpp"

#include <algorithm>

#include "margrove/loss/normalized_difference.hpp"
#include "margrove/oracle/path_oracle.hpp"
#include "margrove/search/leaf_search.hpp"
#include "scorer_training.hpp"

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

}  // namespace

PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha,
                             const PathSvmOptions& options, Executor& executor, RunControl& control,
                             std::span<const double> row_weights,
                             const Continuation& continuation) {
  validate(options);
  const bool by_margin = options.surrogate == "margin";
  const TaskLoss loss = by_margin ? parse_task_loss(options.task_loss) : TaskLoss::normalized;
  const PathModel model(X, leaf_of_row, graph, alpha, loss,
                        keeps_sums(options.solver, continuation));
  const ScorerRun run{
      .problem = {graph,
                  {alpha.begin(), alpha.end()},
                  by_margin ? options.task_loss : options.surrogate},
      .solver = options.solver,
      .bcfw = bcfw_options(options, model),
      .epochs = options.epochs,
      .num_features = X.num_columns(),
      .continuation = continuation,
      .row_weights = row_weights,
      .executor = executor,
      .control = control,
  };
  return by_margin ? train_scorer_model(model, MarginRescaling{}, MarginSearch{}, run)
                   : train_scorer_model(model, NormalizedDifference{}, LeafSearch{}, run);
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
