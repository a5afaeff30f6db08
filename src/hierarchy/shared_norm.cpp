// The weight step of the shared norm.
//   primal  min  sum_n N_n / alpha_n   subject to  sum_{n in A(l)} alpha_n <= 1, alpha >= 0
//   dual    max  s(mu)^2, s(mu) = sum_n sqrt(N_n mu(D(n))),  mu a distribution on leaves
// where mu(D(n)) is the mass of the leaves below n. alpha_n = sqrt(N_n / mu(D(n))), scaled by the
// largest path sum P, is feasible and costs P s: the relative gap is 1 - s / P.

#include "hierarchy/shared_norm.hpp"

#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/closing_time.hpp"
#include "base/out_of_time.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/errors.hpp"
#include "numerics/coefficient_scale.hpp"

namespace margrove {
namespace {

// The ones in a linear programme that is set up and reduced well within ClosingTime::kSeconds.
constexpr std::size_t kOnesInClosingTime = 20'000;

void require_squares(const LabelGraph& graph, std::span<const double> squared_norms) {
  require(squared_norms.size() == graph.num_nodes(), "shared norm: squared_norms has ",
          squared_norms.size(), " entries, but must have one per node, ", graph.num_nodes());
  for (std::size_t n = 0; n < squared_norms.size(); ++n) {
    require(squared_norms[n] >= 0 && std::isfinite(squared_norms[n]), "shared norm: squared_norms[",
            n, "] is ", squared_norms[n], ", but must be finite and >= 0");
  }
}

// The share of its budget that stays at an inner node with N, where S is the cost of the budget
// below it.
using ShareRule = double (*)(double N, double S);

double best_share(double N, double S) {
  const double root = std::sqrt(N) + std::sqrt(S);
  return root > 0 ? std::sqrt(N) / root : 0.0;
}
// Line 9 of algorithm 1: N <- (sqrt N + sqrt S)^2, and only then sqrt N / (sqrt S + sqrt N).
double printed_share(double N, double S) {
  const double root = std::sqrt(N) + std::sqrt(S);
  return root > 0 ? root / (std::sqrt(S) + root) : 0.0;
}

// A subtree with budget b costs F / b: leaves F = N; inner nodes S = sum_c F_c,
// F = (sqrt N + sqrt S)^2 where the share sqrt N / (sqrt N + sqrt S) of the budget stays at the
// node.
SharedWeights weights_on_tree(const LabelGraph& graph, std::span<const double> squared_norms,
                              ShareRule share_of) {
  const auto order = graph.topological_order();
  std::vector<double> below(graph.num_nodes(), 0.0), share(graph.num_nodes(), 1.0);
  SharedWeights result;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const NodeId n = *it;
    double cost = squared_norms[n];
    if (!graph.is_leaf(n)) {
      const double root = std::sqrt(squared_norms[n]) + std::sqrt(below[n]);
      share[n] = share_of(squared_norms[n], below[n]);
      cost = root * root;
    }
    if (graph.is_root(n))
      result.value += cost;
    else
      below[graph.parents(n)[0]] += cost;
  }
  result.alpha.resize(graph.num_nodes());
  std::vector<double> budget(graph.num_nodes(), 1.0);
  for (const NodeId n : order) {
    if (!graph.is_root(n)) {
      const NodeId p = graph.parents(n)[0];
      budget[n] = budget[p] * (1.0 - share[p]);
    }
    result.alpha[n] = budget[n] * share[n];
  }
  return result;
}

}  // namespace

// mu_l <- mu_l (path sum of l)^2, which solves flat graphs in one step. When that has lowered s,
// the first power, which never lowers it, is taken instead.
SharedWeights SharedNormStep::weights_on_dag(std::span<const double> squared_norms,
                                             const SharedNormOptions& options,
                                             RunControl& control) const {
  const std::size_t num_nodes = squared_norms.size(), num_leaves = paths_.num_leaves();
  std::vector<double> root(num_nodes), mass(num_nodes), alpha(num_nodes), scratch;
  for (std::size_t n = 0; n < num_nodes; ++n) root[n] = std::sqrt(squared_norms[n]);
  std::vector<double> mu(num_leaves, 1.0 / static_cast<double>(num_leaves)), sums(num_leaves);
  std::vector<double> last_mu = mu, last_sums(num_leaves);
  double last_s = 0, best_lower = 0;
  SharedWeights result;
  result.value = std::numeric_limits<double>::infinity();
  result.stop = Stop::pass_limit;
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    paths_.leaf_totals(mu, mass);
    double s = 0;
    for (std::size_t n = 0; n < num_nodes; ++n) {
      alpha[n] = root[n] > 0 && mass[n] > 0 ? root[n] / std::sqrt(mass[n]) : 0.0;
      if (root[n] > 0) s += root[n] * std::sqrt(mass[n]);
    }
    paths_.path_sums(alpha, sums, scratch);
    const bool overshot = s < last_s;
    const double longest = *std::max_element(sums.begin(), sums.end());
    result.iterations = iteration + 1;
    best_lower = std::max(best_lower, s * s);
    if (longest == 0) {  // all norms are 0, and every alpha is optimal
      result.alpha.assign(num_nodes, 0.0);
      result.value = result.relative_gap = 0;
      result.stop = Stop::converged;
      return result;
    }
    if (longest * s < result.value) {
      result.value = longest * s;
      result.alpha.resize(num_nodes);
      for (std::size_t n = 0; n < num_nodes; ++n) result.alpha[n] = alpha[n] / longest;
    }
    result.relative_gap = std::max(0.0, 1.0 - best_lower / result.value);
    if (result.relative_gap <= options.gap_tolerance) {
      result.stop = Stop::converged;
      break;
    }
    if ((iteration & 15) == 15 && !control.proceed()) {
      result.stop = control.stop_reason();
      break;
    }
    if (!overshot) {
      last_mu = mu;
      last_sums = sums;
      last_s = s;
    }
    double total = 0;
    for (std::size_t k = 0; k < num_leaves; ++k) {
      mu[k] = overshot ? last_mu[k] * last_sums[k] : mu[k] * sums[k] * sums[k];
      total += mu[k];
    }
    if (overshot) last_s = 0;
    for (double& m : mu) m /= total;
  }
  return result;
}

