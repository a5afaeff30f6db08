#include "eval/sibling_confusion.hpp"

#include <algorithm>
#include <iterator>

#include "hierarchy/closed_sets.hpp"

namespace margrove {
namespace {

/// Whether a and b are children of one node that `shared` holds, or both roots.
bool are_confused(const LabelGraph& graph, NodeId a, NodeId b, const std::vector<NodeId>& shared) {
  if (graph.is_root(a) || graph.is_root(b)) return graph.is_root(a) && graph.is_root(b);
  return std::ranges::any_of(graph.parents(a), [&](NodeId parent) {
    return std::ranges::binary_search(graph.parents(b), parent) &&
           std::ranges::binary_search(shared, parent);
  });
}

}  // namespace

void count_confused(const LabelGraph& graph, std::span<const NodeId> truth,
                    std::span<const NodeId> predicted, SiblingConfusion& confused) {
  std::vector<NodeId> shared, missed, wrong;
  std::ranges::set_intersection(truth, predicted, std::back_inserter(shared));
  std::ranges::set_difference(truth, predicted, std::back_inserter(missed));
  std::ranges::set_difference(predicted, truth, std::back_inserter(wrong));
  for (const NodeId a : missed) {
    for (const NodeId b : wrong) {
      if (are_confused(graph, a, b, shared)) ++confused[{a, b}];
    }
  }
}

SiblingConfusion sibling_confusion(const LabelGraph& graph, const LabelSets& truth,
                                   const LabelSets& predicted) {
  SiblingConfusion confused;
  SetCloser closer(graph, SetCloser::Nodes::all);
  std::vector<NodeId> y, p;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    closer.close(truth[i], y);
    closer.close(predicted[i], p);
    count_confused(graph, y, p, confused);
  }
  return confused;
}

}  // namespace margrove
