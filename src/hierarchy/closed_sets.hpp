#pragma once
// Ancestor-closed label sets, on which all hierarchical metrics are computed.

#include <optional>
#include <span>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// The root that no metric counts: the only root of a hierarchy, unless it is a leaf.
std::optional<NodeId> uncounted_root(const LabelGraph& hierarchy);

/// Closes one set after the other.
class SetCloser {
 public:
  enum class Nodes {
    counted,  // without uncounted_root(); labels from num_nodes() on, which are unknown, stay
    all,      // with every root; labels from num_nodes() on are left out
  };
  /// Keeps a reference.
  explicit SetCloser(const LabelGraph& hierarchy, Nodes nodes = Nodes::counted)
      : hierarchy_(hierarchy),
        keeps_unknown_(nodes == Nodes::counted),
        root_(keeps_unknown_ ? uncounted_root(hierarchy) : std::nullopt),
        seen_(hierarchy.num_nodes(), 0) {}

  /// The labels and their ancestors, ascending; replaces `closed`.
  void close(std::span<const LabelId> labels, std::vector<NodeId>& closed);

 private:
  const LabelGraph& hierarchy_;
  bool keeps_unknown_;
  std::optional<NodeId> root_;
  std::vector<std::uint64_t> seen_;  // the last row whose closed set has the node
  std::uint64_t row_ = 0;
  std::vector<NodeId> pending_;
  std::vector<LabelId> unknown_;
};

/// close() of every row.
LabelSets closed_sets(const LabelGraph& hierarchy, const LabelSets& sets);
/// Whether each node or one below it has training rows; never uncounted_root().
std::vector<bool> closed_training(const LabelGraph& hierarchy,
                                  const std::vector<bool>& in_training);

/// |a & b| of ascending sets.
std::int64_t count_common(std::span<const LabelId> a, std::span<const LabelId> b);

}  // namespace margrove
