#include "model/label_set_decoder.hpp"

#include <algorithm>

namespace margrove {
namespace {

/// The candidates and their ancestors, ascending.
std::vector<NodeId> candidates_with_ancestors(const LabelGraph& graph,
                                              std::span<const NodeId> candidates) {
  std::vector<bool> reached(graph.num_nodes(), false);
  for (const NodeId n : candidates) reached[n] = true;
  const auto order = graph.topological_order();
  for (auto n = order.rbegin(); n != order.rend(); ++n) {
    if (!reached[*n]) continue;
    for (const NodeId parent : graph.parents(*n)) reached[parent] = true;
  }
  std::vector<NodeId> kept;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (reached[n]) kept.push_back(n);
  }
  return kept;
}

/// The edges between the nodes of `kept`, ascending, which get their places there as numbers.
LabelGraph induced_graph(const LabelGraph& graph, const std::vector<NodeId>& kept) {
  std::vector<LabelEdge> edges;
  for (NodeId child = 0; child < kept.size(); ++child) {
    for (const NodeId parent : graph.parents(kept[child])) {
      const auto place = std::lower_bound(kept.begin(), kept.end(), parent) - kept.begin();
      edges.push_back({static_cast<NodeId>(place), child});
    }
  }
  return LabelGraph::build(static_cast<std::uint32_t>(kept.size()), edges);
}

}  // namespace

CandidateHierarchy::CandidateHierarchy(const LabelGraph& graph, std::span<const NodeId> candidates,
                                       std::span<const LabelId> label_of_node)
    : kept_(candidates_with_ancestors(graph, candidates)),
      graph_(induced_graph(graph, kept_)),
      inference_(graph_) {
  for (const NodeId n : kept_) label_of_kept_.push_back(label_of_node[n]);
}

double LabelSetDecoder::best(std::span<const float> node_scores, double offset,
                             std::vector<LabelId>& labels) {
  const CandidateHierarchy& hierarchy = *hierarchy_;
  rewards_.clear();
  for (NodeId k = 0; k < hierarchy.kept_.size(); ++k) {
    const auto score = static_cast<double>(node_scores[hierarchy.kept_[k]]);
    rewards_.push_back(hierarchy.graph_.is_leaf(k) ? score + offset : score);
  }
  const BestLabelSet best = hierarchy.inference_.best(rewards_, workspace_, chosen_);
  labels.clear();
  for (const NodeId n : chosen_) {
    if (hierarchy.graph_.is_leaf(n)) labels.push_back(hierarchy.label_of_kept_[n]);
  }
  std::sort(labels.begin(), labels.end());
  return best.score - offset * static_cast<double>(labels.size());
}

}  // namespace margrove