// m(n) = max(G_n, sum_c m(c)).
WeightBound SharedNormStep::bound_on_tree(std::span<const double> squared_norms) const {
  const auto& tree = graph();
  const auto order = tree.topological_order();
  std::vector<double> below(tree.num_nodes(), 0.0);
  std::vector<bool> taken(tree.num_nodes(), false);
  WeightBound bound;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const NodeId n = *it;
    taken[n] = tree.is_leaf(n) || squared_norms[n] >= below[n];
    const double most = taken[n] ? squared_norms[n] : below[n];
    if (tree.is_root(n))
      bound.value += most;
    else
      below[tree.parents(n)[0]] += most;
  }
  bound.alpha.assign(tree.num_nodes(), 0.0);
  std::vector<bool> spent(tree.num_nodes(), false);
  for (const NodeId n : order) {
    if (!tree.is_root(n)) spent[n] = spent[tree.parents(n)[0]];
    if (spent[n] || !taken[n]) continue;
    spent[n] = true;
    bound.alpha[n] = 1.0;
  }
  return bound;
}

WeightBound SharedNormStep::bound_on_dag(std::span<const double> squared_norms,
                                         RunControl* control) const {
  const auto& dag = graph();
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<std::vector<int>> leaves_below(dag.num_nodes());
  for (std::size_t k = 0; k < dag.leaves().size(); ++k) {
    for (const NodeId n : dag.ancestors(dag.leaves()[k])) {
      leaves_below[n].push_back(static_cast<int>(k));
    }
  }
  for (const auto& below : leaves_below) {
    rows.insert(rows.end(), below.begin(), below.end());
    starts.push_back(static_cast<CoinBigIndex>(rows.size()));
  }
  const double scale = coefficient_scale(squared_norms);
  std::vector<double> objective(squared_norms.begin(), squared_norms.end());
  for (double& value : objective) value /= scale;
  const bool has_limit = control != nullptr && std::isfinite(control->seconds_left());
  if (control != nullptr && !control->proceed() && rows.size() > kOnesInClosingTime) {
    throw OutOfTime{};
  }
  const std::vector<double> ones(rows.size(), 1.0), lower(dag.num_nodes(), 0.0);
  const std::vector<double> row_upper(dag.leaves().size(), 1.0);
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> upper(dag.num_nodes(), infinity);
  const std::vector<double> row_lower(dag.leaves().size(), -infinity);
  const std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> model(Clp_newModel(),
                                                                       &Clp_deleteModel);
  Clp_setLogLevel(model.get(), 0);
  Clp_loadProblem(model.get(), static_cast<int>(dag.num_nodes()),
                  static_cast<int>(dag.leaves().size()), starts.data(), rows.data(), ones.data(),
                  lower.data(), upper.data(), objective.data(), row_lower.data(), row_upper.data());
  Clp_setOptimizationDirection(model.get(), -1);
  if (has_limit) {
    Clp_setMaximumSeconds(model.get(), control->seconds_left() + ClosingTime::kSeconds);
  }
  Clp_initialSolve(model.get());
  if (has_limit && !Clp_isProvenOptimal(model.get())) throw OutOfTime{};
  require<Error>(Clp_isProvenOptimal(model.get()), "shared norm: CLP ended with status ",
                 Clp_status(model.get()), ", but the linear programme has an optimum");
  WeightBound bound;
  const double* alpha = Clp_primalColumnSolution(model.get());
  // CLP's bounds hold up to its tolerance only.
  for (std::size_t n = 0; n < dag.num_nodes(); ++n) bound.alpha.push_back(std::max(alpha[n], 0.0));
  bound.value = scale * Clp_objectiveValue(model.get());
  return bound;
}

SharedWeights SharedNormStep::weights(std::span<const double> squared_norms,
                                      const SharedNormOptions& options, RunControl* control) const {
  validate(options);
  require_squares(graph(), squared_norms);
  if (graph().is_tree()) return weights_on_tree(graph(), squared_norms, best_share);
  RunControl unlimited;
  return weights_on_dag(squared_norms, options, control ? *control : unlimited);
}

WeightBound SharedNormStep::largest_weighted_sum(std::span<const double> squared_norms,
                                                 RunControl* control) const {
  require_squares(graph(), squared_norms);
  return graph().is_tree() ? bound_on_tree(squared_norms) : bound_on_dag(squared_norms, control);
}

std::vector<double> printed_shared_weights(const LabelGraph& tree,
                                           std::span<const double> squared_norms) {
  require_squares(tree, squared_norms);
  require(tree.is_tree(),
          "shared norm: some nodes have several parents, but algorithm 1 is for trees");
  return weights_on_tree(tree, squared_norms, printed_share).alpha;
}

}  // namespace margrove
