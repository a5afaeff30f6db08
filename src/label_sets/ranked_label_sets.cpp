#include "label_sets/ranked_label_sets.hpp"

#include <algorithm>

#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

// The order of the frontier, a heap whose top comes next.
constexpr auto kComesLater = [](const auto& a, const auto& b) {
  if (a.value != b.value) return a.value < b.value;
  if (a.left_is_empty != b.left_is_empty) return a.left_is_empty;
  return a.left != b.left ? a.left > b.left : a.right > b.right;
};

}  // namespace

RankedLabelSets::RankedLabelSets(const LabelGraph& tree) : top_(tree.num_nodes(), kNone) {
  require_tree(tree, "ranked label sets");
  for (NodeId n = 0; n < tree.num_nodes(); ++n) {
    if (!tree.is_leaf(n)) top_[n] = merge_options(tree.children(n));
  }
  top_of_roots_ = merge_options(tree.roots());
}

// Merges neighbouring lists in pairs until one is left.
std::uint32_t RankedLabelSets::merge_options(std::span<const NodeId> children) {
  std::vector<std::uint32_t> lists(children.begin(), children.end());
  while (lists.size() > 1) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < lists.size(); k += 2) {
      if (k + 1 == lists.size()) {
        lists[kept++] = lists[k];
        break;
      }
      merges_.push_back({lists[k], lists[k + 1]});
      lists[kept++] = num_nodes() + static_cast<std::uint32_t>(merges_.size() - 1);
    }
    lists.resize(kept);
  }
  return lists.front();
}

void RankedLabelSets::start(std::span<const double> scores, Workspace& workspace) const {
  require(scores.size() == num_nodes(), "ranked label sets: scores has ", scores.size(),
          " entries, but must have one per node, ", num_nodes());
  workspace.scores_.assign(scores.begin(), scores.end());
  workspace.lists_.resize(num_nodes() + merges_.size());
  for (List& list : workspace.lists_) {
    list.items.clear();
    list.frontier.clear();
    list.is_frontier_complete = list.has_empty = list.is_complete = false;
    list.position = 0;
  }
  workspace.next_ = 0;
}

bool RankedLabelSets::next(Workspace& workspace, std::vector<NodeId>& nodes) const {
  const List& all = workspace.lists_[top_of_roots_];
  while (true) {
    const std::uint32_t rank = workspace.next_;
    write(top_of_roots_, rank, workspace);
    if (rank >= all.items.size()) return false;
    ++workspace.next_;
    if (all.items[rank].is_empty) continue;
    collect(rank, workspace, nodes);
    return true;
  }
}

// Extends `list` until it has an item of this rank or is complete. A step that needs an item of
// another list puts it on a stack and does not recurse, so that deep trees cannot overflow the call
// stack.
void RankedLabelSets::write(std::uint32_t list, std::uint32_t rank, Workspace& workspace) const {
  auto& needs = workspace.stack_;
  needs.assign(1, {list, rank});
  while (!needs.empty()) {
    const auto need = needs.back();
    const List& wanted = workspace.lists_[need.list];
    if (wanted.is_complete || need.rank < wanted.items.size()) {
      needs.pop_back();
    } else if (need.list < num_nodes()) {
      step_options(need.list, workspace);
    } else {
      step_merge(need.list, workspace);
    }
  }
}

// Appends the next option of n: the next of the solutions with n, or leaving n out, which is worth
// 0.
void RankedLabelSets::step_options(NodeId n, Workspace& workspace) const {
  List& list = workspace.lists_[n];
  const double score = workspace.scores_[n];
  const auto next_is = [&](double value) {
    if (list.has_empty || value > 0.0) {
      list.items.push_back({value, list.position++, 0, false, false});
    } else {
      list.items.push_back({0.0, 0, 0, true, true});
      list.has_empty = true;
    }
  };
  const bool is_leaf = top_[n] == kNone;
  const List* below = is_leaf ? nullptr : &workspace.lists_[top_[n]];
  const std::size_t size = is_leaf ? 1 : below->items.size();
  if (!is_leaf && list.position >= size && !below->is_complete) {
    workspace.stack_.push_back({top_[n], list.position});
  } else if (list.position < size) {
    if (is_leaf) {
      next_is(score);
    } else if (below->items[list.position].is_empty) {
      ++list.position;
    } else {
      next_is(score + below->items[list.position].value);
    }
  } else if (!list.has_empty) {
    next_is(0.0);
  } else {
    list.is_complete = true;
  }
}

// Appends the next best sum of an item on the left and one on the right. The successors of (a, b)
// are (a, b + 1) and, if b = 0, (a + 1, 0), so that each pair occurs once.
void RankedLabelSets::step_merge(std::uint32_t number, Workspace& workspace) const {
  const Merge merge = merges_[number - num_nodes()];
  List& list = workspace.lists_[number];
  const List &left = workspace.lists_[merge.left], &right = workspace.lists_[merge.right];
  const auto lacks = [&](const List& side, std::uint32_t id, std::uint32_t rank) {
    if (side.is_complete || rank < side.items.size()) return false;
    workspace.stack_.push_back({id, rank});
    return true;
  };
  const auto offer = [&](std::uint32_t a, std::uint32_t b) {
    if (a >= left.items.size() || b >= right.items.size()) return;
    const Item &x = left.items[a], &y = right.items[b];
    list.frontier.push_back({x.value + y.value, a, b, x.is_empty && y.is_empty, x.is_empty});
    std::push_heap(list.frontier.begin(), list.frontier.end(), kComesLater);
  };
  if (!list.is_frontier_complete) {
    if (list.items.empty()) {
      if (lacks(left, merge.left, 0) || lacks(right, merge.right, 0)) return;
      offer(0, 0);
    } else {
      const Item last = list.items.back();
      if (lacks(right, merge.right, last.right + 1)) return;
      if (last.right == 0 && lacks(left, merge.left, last.left + 1)) return;
      offer(last.left, last.right + 1);
      if (last.right == 0) offer(last.left + 1, 0);
    }
    list.is_frontier_complete = true;
  }
  if (list.frontier.empty()) {
    list.is_complete = true;
    return;
  }
  std::pop_heap(list.frontier.begin(), list.frontier.end(), kComesLater);
  list.items.push_back(list.frontier.back());
  list.frontier.pop_back();
  list.is_frontier_complete = false;
}

void RankedLabelSets::collect(std::uint32_t rank, Workspace& workspace,
                              std::vector<NodeId>& nodes) const {
  nodes.clear();
  auto& places = workspace.stack_;
  places.assign(1, {top_of_roots_, rank});
  while (!places.empty()) {
    const auto place = places.back();
    places.pop_back();
    const Item& item = workspace.lists_[place.list].items[place.rank];
    if (item.is_empty) continue;
    if (place.list >= num_nodes()) {
      const Merge merge = merges_[place.list - num_nodes()];
      places.push_back({merge.left, item.left});
      places.push_back({merge.right, item.right});
      continue;
    }
    nodes.push_back(place.list);
    if (top_[place.list] != kNone) places.push_back({top_[place.list], item.left});
  }
  std::sort(nodes.begin(), nodes.end());
}

}  // namespace margrove
