#include "outputs/path/path_svm.hpp"

#include <algorithm>

#include "outputs/path/bounded_path_oracle.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_solver.hpp"
#include "structured/train_structured.hpp"

namespace margrove {
namespace {

// Oracles below this many multiplications run one at a time, so that the search and the step share
// the scores. In parallel, the weights change between search and step, so that the step would
// compute scores again, by scattered reads. That takes longer than a pass over 2,000 nodes.
constexpr double kCheapOracle = 1'000'000;

// Bounds that skip subtrees pay off on trees with at least kManyNodes nodes if rows have at most
// kShortRow nonzeros on average. The bounds, which are sums over features, are tight then.
constexpr std::uint32_t kManyNodes = 4000;
constexpr double kShortRow = 64;

StructuredTraining with_pace(StructuredTraining training, const NodeScorer& scorer) {
  if (scorer.sweep_cost() >= kCheapOracle) return training;
  training.minibatch = 1;
  training.cached_passes = 1;  // its scattered reads are hardly cheaper than a pass over all nodes
  return training;
}

template <class Model>
StructuredInputs<Model, HierarchyProblem> inputs_of(std::span<const double> row_weights,
                                                    const Continuation& continuation,
                                                    const HierarchyProblem& problem) {
  return {.example_weights = row_weights, .continuation = continuation, .problem = problem};
}

PathSvmResult with_node_weights(StructuredResult trained, const NodeScorer& scorer,
                                std::uint32_t num_features) {
  return {scorer.node_weights({trained.weights, 1.0}, num_features), trained.fit,
          std::move(trained.state)};
}

}  // namespace

bool skips_subtrees(const CsrView& X, const LabelGraph& graph, bool has_costs,
                    const StructuredTraining& training, NodeStorage storage) {
  const StructuredSolver solver = chosen_solver(training.solver, training.surrogate);
  const bool by_margin =
      chosen_search(training.search, training.surrogate, solver,
                    abilities_of<PathModel::Oracle>()) == StructuredSearch::margin;
  return storage == NodeStorage::dense && by_margin && solver == StructuredSolver::bcfw &&
         !has_costs && graph.is_tree() && graph.num_nodes() >= kManyNodes &&
         static_cast<double>(X.num_nonzeros()) <= kShortRow * static_cast<double>(X.num_rows());
}

NodeStorage node_storage(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
                         const StructuredTraining& training, const Continuation& continuation) {
  const bool has_state = continuation.keep || continuation.start != nullptr;
  if (has_state && uses_sgd(training)) return NodeStorage::all_features;
  // Cutting planes are sums of differences, which blocks do not have.
  if (keeps_exact_weights(chosen_solver(training.solver, training.surrogate))) {
    return NodeStorage::dense;
  }
  return suits_blocks(X, graph, alpha) ? NodeStorage::blocks : NodeStorage::dense;
}

PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha, LeafLoss loss,
                             const StructuredTraining& training, Executor& executor,
                             RunControl& control, std::span<const double> row_weights,
                             const Continuation& continuation) {
  if (is<NormalizedDifference>(training.surrogate)) {
    require<InvalidOption>(!loss.has_costs(),
                           "option surrogate is 'normalized-difference', which divides by the path "
                           "loss, but the task loss is a cost matrix");
    loss.kind = TaskLoss::normalized;
  }
  const HierarchyProblem problem{.graph = graph,
                                 .alpha = {alpha.begin(), alpha.end()},
                                 .loss = loss.kind,
                                 .costs = {loss.costs.begin(), loss.costs.end()}};
  const NodeStorage storage = node_storage(X, graph, alpha, training, continuation);
  if (skips_subtrees(X, graph, loss.has_costs(), training, storage)) {
    const BoundedPathModel model(X, leaf_of_row, graph, alpha, loss.kind);
    return with_node_weights(
        train_by_bcfw(model, MarginRescaling{}, MarginSearch{}, with_pace(training, model.scorer()),
                      inputs_of<BoundedPathModel>(row_weights, continuation, problem), executor,
                      control),
        model.scorer(), X.num_columns());
  }
  const PathModel model(X, leaf_of_row, graph, alpha, loss, storage);
  return with_node_weights(
      solve_paths(model, training, inputs_of<PathModel>(row_weights, continuation, problem),
                  executor, control),
      model.scorer(), X.num_columns());
}

StructuredResult solve_paths(const PathModel& model, const StructuredTraining& training,
                             const StructuredInputs<PathModel, HierarchyProblem>& inputs,
                             Executor& executor, RunControl& control) {
  return train_structured(model, with_pace(training, model.scorer()), executor, control, inputs);
}

double path_objective(const PathModel& model, const StructuredTraining& training,
                      std::span<const float> weights, Executor& executor, RunControl& control,
                      std::span<const double> row_weights) {
  const auto search = AnySearch::make(StructuredSearch::enumeration, {});
  return structured_objective(model, DynamicSurrogate(training.surrogate), search, training.C,
                              {weights, 1.0}, executor, row_weights, &control)
      .value;
}

}  // namespace margrove
