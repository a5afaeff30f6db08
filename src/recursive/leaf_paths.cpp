#include "recursive/leaf_paths.hpp"

#include <algorithm>

#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

void assign_slots(const AdditiveProblem& problem, const NodeLists& ancestors, LeafPaths& paths) {
  const std::size_t num_nodes = problem.graph->num_nodes();
  std::vector<std::uint32_t> num_below(num_nodes, 0);
  for (const NodeId t : paths.targets) {
    for (const NodeId m : ancestors[t]) ++num_below[m];
  }
  paths.slot.assign(num_nodes, LeafPaths::kNoSlot);
  for (NodeId m = 0; m < num_nodes; ++m) {
    if (num_below[m] <= 1 || problem.alpha[m] <= 0) continue;
    paths.slot[m] = paths.num_slots();
    paths.node_of.push_back(m);
  }
}

void split_paths(const AdditiveProblem& problem, const NodeLists& ancestors, LeafPaths& paths) {
  const std::size_t num_targets = paths.targets.size();
  paths.path_sum.resize(num_targets);
  paths.private_alpha.resize(num_targets);
  paths.inner.resize(num_targets);
  paths.below.resize(paths.num_slots());
  paths.owner.assign(problem.graph->num_nodes(), LeafPaths::kNoSlot);
  for (std::uint32_t t = 0; t < num_targets; ++t) {
    for (const NodeId m : ancestors[paths.targets[t]]) {
      paths.path_sum[t] += problem.alpha[m];
      if (paths.slot[m] != LeafPaths::kNoSlot) {
        paths.inner[t].push_back(m);
        paths.below[paths.slot[m]].push_back(t);
      } else {
        paths.private_alpha[t] += problem.alpha[m];
        paths.owner[m] = t;
      }
    }
    require(paths.path_sum[t] > 0, "joint_dual: the weights on the path of node ", paths.targets[t],
            " are all 0");
  }
}

}  // namespace

std::vector<NodeId> ordered_targets(const AdditiveProblem& problem) {
  const LabelGraph& graph = *problem.graph;
  std::vector<bool> is_target(graph.num_nodes(), false);
  for (const NodeId t : problem.targets) is_target[t] = true;
  std::vector<NodeId> targets;
  std::vector<bool> seen(graph.num_nodes(), false);
  std::vector<NodeId> stack(graph.roots().rbegin(), graph.roots().rend());
  while (!stack.empty()) {
    const NodeId n = stack.back();
    stack.pop_back();
    if (seen[n]) continue;
    seen[n] = true;
    if (is_target[n]) targets.push_back(n);
    const auto children = graph.children(n);
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return targets;
}

std::vector<std::vector<std::uint32_t>> rows_of_targets(const LabelSets& labels,
                                                        std::span<const NodeId> targets,
                                                        std::uint32_t num_nodes,
                                                        std::string_view solver) {
  std::vector<std::uint32_t> target_of(num_nodes, LeafPaths::kNoSlot);
  for (std::uint32_t t = 0; t < targets.size(); ++t) target_of[targets[t]] = t;
  std::vector<std::vector<std::uint32_t>> rows(targets.size());
  for (std::uint32_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId label : labels[i]) {
      require(label < num_nodes && target_of[label] != LeafPaths::kNoSlot, solver, ": label ",
              label, " of row ", i, " is not a target");
      rows[target_of[label]].push_back(i);
    }
  }
  return rows;
}

bool LeafPaths::is_positive(std::size_t t, std::uint32_t row) const {
  return std::binary_search(positives[t].begin(), positives[t].end(), row);
}

LeafPaths leaf_paths(const AdditiveProblem& problem) {
  LeafPaths paths;
  paths.targets = ordered_targets(problem);
  const NodeLists ancestors = ancestor_sets(*problem.graph, paths.targets);
  assign_slots(problem, ancestors, paths);
  split_paths(problem, ancestors, paths);
  paths.positives =
      rows_of_targets(*problem.labels, paths.targets, problem.graph->num_nodes(), "joint_dual");
  return paths;
}

}  // namespace margrove::detail
