#include "outputs/path/path_svm.hpp"

#include <algorithm>

#include "outputs/path/bounded_path_oracle.hpp"
#include "outputs/path/leaf_search.hpp"
#include "outputs/scorer_training.hpp"
#include "structured/normalized_difference.hpp"

namespace margrove {
namespace {

// Below this many multiplications an oracle's scores are used where they are made. With threads
// each example pays for its scores twice, once for the search and once, by scattered reads, after
// the steps since: that takes longer than a sweep over 2,000 nodes.
constexpr double kCheapOracle = 1'000'000;

// Where a search that skips subtrees is worth keeping its bounds: on trees of so many nodes, and
// for rows so short (nonzeros on average) that the bounds, sums over a row's features, are tight.
constexpr std::uint32_t kManyNodes = 4000;
constexpr double kShortRow = 64;

}  // namespace

bool skips_subtrees(const CsrView& X, const LabelGraph& graph, const PathSvmOptions& options) {
  return options.surrogate == "margin" && options.solver == "bcfw" && graph.is_tree() &&
         graph.num_nodes() >= kManyNodes &&
         static_cast<double>(X.num_nonzeros()) <= kShortRow * static_cast<double>(X.num_rows());
}

PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha,
                             const PathSvmOptions& options, Executor& executor, RunControl& control,
                             std::span<const double> row_weights,
                             const Continuation& continuation) {
  validate(options);
  const bool by_margin = options.surrogate == "margin";
  const TaskLoss loss = by_margin ? parse_task_loss(options.task_loss) : TaskLoss::normalized;
  ScorerRun run = scorer_run(
      options, X,
      {graph, {alpha.begin(), alpha.end()}, by_margin ? options.task_loss : options.surrogate},
      row_weights, continuation, executor, control);
  const auto set_pace = [&run](const NodeScorer& scorer) {
    if (scorer.sweep_cost() >= kCheapOracle) return;
    run.bcfw.minibatch = 1;
    run.bcfw.cached_passes = 1;  // reads weights here and there: hardly cheaper than the sweep
  };
  if (skips_subtrees(X, graph, options)) {
    const BoundedPathModel model(X, leaf_of_row, graph, alpha, loss);
    set_pace(model.scorer());
    return train_by_bcfw(model, MarginRescaling{}, MarginSearch{}, run);
  }
  const PathModel model(X, leaf_of_row, graph, alpha, loss,
                        keeps_sums(options.solver, continuation));
  set_pace(model.scorer());
  return by_margin ? train_scorer_model(model, MarginRescaling{}, MarginSearch{}, run)
                   : train_scorer_model(model, NormalizedDifference{}, LeafSearch{}, run);
}

}  // namespace margrove
