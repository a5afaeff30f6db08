#pragma once
// Ancestor-closed label sets, which all metrics of a hierarchy are made of.

#include <optional>
#include <span>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// The root that no metric counts: that of a hierarchy with a single one, which is an inner node.
std::optional<NodeId> uncounted_root(const LabelGraph& hierarchy);

/// Closes one set after the other.
class SetCloser {
 public:
  /// Keeps a reference.
  explicit SetCloser(const LabelGraph& hierarchy)
      : hierarchy_(hierarchy), root_(uncounted_root(hierarchy)), seen_(hierarchy.num_nodes(), 0) {}

  /// The labels and their ancestors without uncounted_root(), ascending; replaces `closed`. Labels
  /// from hierarchy.num_nodes() on, which are unknown, have no ancestors.
  void close(std::span<const LabelId> labels, std::vector<NodeId>& closed);

 private:
  const LabelGraph& hierarchy_;
  std::optional<NodeId> root_;
  std::vector<std::uint64_t> seen_;  // the last row whose closed set has the node
  std::uint64_t row_ = 0;
  std::vector<NodeId> pending_;
};

/// close() of every row.
LabelSets closed_sets(const LabelGraph& hierarchy, const LabelSets& sets);
/// Whether each node or one below it has training rows; never uncounted_root().
std::vector<bool> closed_training(const LabelGraph& hierarchy,
                                  const std::vector<bool>& in_training);

/// |a & b| of ascending sets.
std::int64_t count_common(std::span<const LabelId> a, std::span<const LabelId> b);

}  // namespace margrove
