#include "margrove/node_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>

#include "base/number_text.hpp"
#include "hierarchy/graph_operations.hpp"
#include "hierarchy/weight_paths.hpp"
#include "hierarchy/weight_program.hpp"
#include "margrove/errors.hpp"
#include "numerics/log_number.hpp"

namespace margrove {
namespace {

// min sum alpha^rho with path sums 1 on a forest. The subtree of n with budget b costs F_n b^rho:
//   leaf   F = 1
//   inner  S = sum_c F_c, x = log S / (rho - 1), k = 1 / (1 + exp(-x)), F = k^(rho - 1),
// where n takes the share k of its budget and leaves 1 - k to its children. log F is kept because F
// itself is out of range near rho = 1.
std::vector<double> power_on_tree(const LabelGraph& graph, double rho) {
  const auto order = graph.topological_order();
  std::vector<double> log_f(graph.num_nodes(), 0.0), logit(graph.num_nodes(), 0.0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const NodeId n = *it;
    if (graph.is_leaf(n)) continue;
    double largest = -std::numeric_limits<double>::infinity();
    for (const NodeId c : graph.children(n)) largest = std::max(largest, log_f[c]);
    double scaled_sum = 0;
    for (const NodeId c : graph.children(n)) scaled_sum += std::exp(log_f[c] - largest);
    logit[n] = (largest + std::log(scaled_sum)) / (rho - 1);
    log_f[n] = -(rho - 1) * softplus(-logit[n]);
  }
  std::vector<double> alpha(graph.num_nodes()), rest(graph.num_nodes());
  for (const NodeId n : order) {
    const double budget = graph.is_root(n) ? 1.0 : rest[graph.parents(n)[0]];
    alpha[n] = graph.is_leaf(n) ? budget : budget * sigmoid(logit[n]);
    rest[n] = graph.is_leaf(n) ? 0.0 : budget * sigmoid(-logit[n]);
  }
  return alpha;
}

// Progressive filling: all weights rise together; when the sum on the path of a leaf is `sum`, its
// nodes freeze. Those for which `rises` is false keep 0.
template <class Predicate>
std::vector<double> filled(const LabelGraph& graph, double sum, Predicate rises) {
  const NodeLists above = ancestor_sets(graph, graph.leaves());
  std::vector<std::vector<NodeId>> leaves_below(graph.num_nodes());
  std::vector<std::size_t> num_rising(graph.num_nodes(), 0);
  for (const NodeId l : graph.leaves()) {
    for (const NodeId n : above[l]) {
      if (!rises(n)) continue;
      leaves_below[n].push_back(l);
      ++num_rising[l];
    }
  }
  std::vector<double> alpha(graph.num_nodes(), 0.0), frozen_sum(graph.num_nodes(), 0.0);
  std::vector<bool> frozen(graph.num_nodes(), false);
  const auto full_at = [&](NodeId l) {
    return (sum - frozen_sum[l]) / static_cast<double>(num_rising[l]);
  };
  using Entry = std::pair<double, NodeId>;  // the level of a leaf only grows
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const NodeId l : graph.leaves()) {
    if (num_rising[l] > 0) queue.emplace(full_at(l), l);
  }
  while (!queue.empty()) {
    const auto [level, leaf] = queue.top();
    queue.pop();
    if (num_rising[leaf] == 0) continue;
    if (const double now = full_at(leaf); now > level) {
      queue.emplace(now, leaf);
      continue;
    }
    for (const NodeId n : above[leaf]) {
      if (frozen[n] || !rises(n)) continue;
      frozen[n] = true;
      alpha[n] = level;
      for (const NodeId l : leaves_below[n]) {
        frozen_sum[l] += level;
        --num_rising[l];
      }
    }
  }
  return alpha;
}

std::vector<double> maxmin(const LabelGraph& graph) {
  return filled(graph, 1.0, [](NodeId) { return true; });
}

// The nodes above the leaves have sums of `share` at most; a leaf has the rest of its path sum.
// What rounding leaves of it is 0.
std::vector<double> with_share(const LabelGraph& graph, double share) {
  std::vector<double> alpha = filled(graph, share, [&](NodeId n) { return !graph.is_leaf(n); });
  const std::vector<double> sums = path_sums(graph, alpha);
  constexpr double kRounding = 1e-12;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const double rest = 1.0 - sums[k];
    alpha[graph.leaves()[k]] = rest < kRounding ? 0.0 : rest;
  }
  return alpha;
}

NodeWeights by_programme(const LabelGraph& graph, const detail::WeightProgram& program,
                         const NodeWeightOptions& options, RunControl& control) {
  auto solution = detail::solve_weight_program(graph, program, options.kkt_tolerance,
                                               options.max_newton_steps, control);
  return {std::move(solution.alpha), solution.kkt_residual, solution.iterations, solution.stop};
}

NodeWeights in_closed_form(std::vector<double> alpha) { return {.alpha = std::move(alpha)}; }

