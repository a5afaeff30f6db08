// margrove hierarchy

#include <fmt/format.h>

#include <algorithm>

#include "cli/verbs.hpp"
#include "data/hierarchy_edges.hpp"
#include "hierarchy/graph_operations.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "margrove/node_weights.hpp"
#include "model/training_set.hpp"

namespace margrove::cli {
namespace {

void print_shape(const LabelGraph& graph) {
  std::uint32_t depth = 0;
  std::size_t most_children = 0, most_parents = 0, inner = 0, child_edges = 0;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    depth = std::max(depth, graph.depth(n));
    most_children = std::max(most_children, graph.children(n).size());
    most_parents = std::max(most_parents, graph.parents(n).size());
    if (!graph.is_leaf(n)) {
      ++inner;
      child_edges += graph.children(n).size();
    }
  }
  double leaf_depths = 0;
  for (const NodeId leaf : graph.leaves()) leaf_depths += graph.depth(leaf);
  const auto print = [](std::string_view name, auto value) {
    print_text(fmt::format("{:<26} {}\n", name, value));
  };
  const auto per = [](double sum, std::size_t count) {
    return fmt::format("{:.2f}", count > 0 ? sum / static_cast<double>(count) : 0.0);
  };
  print("shape", graph.is_tree() ? (graph.roots().size() == 1 ? "tree" : "forest") : "graph");
  print("nodes", graph.num_nodes());
  print("edges", graph.num_edges());
  print("roots", graph.roots().size());
  print("leaves", graph.leaves().size());
  print("depth", depth);
  print("mean depth of leaves", per(leaf_depths, graph.leaves().size()));
  print("mean children", per(static_cast<double>(child_edges), inner));
  print("most children", most_children);
  print("most parents", most_parents);
}

/// kept[n] is the label of node n of the graph.
void print_weights(const LabelGraph& graph, const std::vector<NodeId>& kept,
                   const LabelCodec& codec, const NodeWeights& weights) {
  print_text("\nnode\tdepth\talpha\n");
  for (const NodeId n : graph.topological_order()) {
    print_text(fmt::format("{}\t{}\t{}\n", codec.name(kept[n]), graph.depth(n), weights.alpha[n]));
  }
  print_text("\nleaf\tpath_sum\n");
  const std::vector<double> sums = path_sums(graph, weights.alpha);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    print_text(fmt::format("{}\t{}\n", codec.name(kept[graph.leaves()[k]]), sums[k]));
  }
}

class ShowHierarchy final : public Command {
 public:
  explicit ShowHierarchy(CLI::App& app) {
    app.add_option("FILE", path_, "lines `parent child`, OBO or SKOS")->required()->type_name("");
    app.add_flag("--part-of", read_.part_of, "OBO: read the edges of part_of, too");
    app.add_option(
           "--alpha", alpha_,
           concat("also print node weights and path sums by a rule: ", NodeWeightRule::known()))
        ->type_name("RULE");
    options_.declare(app, "Node weights");
  }

  int run() override {
    CommandControl control(false);
    read_.control = &control.run();
    const Hierarchy hierarchy = read_hierarchy(path_, read_);
    for (const std::string& message : hierarchy.warnings) warn(message);
    const LabelledRows labelled = label_rows({}, {}, &hierarchy, path_);
    print_shape(labelled.hierarchy);
    if (alpha_.empty()) return kOk;
    // As in hsvm and nhsvm, nodes above all leaves have no weight.
    const auto [graph, kept] = without_common_roots(labelled.hierarchy);
    const NodeWeights weights =
        node_weights(graph, NodeWeightRule::parse(alpha_), options_.parse(), &control.run());
    control.end_progress();
    print_weights(graph, kept, labelled.codec, weights);
    if (const std::string warning = unweighted_leaves(graph, weights.alpha); !warning.empty()) {
      warn(warning);
    }
    return kOk;
  }

 private:
  std::string path_, alpha_;
  HierarchyOptions read_;
  BoundOptions<NodeWeightOptions> options_;
};

}  // namespace

Verb hierarchy_verb() {
  return make_verb<ShowHierarchy>("hierarchy",
                                  "shape of a label hierarchy, node weights and path sums");
}

}  // namespace margrove::cli
