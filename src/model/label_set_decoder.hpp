#pragma once
// The best label set among the leaves that may be predicted (docs/notation.md).

#include <span>
#include <vector>

#include "label_sets/label_set_inference.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// The part of a hierarchy above its candidates. Immutable, shared by threads.
class CandidateHierarchy {
 public:
  /// `candidates` are leaves of `graph`. Keeps no reference.
  CandidateHierarchy(const LabelGraph& graph, std::span<const NodeId> candidates,
                     std::span<const LabelId> label_of_node);

 private:
  friend class LabelSetDecoder;
  std::vector<NodeId> kept_;            // node of the part -> node of the graph
  std::vector<LabelId> label_of_kept_;  // of its nodes
  LabelGraph graph_;
  LabelSetInference inference_;
};

/// Searches a CandidateHierarchy, one row after the other. Each thread needs its own.
class LabelSetDecoder {
 public:
  /// Keeps a reference.
  explicit LabelSetDecoder(const CandidateHierarchy& hierarchy) : hierarchy_(&hierarchy) {}

  /// Writes the labels of the leaves (ascending, at least one) of the label set that is best after
  /// `offset` is added to the score of each leaf. Returns its score without the offsets.
  /// `node_scores` has one finite score per node of the whole graph. Cost:
  /// LabelSetInference::best().
  double best(std::span<const float> node_scores, double offset, std::vector<LabelId>& labels);

 private:
  const CandidateHierarchy* hierarchy_;
  std::vector<double> rewards_;
  std::vector<NodeId> chosen_;
  LabelSetInference::Workspace workspace_;
};

}  // namespace margrove