/// A rule, its text and its weights.
struct Rule {
  std::string_view name;
  std::string_view parameter;  // its name; empty: the rule has none
  double usual;                // the parameter if none is given
  double least;                // the parameter must be at least this, and above it if `is_open`
  bool is_open;
  double most;
  std::string_view remedy;  // for a parameter below
  NodeWeights (*weights)(const LabelGraph& graph, double parameter,
                         const NodeWeightOptions& options, RunControl& control);
};

constexpr double kAny = std::numeric_limits<double>::infinity();

/// All rules. The path sum of every leaf is 1, except with uniform and relaxed.
constexpr std::array kRules{
    // alpha = 1.
    Rule{"uniform", "", 0, 0, false, kAny, "",
         [](const LabelGraph& graph, double, const NodeWeightOptions&, RunControl&) {
           return in_closed_form(std::vector<double>(graph.num_nodes(), 1.0));
         }},
    // 1 on leaves, 0 elsewhere.
    Rule{"leaves", "", 0, 0, false, kAny, "",
         [](const LabelGraph& graph, double, const NodeWeightOptions&, RunControl&) {
           std::vector<double> alpha(graph.num_nodes(), 0.0);
           for (const NodeId l : graph.leaves()) alpha[l] = 1.0;
           return in_closed_form(std::move(alpha));
         }},
    // min sum alpha^RHO: O(nodes) on trees, else convex programming.
    Rule{"power", "RHO", 2.0, 1, true, kAny, "; use maxmin for RHO = 1",
         [](const LabelGraph& graph, double rho, const NodeWeightOptions& options,
            RunControl& control) {
           return graph.is_tree() ? in_closed_form(power_on_tree(graph, rho))
                                  : by_programme(graph, {.rho = rho}, options, control);
         }},
    // min sum alpha^2 with alpha_child >= alpha_parent on every edge.
    Rule{
        "directional", "", 0, 0, false, kAny, "",
        [](const LabelGraph& graph, double, const NodeWeightOptions& options, RunControl& control) {
          return by_programme(graph, {.directional = true}, options, control);
        }},
    // The lexicographically largest sorted alpha; O(sum over leaves of |A(l)| * log).
    Rule{"maxmin", "", 0, 0, false, kAny, "",
         [](const LabelGraph& graph, double, const NodeWeightOptions&, RunControl&) {
           return in_closed_form(maxmin(graph));
         }},
    // Above the leaves the lexicographically largest sorted alpha with sums of at most S; leaves
    // have the rest.
    Rule{"share", "S", 0.5, 0, true, 1, "; use leaves for S = 0",
         [](const LabelGraph& graph, double share, const NodeWeightOptions&, RunControl&) {
           return in_closed_form(with_share(graph, share));
         }},
    // min sum alpha^2 with path sums in [1, T]. On trees this is power:2, since all multipliers of
    // the path sums are positive: the upper limit never binds.
    Rule{"relaxed", "T", 1.5, 1, false, kAny, "",
         [](const LabelGraph& graph, double longest, const NodeWeightOptions& options,
            RunControl& control) {
           return graph.is_tree() ? in_closed_form(power_on_tree(graph, 2.0))
                                  : by_programme(graph, {.longest = longest}, options, control);
         }},
};

std::string list_of_rules() {
  std::string all;
  for (const Rule& rule : kRules) {
    all += concat(all.empty() ? "" : ", ", rule.name, rule.parameter.empty() ? "" : ":",
                  rule.parameter);
  }
  return all;
}

/// The rule of this name. `text` is what messages quote.
const Rule& rule_named(std::string_view name, std::string_view text) {
  const auto* known = std::find_if(kRules.begin(), kRules.end(),
                                   [&](const Rule& rule) { return rule.name == name; });
  require<InvalidOption>(known != kRules.end(), "node weights: rule is '", text,
                         "', but must be one of ", NodeWeightRule::known());
  return *known;
}

void check_parameter(const Rule& rule, double parameter) {
  if (rule.parameter.empty()) return;
  require<InvalidOption>(rule.is_open ? parameter > rule.least : parameter >= rule.least,
                         "node weights: ", rule.parameter, " of ", rule.name, " is ", parameter,
                         ", but must be ", rule.is_open ? "> " : ">= ", rule.least, rule.remedy);
  require<InvalidOption>(parameter <= rule.most, "node weights: ", rule.parameter, " of ",
                         rule.name, " is ", parameter, ", but must be <= ", rule.most);
}

}  // namespace

NodeWeightRule NodeWeightRule::parse(std::string_view text) {
  const auto colon = text.find(':');
  const Rule& known = rule_named(text.substr(0, colon), text);
  NodeWeightRule rule{std::string(known.name), known.usual};
  if (colon == std::string_view::npos) return rule;
  require<InvalidOption>(!known.parameter.empty(), "node weights: rule is '", text, "', but ",
                         known.name, " takes no parameter");
  const auto number = text.substr(colon + 1);
  const auto parameter = read_number<double>(number);
  require<InvalidOption>(parameter && std::isfinite(*parameter), "node weights: parameter of ",
                         known.name, " is '", number, "', but must be a number");
  rule.parameter = *parameter;
  check_parameter(known, rule.parameter);
  return rule;
}

