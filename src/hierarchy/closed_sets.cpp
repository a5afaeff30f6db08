#include "hierarchy/closed_sets.hpp"

#include <algorithm>

namespace margrove {

std::optional<NodeId> uncounted_root(const LabelGraph& hierarchy) {
  const auto roots = hierarchy.roots();
  if (roots.size() == 1 && !hierarchy.is_leaf(roots[0])) return roots[0];
  return std::nullopt;
}

void SetCloser::close(std::span<const LabelId> labels, std::vector<NodeId>& closed) {
  closed.clear();
  ++row_;
  for (const LabelId label : labels) {
    if (label < hierarchy_.num_nodes()) {
      pending_.push_back(label);
    } else if (keeps_unknown_) {
      closed.push_back(label);
    }
  }
  const auto num_unknown = static_cast<std::ptrdiff_t>(closed.size());
  while (!pending_.empty()) {
    const NodeId n = pending_.back();
    pending_.pop_back();
    if (seen_[n] == row_) continue;
    seen_[n] = row_;
    if (n != root_) closed.push_back(n);
    const auto parents = hierarchy_.parents(n);
    pending_.insert(pending_.end(), parents.begin(), parents.end());
  }
  // So many nodes are looked at in the time that it takes to sort one.
  constexpr std::size_t kNodesPerSort = 32;
  if (closed.size() <= seen_.size() / kNodesPerSort) {
    std::sort(closed.begin(), closed.end());
    return;
  }
  unknown_.assign(closed.begin(), closed.begin() + num_unknown);
  std::sort(unknown_.begin(), unknown_.end());
  closed.clear();
  for (NodeId n = 0; n < seen_.size(); ++n) {
    if (seen_[n] == row_ && n != root_) closed.push_back(n);
  }
  closed.insert(closed.end(), unknown_.begin(), unknown_.end());
}

LabelSets closed_sets(const LabelGraph& hierarchy, const LabelSets& sets) {
  SetCloser closure(hierarchy);
  LabelSets all;
  std::vector<NodeId> closed;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    closure.close(sets[i], closed);
    all.append(closed);
  }
  return all;
}

std::vector<bool> closed_training(const LabelGraph& hierarchy,
                                  const std::vector<bool>& in_training) {
  std::vector<LabelId> trained;
  for (LabelId l = 0; l < in_training.size(); ++l) {
    if (in_training[l]) trained.push_back(l);
  }
  std::vector<NodeId> closed;
  SetCloser(hierarchy).close(trained, closed);
  std::vector<bool> nodes(std::max<std::size_t>(hierarchy.num_nodes(), in_training.size()), false);
  for (const NodeId n : closed) nodes[n] = true;
  return nodes;
}

std::int64_t count_common(std::span<const LabelId> a, std::span<const LabelId> b) {
  std::int64_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common += a[i] == b[j];
    const bool advance_a = a[i] <= b[j];
    const bool advance_b = b[j] <= a[i];
    i += advance_a;
    j += advance_b;
  }
  return common;
}

}  // namespace margrove
