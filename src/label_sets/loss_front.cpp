#include "label_sets/loss_front.hpp"

#include <algorithm>
#include <utility>

#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// The origin of a best sum over siblings: the loss of the last sibling, and whether it, the others
// or both are chosen.
enum : std::uint32_t { kOnlyOthers = 0, kBoth = 1, kOnlyThis = 2 };
constexpr std::uint32_t pack(std::uint32_t loss, std::uint32_t kind) { return 4 * loss + kind; }

}  // namespace

LossFront::LossFront(const LabelGraph& tree) : num_nodes_(tree.num_nodes()) {
  require_tree(tree, "loss front");
  for (NodeId n = 0; n < num_nodes_; ++n) children_.append_row(tree.children(n));
  children_.append_row(tree.roots());
  order_.assign(tree.topological_order().rbegin(), tree.topological_order().rend());
}

std::span<const double> LossFront::solve(std::span<const double> scores, std::span<const NodeId> t,
                                         Workspace& workspace, std::span<const char> counts) const {
  require(scores.size() == num_nodes_, "loss front: scores has ", scores.size(),
          " entries, but must have one per node, ", num_nodes_);
  auto& w = workspace;
  w.with_.resize(num_nodes_);
  w.how_.resize(num_nodes_);
  w.without_.assign(num_nodes_ + std::size_t{1}, 0);
  w.is_wrong_.assign(num_nodes_, 1);
  if (!counts.empty()) w.is_wrong_.assign(counts.begin(), counts.end());
  for (const NodeId n : t) std::swap(w.without_[n], w.is_wrong_[n]);
  for (const NodeId n : order_) {
    const std::uint32_t is_wrong = w.is_wrong_[n];
    if (children_[n].empty()) {
      w.merged_.assign(1, 0.0);
    } else {
      merge_children(n, w);
    }
    auto& with = w.with_[n];
    with.assign(w.merged_.size() + is_wrong, kNone);
    for (std::size_t g = 0; g < w.merged_.size(); ++g)
      with[g + is_wrong] = scores[n] + w.merged_[g];
  }
  merge_children(num_nodes_, w);
  w.front_.swap(w.merged_);
  return w.front_;
}

// merged_[g] = the best sum over non-empty choices below n with loss g there. Adds the loss of
// choosing nothing there to without_[n].
void LossFront::merge_children(std::uint32_t n, Workspace& w) const {
  std::uint32_t none = 0;  // loss of choosing nothing among the children so far
  auto& next = w.next_;
  w.merged_.clear();  // no children yet, so no non-empty choice
  for (const NodeId c : children_[n]) {
    const auto& with = w.with_[c];
    const std::uint32_t out = w.without_[c];
    const std::size_t before = w.merged_.size();
    const std::size_t size = std::max(
        before == 0 ? 0 : before + std::max<std::size_t>(with.size() - 1, out), with.size() + none);
    next.assign(size, kNone);
    auto& how = w.how_[c];
    how.assign(size, 0);
    for (std::size_t g = 0; g < before; ++g) {
      next[g + out] = w.merged_[g];
      how[g + out] = pack(out, kOnlyOthers);
    }
    const auto improve = [&](std::size_t g, double value, std::uint32_t packed) {
      if (value > next[g]) {
        next[g] = value;
        how[g] = packed;
      }
    };
    for (std::uint32_t j = 0; j < with.size(); ++j) {
      if (with[j] == kNone) continue;
      improve(j + none, with[j], pack(j, kOnlyThis));
      for (std::size_t g = 0; g < before; ++g) {
        improve(g + j, w.merged_[g] + with[j], pack(j, kBoth));
      }
    }
    none += out;
    w.merged_.swap(next);
  }
  w.without_[n] += none;
}

void LossFront::collect(std::uint32_t loss, const Workspace& workspace,
                        std::vector<NodeId>& nodes) const {
  nodes.clear();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> open{{num_nodes_, loss}};
  while (!open.empty()) {
    const auto [n, below] = open.back();
    open.pop_back();
    const auto siblings = children_[n];
    std::uint32_t left = below;
    for (std::size_t k = siblings.size(); k-- > 0;) {
      const NodeId c = siblings[k];
      const std::uint32_t packed = workspace.how_[c][left], kind = packed % 4, part = packed / 4;
      if (kind != kOnlyOthers) {
        nodes.push_back(c);
        if (!children_[c].empty()) open.emplace_back(c, part - workspace.is_wrong_[c]);
      }
      if (kind == kOnlyThis) break;
      left -= part;
    }
  }
  std::sort(nodes.begin(), nodes.end());
}

}  // namespace margrove
