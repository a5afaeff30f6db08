#include "hierarchy/subtree_parts.hpp"

#include <ranges>
#include <span>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

std::vector<std::uint32_t> subtree_sizes(const LabelGraph& tree) {
  std::vector<std::uint32_t> sizes(tree.num_nodes(), 1);
  for (const NodeId n : tree.topological_order() | std::views::reverse) {
    if (!tree.is_root(n)) sizes[tree.parents(n).front()] += sizes[n];
  }
  return sizes;
}

class Cutter {
 public:
  Cutter(const LabelGraph& tree, std::uint32_t max_nodes)
      : tree_(tree), max_nodes_(max_nodes), sizes_(subtree_sizes(tree)) {}

  SubtreeParts cut() && {
    split(tree_.roots(), SubtreeParts::kNone);
    for (std::uint32_t p = 0; p < result_.order.size(); ++p) {  // grows: the top, parents first
      split(tree_.children(result_.order[p]), p);
    }
    result_.num_top = static_cast<std::uint32_t>(result_.order.size());
    for (std::size_t k = 0; k < heads_.size(); ++k) fill(heads_[k], result_.parts[k]);
    return std::move(result_);
  }

 private:
  // Siblings with large subtrees join the top; the subtrees of the others share parts.
  void split(std::span<const NodeId> siblings, std::uint32_t above) {
    std::uint32_t in_part = max_nodes_;  // full, so that the first sibling starts a part
    for (const NodeId n : siblings) {
      if (sizes_[n] > max_nodes_) {
        push(n, above);
        continue;
      }
      if (in_part + sizes_[n] > max_nodes_) {
        heads_.emplace_back();
        result_.parts.push_back({0, 0, above});
        in_part = 0;
      }
      in_part += sizes_[n];
      heads_.back().push_back(n);
    }
  }

  void fill(std::span<const NodeId> heads, SubtreeParts::Part& part) {
    part.begin = static_cast<std::uint32_t>(result_.order.size());
    for (const NodeId n : heads) push(n, part.above);
    for (std::uint32_t p = part.begin; p < result_.order.size(); ++p) {
      for (const NodeId child : tree_.children(result_.order[p])) push(child, p);
    }
    part.end = static_cast<std::uint32_t>(result_.order.size());
  }

  void push(NodeId n, std::uint32_t parent) {
    result_.order.push_back(n);
    result_.parents.push_back(parent);
  }

  const LabelGraph& tree_;
  std::uint32_t max_nodes_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::vector<NodeId>> heads_;  // part -> the siblings whose subtrees it is
  SubtreeParts result_;
};

}  // namespace

SubtreeParts subtree_parts(const LabelGraph& tree, std::uint32_t max_nodes) {
  require(tree.is_tree(),
          "subtree parts: the graph has a node with several parents, but must be a tree");
  require(max_nodes >= 1, "subtree parts: max_nodes is 0, but must be >= 1");
  return Cutter(tree, max_nodes).cut();
}

}  // namespace margrove
