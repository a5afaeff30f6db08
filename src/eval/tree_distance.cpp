#include "eval/tree_distance.hpp"

#include <algorithm>
#include <limits>

namespace margrove {
namespace {

void make_set(std::vector<NodeId>& nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

}  // namespace

TreeDistance::Climb TreeDistance::climb(NodeId start) const {
  Climb steps{{start, start, 0}};
  const auto add = [&](NodeId node, const Step& from) {
    const bool known =
        std::ranges::any_of(steps, [&](const Step& step) { return step.node == node; });
    if (!known) steps.push_back({node, from.node, from.edges + 1});
  };
  for (std::size_t k = 0; k < steps.size(); ++k) {  // breadth first: fewest edges
    const Step from = steps[k];
    if (from.node == top_) continue;
    const bool is_known = from.node < hierarchy_.num_nodes();
    if (!is_known || hierarchy_.is_root(from.node)) {
      add(top_, from);
      continue;
    }
    for (const NodeId parent : hierarchy_.parents(from.node)) add(parent, from);
  }
  std::ranges::sort(steps, {}, &Step::node);
  return steps;
}

std::vector<TreeDistance::Climb> TreeDistance::climbs(std::span<const LabelId> labels) const {
  std::vector<Climb> all;
  for (const LabelId label : labels) all.push_back(climb(label));
  if (all.empty()) all.push_back(climb(top_));
  return all;
}

TreeDistance::Meeting TreeDistance::nearest(const Climb& from, const std::vector<Climb>& to) {
  Meeting best{0, 0, std::numeric_limits<std::uint32_t>::max()};
  for (std::size_t other = 0; other < to.size(); ++other) {
    for (auto a = from.begin(), b = to[other].begin(); a != from.end() && b != to[other].end();) {
      if (a->node < b->node) {
        ++a;
      } else if (b->node < a->node) {
        ++b;
      } else {
        const std::uint32_t edges = a->edges + b->edges;
        if (edges < best.edges) best = {other, a->node, edges};
        ++a, ++b;
      }
    }
  }
  return best;
}

void TreeDistance::add_way(const Climb& climb, NodeId ancestor, std::vector<NodeId>& nodes) {
  for (NodeId n = ancestor;;) {
    nodes.push_back(n);
    const Step& step = *std::ranges::lower_bound(climb, n, {}, &Step::node);
    if (step.edges == 0) return;
    n = step.below;
  }
}

TreeDistance::Row TreeDistance::compare(std::span<const LabelId> truth,
                                        std::span<const LabelId> predicted) const {
  const std::vector<Climb> from_truth = climbs(truth), from_predicted = climbs(predicted);
  std::vector<NodeId> y, p;
  double edges = 0;
  for (const Climb& climb : from_truth) {
    const Meeting meeting = nearest(climb, from_predicted);
    edges += meeting.edges;
    add_way(climb, meeting.ancestor, y);
    add_way(from_predicted[meeting.other], meeting.ancestor, p);
  }
  for (const Climb& climb : from_predicted) {
    const Meeting meeting = nearest(climb, from_truth);
    edges += meeting.edges;
    add_way(climb, meeting.ancestor, p);
    add_way(from_truth[meeting.other], meeting.ancestor, y);
  }
  make_set(y);
  make_set(p);
  return {edges / static_cast<double>(from_truth.size() + from_predicted.size()),
          2.0 * static_cast<double>(count_common(y, p)) / static_cast<double>(y.size() + p.size())};
}

}  // namespace margrove
