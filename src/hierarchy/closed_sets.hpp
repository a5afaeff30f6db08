#pragma once
// Label sets with all ancestors of their labels.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove {

/// Closes one label set after the other. The root is left out if there is a single one with
/// children, because every set has it.
class SetCloser {
 public:
  /// Keeps a reference.
  explicit SetCloser(const LabelGraph& hierarchy)
      : hierarchy_(&hierarchy), seen_(hierarchy.num_nodes(), 0) {
    const auto roots = hierarchy.roots();
    has_root_ = roots.size() == 1 && !hierarchy.is_leaf(roots[0]);
    if (has_root_) root_ = roots[0];
  }

  /// Replaces `closed`, which gets ascending. Labels from hierarchy.num_nodes() on stay as they
  /// are. O(size of the closed set).
  void close(std::span<const std::uint32_t> labels, std::vector<NodeId>& closed) {
    closed.clear();
    ++set_;
    for (const NodeId label : labels) {
      (label < hierarchy_->num_nodes() ? pending_ : closed).push_back(label);
    }
    while (!pending_.empty()) {
      const NodeId n = pending_.back();
      pending_.pop_back();
      if (seen_[n] == set_) continue;
      seen_[n] = set_;
      if (!has_root_ || n != root_) closed.push_back(n);
      const auto parents = hierarchy_->parents(n);
      pending_.insert(pending_.end(), parents.begin(), parents.end());
    }
    std::sort(closed.begin(), closed.end());
  }

 private:
  const LabelGraph* hierarchy_;
  NodeId root_ = 0;
  bool has_root_ = false;
  std::vector<std::uint64_t> seen_;  // the last set that has the node
  std::uint64_t set_ = 0;
  std::vector<NodeId> pending_;
};

}  // namespace margrove
