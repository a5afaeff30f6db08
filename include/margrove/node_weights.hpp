#pragma once
// Node weights alpha, which divide the regulariser of a node's weights (docs/notation.md, "Node
// weights"; NHSVM section 5).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

/// A rule and its parameter. As text it is the name, followed by a colon and the parameter if there
/// is one: "power:1.5". The table in src/hierarchy/node_weights.cpp defines all rules;
/// docs/notation.md derives them.
struct NodeWeightRule {
  std::string name = "uniform";
  double parameter = 0;  // of rules that have one

  /// Throws InvalidOption for an unknown rule (listing the known ones) and for a parameter that is
  /// missing or out of range.
  static NodeWeightRule parse(std::string_view text);
  /// parse(to_text()) is the same rule.
  std::string to_text() const;
  /// The texts of all rules, uniform first: "uniform, leaves, power:RHO, ...".
  static std::string_view known();
  bool operator==(const NodeWeightRule&) const = default;
};

namespace detail {
/// The help text of an option that is a rule. It lists the rules; `uniform` is the text for the
/// rule of that name.
std::string node_weight_help(std::string_view uniform = "uniform");
}  // namespace detail

struct NodeWeightOptions {
  bool merge_duplicates = false;
  double kkt_tolerance = 1e-9;
  int max_newton_steps = 1000;

  static auto fields() {
    return std::tuple{
        field("merge_duplicates", &NodeWeightOptions::merge_duplicates,
              "compute the weights on the graph in which nodes with the same leaves below them "
              "are merged, and split each weight evenly over the copies"),
        field("kkt_tolerance", &NodeWeightOptions::kkt_tolerance, positive,
              "largest violation of an optimality condition of the weights"),
        field("max_newton_steps", &NodeWeightOptions::max_newton_steps, at_least(1),
              "maximum number of Newton steps of the solver for weights on graphs"),
    };
  }
};

struct NodeWeights {
  std::vector<double> alpha;  // one per node, >= 0
  /// The largest violation of the rule's optimality conditions, computed from the final alpha and
  /// multipliers; path sums are wrong by no more than this. It is 0 for rules with a closed form,
  /// which are exact up to rounding.
  double kkt_residual = 0;
  std::int64_t iterations = 0;  // Newton steps; 0 for rules with a closed form
  Stop stop = Stop::converged;
};

/// The weights of `rule` on `graph`. Throws InvalidOption for an unknown rule and for a parameter
/// that is out of range.
NodeWeights node_weights(const LabelGraph& graph, const NodeWeightRule& rule,
                         const NodeWeightOptions& options = {}, RunControl* control = nullptr);

}  // namespace margrove
