// Memory estimates of the structured SVMs over paths and label sets.

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/column_use.hpp"
#include "outputs/path/bounded_path_oracle.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {
namespace {

constexpr double kLargestLossTable = 2048;  // leaves (path_oracle.cpp)

/// Bytes of one array W over the features that occur and the nodes with alpha > 0.
double weight_bytes(const CsrView& X, std::span<const double> alpha) {
  auto columns = static_cast<double>(
      std::count_if(alpha.begin(), alpha.end(), [](double each) { return each > 0; }));
  if (columns >= 16) columns = std::ceil(columns / 16) * 16;
  return 4 * static_cast<double>(num_used_columns(X)) * columns;
}

/// sum of |A(l)| over the leaves
double path_entries(const LabelGraph& graph) {
  double entries = 0;
  for (const NodeId leaf : graph.leaves()) {
    entries += graph.is_tree() ? graph.depth(leaf) + 1.0
                               : static_cast<double>(graph.ancestors(leaf).size());
  }
  return entries;
}

/// Bytes of the weights of all nodes in a model (NodeScorer::node_weights): place and value of each
/// that is not 0, or all features and nodes. A path has `path` nodes.
double model_bytes(const CsrView& X, std::span<const double> alpha, double path) {
  constexpr double kLabellings = 16;  // that differ from a row's own while it is trained on
  const auto features = static_cast<double>(X.num_columns());
  const auto weighted = static_cast<double>(
      std::count_if(alpha.begin(), alpha.end(), [](double each) { return each > 0; }));
  // A feature of few rows has weights at the nodes of their paths only.
  std::vector<std::uint32_t> num_rows(X.num_columns(), 0);
  for (const FeatureId feature : X.columns()) ++num_rows[feature];
  double touched = 0;
  for (const std::uint32_t rows : num_rows) {
    touched += std::min(weighted, rows * kLabellings * path);
  }
  return std::min(8 * touched + 8 * features, 4 * features * static_cast<double>(alpha.size()));
}

/// The same where the weights are those of so many blocks.
double model_bytes(const CsrView& X, double blocks) {
  constexpr double kUsed = 3;  // of a block, those that are not 0
  return 8 * kUsed * blocks + 8.0 * static_cast<double>(X.num_columns());
}

/// Arrays of weights: BCFW needs one, SGD two sums and their average.
double arrays_of_weights(const StructuredTraining& training, const Continuation& continuation) {
  if (keeps_exact_weights(training.solver)) return 4;  // as one is in float64
  if (!uses_sgd(training)) return 1;
  return continuation.keep ? 5 : 3;
}

/// A path has `path` nodes, a row about `paths` paths.
MemoryEstimate scorer_memory(const CsrView& X, const LabelGraph& graph,
                             std::span<const double> alpha, const StructuredTraining& training,
                             const Continuation& continuation, double path, double paths = 1) {
  const double arrays = arrays_of_weights(training, continuation);
  MemoryEstimate memory;
  memory.add("rows of the solver", 8.0 * static_cast<double>(X.num_nonzeros()) +
                                       24.0 * static_cast<double>(X.num_rows()) +
                                       8.0 * static_cast<double>(X.num_columns()));
  if (node_storage(X, graph, alpha, training, continuation) != NodeStorage::blocks) {
    memory.add("classifiers", arrays * weight_bytes(X, alpha));
    memory.add("model", model_bytes(X, alpha, path));
    return memory;
  }
  const double blocks = expected_blocks(X, graph, alpha, paths);
  memory.add("classifiers", WeightBlocks::bytes(arrays + 1) * blocks);  // one while they are sorted
  memory.add("model", model_bytes(X, blocks));
  return memory;
}

constexpr double kDualBytes = 600;  // per row: a few labellings, each with entries in seven arrays

MemoryEstimate memory_of(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
                         bool has_bounds, const StructuredTraining& training,
                         const Continuation& continuation, int num_threads) {
  const bool is_sgd = uses_sgd(training);
  const auto rows = static_cast<double>(X.num_rows());
  const auto leaves = static_cast<double>(graph.leaves().size());
  const double entries = path_entries(graph);
  MemoryEstimate memory =
      scorer_memory(X, graph, alpha, training, continuation, entries / std::max(1.0, leaves));
  if (has_bounds) {
    const auto parts = subtree_parts(graph, BoundedPathModel::kPartNodes).parts.size();
    memory.add("bounds", 8.0 * static_cast<double>(num_used_columns(X) * parts));
  }
  memory.add("dual variables", is_sgd ? 100 * rows : kDualBytes * rows);
  memory.add("task losses", leaves <= kLargestLossTable ? 8 * leaves * leaves : 0);
  memory.add("paths", 12 * entries + 40.0 * graph.num_nodes());
  memory.add("scratch of the threads", num_threads * (48.0 * graph.num_nodes()));
  return memory;
}

}  // namespace