std::string NodeWeightRule::to_text() const {
  return rule_named(name, name).parameter.empty() ? name : concat(name, ':', parameter);
}

std::string_view NodeWeightRule::known() {
  static const std::string rules = list_of_rules();
  return rules;
}

std::string detail::node_weight_help(std::string_view uniform) {
  const std::string_view others = NodeWeightRule::known().substr(kRules.front().name.size());
  return concat("rule of the node weights: ", uniform, others);
}

NodeWeights node_weights(const LabelGraph& graph, const NodeWeightRule& rule,
                         const NodeWeightOptions& options, RunControl* control) {
  validate(options);
  const Rule& known = rule_named(rule.name, rule.name);
  check_parameter(known, rule.parameter);
  if (options.merge_duplicates) {
    const MergedGraph merged = merge_duplicates(graph);
    NodeWeightOptions merged_options = options;
    merged_options.merge_duplicates = false;
    NodeWeights of_class = node_weights(merged.graph, rule, merged_options, control);
    NodeWeights result = of_class;
    result.alpha.resize(graph.num_nodes());
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      const NodeId k = merged.class_of[n];
      result.alpha[n] = of_class.alpha[k] / merged.num_copies[k];
    }
    return result;
  }
  RunControl unlimited;
  return known.weights(graph, rule.parameter, options, control ? *control : unlimited);
}

std::vector<double> path_sums(const LabelGraph& graph, std::span<const double> alpha) {
  require(alpha.size() == graph.num_nodes(), "path_sums: alpha has ", alpha.size(),
          " entries, but must have one per node, ", graph.num_nodes());
  std::vector<double> sums;
  sums.reserve(graph.leaves().size());
  if (graph.is_tree()) {
    std::vector<double> down(alpha.begin(), alpha.end());
    for (const NodeId n : graph.topological_order()) {
      if (!graph.is_root(n)) down[n] += down[graph.parents(n)[0]];
    }
    for (const NodeId l : graph.leaves()) sums.push_back(down[l]);
    return sums;
  }
  for (const NodeId l : graph.leaves()) {
    double sum = 0;
    for (const NodeId n : graph.ancestors(l)) sum += alpha[n];
    sums.push_back(sum);
  }
  return sums;
}

std::string unweighted_leaves(const LabelGraph& graph, std::span<const double> alpha) {
  const auto leaves = graph.leaves();
  const auto count =
      std::count_if(leaves.begin(), leaves.end(), [&](NodeId leaf) { return alpha[leaf] < 1e-9; });
  if (count == 0) return {};
  return concat(
      "node weights: ", count, " of ", leaves.size(),
      " leaves have weight 0, so that only their ancestors distinguish them; alpha maxmin "
      "or directional gives every leaf a weight > 0");
}

MergedGraph merge_duplicates(const LabelGraph& graph) {
  // Partition refinement: each leaf separates the nodes above it from the others of their class.
  std::vector<NodeId> class_of(graph.num_nodes(), 0);
  std::vector<NodeId> split_to{0}, split_by{0};  // class -> where leaf number split_by moves it
  NodeId stamp = 0;
  for (const NodeId l : graph.leaves()) {
    ++stamp;
    for (const NodeId n : graph.ancestors(l)) {
      NodeId& k = class_of[n];
      if (split_by[k] != stamp) {
        split_by[k] = stamp;
        split_to[k] = static_cast<NodeId>(split_to.size());
        split_to.push_back(0);
        split_by.push_back(0);
      }
      k = split_to[k];
    }
  }
  MergedGraph merged;
  constexpr NodeId kUnnamed = ~NodeId{0};
  std::vector<NodeId> name(split_to.size(), kUnnamed);  // by first member, so that order is kept
  for (NodeId& k : class_of) {
    if (name[k] == kUnnamed) {
      name[k] = static_cast<NodeId>(merged.num_copies.size());
      merged.num_copies.push_back(0);
    }
    k = name[k];
    ++merged.num_copies[k];
  }
  // A parent of another class has strictly more leaves below it, so these edges close no cycle.
  std::vector<LabelEdge> edges;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    for (const NodeId c : graph.children(n)) {
      if (class_of[n] != class_of[c]) edges.push_back({class_of[n], class_of[c]});
    }
  }
  const auto by_ends = [](const LabelEdge& a, const LabelEdge& b) {
    return std::pair(a.parent, a.child) < std::pair(b.parent, b.child);
  };
  std::sort(edges.begin(), edges.end(), by_ends);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  merged.graph = LabelGraph::build(static_cast<std::uint32_t>(merged.num_copies.size()), edges);
  merged.class_of = std::move(class_of);
  return merged;
}

}  // namespace margrove
