#include "outputs/label_set/node_set_predictor.hpp"

#include <algorithm>
#include <limits>

#include "margrove/errors.hpp"
#include "outputs/label_set/node_sets.hpp"

namespace margrove {

namespace {
constexpr std::size_t kRowsAtOnce = 64;
}  // namespace

NodeSetPredictor::NodeSetPredictor(RowShape rows, std::uint32_t num_labels, LabelGraph graph,
                                   std::vector<LabelId> label_of_node, std::vector<float> weights)
    : rows_(rows),
      num_labels_(num_labels),
      graph_(std::move(graph)),
      label_of_node_(std::move(label_of_node)),
      weights_(std::move(weights)),
      inference_(graph_) {}

void NodeSetPredictor::save(TensorMap& out) const {
  std::vector<std::uint32_t> edges;
  for (NodeId n = 0; n < graph_.num_nodes(); ++n) {
    for (const NodeId child : graph_.children(n)) {
      edges.push_back(n);
      edges.push_back(child);
    }
  }
  rows_.save("node-sets", out);
  out.put<std::uint32_t>("node-sets.edges", edges, {edges.size() / 2, 2});
  out.put_view<std::uint32_t>("node-sets.label_of_node", label_of_node_);
  out.put_view<float>("node-sets.weights", weights_);
}

std::unique_ptr<Predictor> NodeSetPredictor::load(const TensorMap& tensors,
                                                  std::uint32_t num_labels) {
  const RowShape rows = RowShape::load("node-sets", tensors);
  auto labels = tensors.get<std::uint32_t>("node-sets.label_of_node");
  tensors.check(!labels.empty(), "node-sets.label_of_node is empty, but must have one node");
  for (const std::uint32_t label : labels) {
    tensors.check(label < num_labels, "node-sets.label_of_node holds ", label, ", but must be < ",
                  num_labels);
  }
  const auto flat = tensors.get_matrix<std::uint32_t>("node-sets.edges", TensorMap::kAnySize, 2);
  std::vector<LabelEdge> edges;
  for (std::size_t k = 0; k < flat.size(); k += 2) edges.push_back({flat[k], flat[k + 1]});
  LabelGraph graph;
  try {
    graph = LabelGraph::build(static_cast<std::uint32_t>(labels.size()), edges);
  } catch (const InvalidInput& error) {
    tensors.fail(concat("node-sets.edges: ", error.what()));
  }
  auto weights = finite_weights(tensors, "node-sets.weights", rows.num_columns() * labels.size());
  return std::make_unique<NodeSetPredictor>(rows, num_labels, std::move(graph), std::move(labels),
                                            std::move(weights));
}

std::vector<Fact> NodeSetPredictor::facts() const {
  return {{"features", concat(rows_.num_features)},
          {"nodes", concat(graph_.num_nodes())},
          weight_fact(weights_)};
}

void NodeSetPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                              std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  NodeSetWorkspace workspace;
  RowWithBias with_bias(rows_);
  for (std::size_t i = begin; i < end; ++i) {
    score_node_set(with_bias(X.row(i)), rows_.num_columns(), graph_.num_nodes(), {weights_, 1.0},
                   workspace);
    for (const NodeId leaf : graph_.leaves()) {
      scores[(i - begin) * num_labels_ + label_of_node_[leaf]] =
          static_cast<float>(workspace.scores[leaf]);
    }
  }
}

LabelSets NodeSetPredictor::predict(const CsrView& X, Executor& executor) const {
  std::vector<std::vector<LabelId>> found(X.num_rows());
  executor.for_ranges(X.num_rows(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    NodeSetWorkspace workspace;
    RowWithBias with_bias(rows_);
    NodeSet y;
    for (std::size_t i = begin; i < end; ++i) {
      score_node_set(with_bias(X.row(i)), rows_.num_columns(), graph_.num_nodes(), {weights_, 1.0},
                     workspace);
      inference_.best(workspace.scores, workspace.inference, y);
      for (const NodeId n : y) {
        if (graph_.is_leaf(n)) found[i].push_back(label_of_node_[n]);
      }
    }
  });
  LabelSets sets;
  for (const auto& set : found) sets.append(set);
  return sets;
}

}  // namespace margrove