MemoryEstimate path_svm_memory(const CsrView& X, const LabelGraph& graph,
                               std::span<const double> alpha, bool has_costs,
                               const StructuredTraining& training, const Continuation& continuation,
                               int num_threads) {
  const NodeStorage storage = node_storage(X, graph, alpha, training, continuation);
  return memory_of(X, graph, alpha, skips_subtrees(X, graph, has_costs, training, storage),
                   training, continuation, num_threads);
}

double path_weight_bytes(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha) {
  if (suits_blocks(X, graph, alpha)) return model_bytes(X, expected_blocks(X, graph, alpha));
  const auto leaves = static_cast<double>(graph.leaves().size());
  return model_bytes(X, alpha, path_entries(graph) / std::max(1.0, leaves));
}

MemoryEstimate partial_path_svm_memory(const CsrView& X, const LeafChoices& choices,
                                       const LabelGraph& graph, std::span<const double> alpha,
                                       const StructuredTraining& training, int num_threads) {
  MemoryEstimate memory = memory_of(X, graph, alpha, false, training, {}, num_threads);
  const auto rows = static_cast<double>(X.num_rows());
  double leaves = 0;
  for (std::uint32_t k = 0; k < choices.num_sets(); ++k) {
    leaves += static_cast<double>(choices.set(k).size());
  }
  const auto sets = static_cast<double>(choices.num_sets());
  memory.add("choices of leaves", 16 * rows + 12 * leaves + 40 * sets);
  memory.add("task losses of the choices", 8 * sets * static_cast<double>(graph.leaves().size()));
  memory.add("dual variables of the last round", 2 * kDualBytes * rows);
  const bool has_blocks = node_storage(X, graph, alpha, training, {}) == NodeStorage::blocks;
  memory.add("weights of the last round",
             has_blocks ? WeightBlocks::bytes(1) * expected_blocks(X, graph, alpha)
                        : weight_bytes(X, alpha));
  return memory;
}

MemoryEstimate label_set_svm_memory(const CsrView& X, const LabelSets& leaves_of_row,
                                    const LabelGraph& graph, std::span<const double> alpha,
                                    const StructuredTraining& training,
                                    const Continuation& continuation, int num_threads) {
  const bool is_sgd = uses_sgd(training);
  // The more leaves there are, the more label sets steps add to the active set of a row, which
  // holds the products of all pairs; there are few where each row has one leaf. A label set has
  // about a tenth of the nodes, because few nodes are excluded in the first passes.
  const double most = leaves_of_row.single_label() ? 8 : 60;
  const double labellings = std::min(most, 0.3 * static_cast<double>(graph.leaves().size()) + 1);
  constexpr double kNodeBytes = 0.4;
  const auto rows = static_cast<double>(X.num_rows());
  const double entries = path_entries(graph);
  const double path = entries / std::max(1.0, static_cast<double>(graph.leaves().size()));
  // The nodes in the true label sets of all rows.
  const double nodes = path * static_cast<double>(leaves_of_row.num_labels_total());
  const double paths = static_cast<double>(leaves_of_row.num_labels_total()) / std::max(1.0, rows);
  MemoryEstimate memory = scorer_memory(X, graph, alpha, training, continuation, path, paths);
  memory.add("label sets of rows", 4 * nodes + 64 * rows);
  const double dual_bytes = labellings * (kNodeBytes * graph.num_nodes() + 100) +
                            4 * labellings * labellings + 500;  // per row
  memory.add("dual variables", is_sgd ? 100 * rows : dual_bytes * rows);
  memory.add("paths", 8 * entries + 100.0 * graph.num_nodes());
  memory.add("scratch of the threads", num_threads * (200.0 * graph.num_nodes()));
  return memory;
}

}  // namespace margrove
