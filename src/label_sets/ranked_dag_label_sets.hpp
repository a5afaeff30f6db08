#pragma once
// All label sets of a DAG, best first.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "label_sets/label_set_inference.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// The label sets y = union of A(l) over a non-empty set of leaves l, one at a time, by descending
/// sum_{n in y} r_n, by Lawler's partition: behind the best label set of a part of all, the rest
/// of the part is split by the first leaf in which a label set differs from it. What all label
/// sets of a part have in common is had by rewards of leaves, so that LabelSetInference finds
/// their best one. RankedLabelSets is far faster on trees.
class RankedDagLabelSets {
 public:
  /// leaves: of the graph of `inference`, and above[l]: A(l) of each of them. scores: one finite
  /// number per node. The arguments must outlive this.
  RankedDagLabelSets(const LabelSetInference& inference, std::span<const NodeId> leaves,
                     const NodeLists& above, std::span<const double> scores,
                     LabelSetInference::Workspace& workspace);

  /// Writes the next best label set to `nodes`, ascending; false if there is no other. The first
  /// call costs one inference, each other one at most as many as there are leaves.
  bool next(std::vector<NodeId>& nodes);

 private:
  // The label sets that have the same first num_fixed leaves as `best`, their best one.
  struct Part {
    double score;
    std::size_t num_fixed;
    std::vector<NodeId> best;
  };
  static bool comes_later(const Part& a, const Part& b) { return a.score < b.score; }

  void fix(std::size_t leaf, bool is_in);
  void add(std::size_t num_fixed, std::span<const char> fixed);
  void split(const Part& part);

  const LabelSetInference& inference_;
  std::span<const NodeId> leaves_;
  const NodeLists& above_;
  std::span<const double> scores_;
  LabelSetInference::Workspace& workspace_;
  double largest_difference_ = 0.0;  // of the scores of two label sets
  std::vector<double> rewards_;
  std::vector<Part> parts_;   // a heap
  std::optional<Part> last_;  // whose best one next() has written
};

}  // namespace margrove
