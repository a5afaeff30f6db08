// Node weights of a large random DAG: time and certificate of every rule.
//
//   bench_node_weights [nodes = 50000] [edges = 100000] [rule ...]
//
// The DAG has twelve levels, each twice as large as the one before. A node has as parents the node
// above its place and others near that one, drawn until there are enough edges. It has some dozens
// of ancestors, as in real hierarchies.
//
// One thread; processor time. Prints Markdown. The KKT residual is the largest violation of the
// optimality conditions, computed from the final weights and multipliers.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/node_weights.hpp"

using namespace margrove;

namespace {

LabelGraph random_dag(std::uint32_t num_nodes, std::size_t num_edges) {
  constexpr std::uint32_t kLevels = 12, kNear = 3;
  Random random(0);
  std::vector<std::uint32_t> first;  // node of each level, and the end
  for (std::uint32_t level = 0; level <= kLevels; ++level) {
    first.push_back(static_cast<std::uint32_t>(double(num_nodes) * ((1U << level) - 1U) /
                                               ((1U << kLevels) - 1U)));
  }
  std::vector<std::pair<NodeId, NodeId>> pairs;
  const auto add_parent = [&](NodeId n, std::int64_t step) {
    const auto level = std::upper_bound(first.begin(), first.end(), n) - first.begin() - 1;
    if (level == 0) return;
    const std::int64_t begin = first[std::size_t(level)], above = first[std::size_t(level) - 1];
    const std::int64_t place = above + (n - begin) / 2 + step;
    pairs.emplace_back(static_cast<NodeId>(std::clamp(place, above, begin - 1)), n);
  };
  for (NodeId n = 0; n < num_nodes; ++n) add_parent(n, 0);
  while (pairs.size() < num_edges) {
    while (pairs.size() < num_edges) {
      const auto step = static_cast<std::int64_t>(random.below(2 * kNear + 1)) - kNear;
      add_parent(static_cast<NodeId>(random.below(num_nodes)), step);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  }
  std::vector<LabelEdge> edges;
  for (const auto& [parent, child] : pairs) edges.push_back({parent, child});
  return LabelGraph::build(num_nodes, edges);
}

}  // namespace

int main(int argc, char** argv) {
  const auto num_nodes = static_cast<std::uint32_t>(argc > 1 ? std::atoi(argv[1]) : 50000);
  const auto num_edges = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 100000);
  std::vector<std::string> rules(argv + std::min(argc, 3), argv + argc);
  if (rules.empty()) {
    rules = {"uniform", "leaves", "maxmin", "power:2", "power:1.5", "directional", "relaxed:1.5"};
  }
  const LabelGraph graph = random_dag(num_nodes, num_edges);
  fmt::print("{} nodes, {} edges, {} leaves\n\n", graph.num_nodes(), graph.num_edges(),
             graph.leaves().size());
  fmt::print("| rule | CPU s | Newton steps | KKT residual | path sums | leaves of weight 0 |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (const std::string& rule : rules) {
    const std::clock_t start = std::clock();
    const NodeWeights weights = node_weights(graph, NodeWeightRule::parse(rule));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const std::vector<double> sums = path_sums(graph, weights.alpha);
    const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
    const auto zero = std::count_if(graph.leaves().begin(), graph.leaves().end(),
                                    [&](NodeId leaf) { return weights.alpha[leaf] < 1e-9; });
    fmt::print("| {} | {:.2f} | {} | {:.0e} | {:.6f} to {:.6f} | {} |\n", rule, seconds,
               weights.iterations, weights.kkt_residual, *least, *most, zero);
    std::fflush(stdout);
  }
  return 0;
}
