#include "methods/top_down_families.hpp"

#include <algorithm>
#include <numeric>

#include "methods/linear_training.hpp"

namespace margrove {
namespace {

/// The rows at or below each node, ascending. A row with a partial label is below no child of it.
std::vector<std::vector<std::uint32_t>> rows_below(const LabelGraph& graph, const LabelSets& sets) {
  std::vector<std::vector<std::uint32_t>> below(graph.num_nodes());
  std::vector<NodeId> open;
  for (std::uint32_t i = 0; i < sets.num_rows(); ++i) {
    open.assign(sets[i].begin(), sets[i].end());
    while (!open.empty()) {
      const NodeId n = open.back();
      open.pop_back();
      if (!below[n].empty() && below[n].back() == i) continue;  // all nodes above have it, too
      below[n].push_back(i);
      open.insert(open.end(), graph.parents(n).begin(), graph.parents(n).end());
    }
  }
  return below;
}

class Families {
 public:
  Families(const LabelGraph& graph, const LabelSets& sets)
      : graph_(graph), sets_(sets), below_(rows_below(graph, sets)) {
    const auto is_inner = [&](NodeId n) { return !graph.is_leaf(n); };
    for (std::size_t i = 0; i < sets.num_rows(); ++i) {
      is_partial_.push_back(std::any_of(sets[i].begin(), sets[i].end(), is_inner));
    }
  }

  /// All that have something to learn.
  std::vector<Family> all() const {
    std::vector<NodeId> nodes(graph_.num_nodes());
    std::iota(nodes.begin(), nodes.end(), NodeId{0});
    const auto parents_before = [&](NodeId a, NodeId b) {
      const auto p = graph_.parents(a), q = graph_.parents(b);
      return std::lexicographical_compare(p.begin(), p.end(), q.begin(), q.end());
    };
    std::stable_sort(nodes.begin(), nodes.end(), parents_before);
    std::vector<Family> families;
    for (auto first = nodes.begin(); first != nodes.end();) {
      // The first node whose parents come after these.
      const auto last = std::upper_bound(first, nodes.end(), *first, parents_before);
      Family family = family_of(std::span(first, last));
      if (!family.children.empty()) families.push_back(std::move(family));
      first = last;
    }
    return families;
  }

 private:
  /// The rows below the parents (of roots all that have a label), except those with a partial label
  /// above the children.
  std::vector<std::uint32_t> rows_of(std::span<const NodeId> siblings) const {
    const auto parents = graph_.parents(siblings.front());
    std::vector<std::uint32_t> rows;
    const auto add = [&](NodeId n) { rows.insert(rows.end(), below_[n].begin(), below_[n].end()); };
    std::for_each(parents.begin(), parents.end(), add);
    if (parents.empty()) std::for_each(siblings.begin(), siblings.end(), add);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const auto is_partial = [&](std::uint32_t i) { return is_partial_[i]; };
    if (std::none_of(rows.begin(), rows.end(), is_partial)) return rows;
    const std::vector<NodeId> above = graph_.ancestors(siblings.front());
    const auto is_above = [&](NodeId n) {
      return n != siblings.front() && std::binary_search(above.begin(), above.end(), n);
    };
    std::erase_if(rows, [&](std::uint32_t i) {
      return std::all_of(sets_[i].begin(), sets_[i].end(), is_above);
    });
    return rows;
  }

  /// If there is nothing to learn, `children` is empty.
  Family family_of(std::span<const NodeId> siblings) const {
    Family family;
    struct Member {
      std::uint32_t row;
      LabelId child;
    };
    std::vector<Member> members;
    for (const NodeId n : siblings) {
      if (below_[n].empty()) continue;
      const auto child = static_cast<LabelId>(family.children.size());
      for (const std::uint32_t row : below_[n]) members.push_back({row, child});
      family.children.push_back(n);
    }
    if (family.children.empty()) return {};
    family.rows = rows_of(siblings);
    if (family.children.size() == 1 && members.size() == family.rows.size()) return {};
    std::stable_sort(members.begin(), members.end(),
                     [](const Member& a, const Member& b) { return a.row < b.row; });
    std::vector<LabelId> set;
    auto member = members.begin();
    for (const std::uint32_t row : family.rows) {
      set.clear();
      for (; member != members.end() && member->row == row; ++member) set.push_back(member->child);
      family.sets.append(set);
    }
    return family;
  }

  const LabelGraph& graph_;
  const LabelSets& sets_;
  const std::vector<std::vector<std::uint32_t>> below_;
  std::vector<bool> is_partial_;  // whether each row has an inner node as label
};

}  // namespace

std::vector<Family> families_of(const LabelGraph& graph, const LabelSets& sets) {
  return Families(graph, sets).all();
}

void mirror_pairs(std::vector<Family>& families) {
  for (Family& family : families) {
    if (family.children.size() != 2 || !has_one_each(family.sets)) continue;
    LabelSets first;
    for (std::size_t i = 0; i < family.sets.num_rows(); ++i) {
      const auto set = family.sets[i];
      first.append(set.front() == 0 ? set : std::span<const LabelId>());
    }
    family.sets = std::move(first);
    family.is_mirrored = true;
  }
}

}  // namespace margrove
