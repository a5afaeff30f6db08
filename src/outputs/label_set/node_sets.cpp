#include "outputs/label_set/node_sets.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {

NodeSetOracle::NodeSetOracle(NodeSetWorkspace& workspace, const LabelSetInference& inference,
                             const TreeRankings* rankings, const NodeSet& truth)
    : workspace_(workspace),
      inference_(inference),
      rankings_(rankings),
      truth_(truth),
      truth_score_(score(truth)) {}

double NodeSetOracle::score(const NodeSet& y) const {
  double sum = 0.0;
  for (const NodeId n : y) sum += workspace_.scores[n];
  return sum;
}

Candidate<NodeSet> NodeSetOracle::evaluate(const NodeSet& y) const {
  std::vector<NodeId> common;
  std::set_intersection(y.begin(), y.end(), truth_.begin(), truth_.end(),
                        std::back_inserter(common));
  const double loss =
      static_cast<double>(y.size() + truth_.size()) - 2.0 * static_cast<double>(common.size());
  return {y, score(y) - truth_score_, loss};
}

// A weight of 0 becomes one so small that it only decides ties; losses are whole numbers.
void NodeSetOracle::weigh(double w_m, double w_g) const {
  auto& w = workspace_;
  if (w_m == 0.0) {
    double total = 1.0;
    for (const double s : w.scores) total += std::abs(s);
    w_m = w_g / (4.0 * total);
  }
  if (w_g == 0.0) w_g = 1e-10 * w_m;
  w.weighted.resize(w.scores.size());
  for (std::size_t n = 0; n < w.scores.size(); ++n) w.weighted[n] = w_m * w.scores[n] + w_g;
  for (const NodeId n : truth_) w.weighted[n] -= 2.0 * w_g;
}

Candidate<NodeSet> NodeSetOracle::argmax(double w_m, double w_g) const {
  weigh(w_m, w_g);
  NodeSet y;
  inference_.best(workspace_.weighted, workspace_.inference, y);
  return evaluate(y);
}

std::vector<Candidate<NodeSet>> NodeSetOracle::k_best(double w_m, double w_g, int k) const {
  assert(has_k_best());
  weigh(w_m, w_g);
  rankings_->ranked.start(workspace_.weighted, workspace_.ranking);
  std::vector<Candidate<NodeSet>> best;
  NodeSet y;
  while (best.size() < static_cast<std::size_t>(k) &&
         rankings_->ranked.next(workspace_.ranking, y)) {
    best.push_back(evaluate(y));
  }
  return best;
}

std::optional<Candidate<NodeSet>> NodeSetOracle::argmax_without(
    double w_m, double w_g, std::span<const NodeSet> banned) const {
  assert(has_k_best());
  weigh(w_m, w_g);
  rankings_->ranked.start(workspace_.weighted, workspace_.ranking);
  NodeSet y;
  while (rankings_->ranked.next(workspace_.ranking, y)) {
    if (std::find(banned.begin(), banned.end(), y) == banned.end()) return evaluate(y);
  }
  return std::nullopt;
}

std::span<const double> NodeSetOracle::loss_front() const {
  assert(has_loss_front());
  const auto front = rankings_->front.solve(workspace_.scores, truth_, workspace_.front);
  workspace_.front_margins.assign(front.begin(), front.end());
  for (double& m : workspace_.front_margins) m -= truth_score_;
  return workspace_.front_margins;
}

Candidate<NodeSet> NodeSetOracle::at_loss(std::uint32_t g) const {
  NodeSet y;
  rankings_->front.collect(g, workspace_.front, y);
  return evaluate(y);
}

NodeSetModel::NodeSetModel(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
                           const LabelGraph& graph)
    : X_(X),
      num_nodes_(graph.num_nodes()),
      inference_(graph),
      squared_norms_(margrove::squared_norms(X)) {
  if (graph.is_tree()) rankings_.emplace(graph);
  require(leaves.size() == X.num_rows(), "node-set model: there are ", leaves.size(),
          " label sets, but ", X.num_rows(), " rows; there must be one per row");
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    require(!leaves[i].empty(), "node-set model: row ", i,
            " has no label, but must have at least one leaf");
    NodeSet y;
    for (const NodeId leaf : leaves[i]) {
      require(leaf < num_nodes_ && graph.is_leaf(leaf), "node-set model: a label of row ", i,
              " is ", leaf, ", but must be a leaf");
      const auto above = graph.ancestors(leaf);
      y.insert(y.end(), above.begin(), above.end());
    }
    std::sort(y.begin(), y.end());
    y.erase(std::unique(y.begin(), y.end()), y.end());
    truth_.push_back(std::move(y));
  }
}

void score_node_set(const SparseRow& x, std::size_t num_features, std::uint32_t num_nodes,
                    ScaledWeights w, NodeSetWorkspace& workspace) {
  workspace.scores.assign(num_nodes, 0.0);
  for (std::size_t j = 0; j < x.size() && x.columns[j] < num_features; ++j) {
    const double value = w.scale * static_cast<double>(x.values[j]);
    const float* weights = &w.values[x.columns[j] * std::size_t{num_nodes}];
    for (std::uint32_t n = 0; n < num_nodes; ++n) {
      workspace.scores[n] += value * static_cast<double>(weights[n]);
    }
  }
}

NodeSetOracle NodeSetModel::oracle(std::size_t i, ScaledWeights w,
                                   NodeSetWorkspace& workspace) const {
  score_node_set(X_.row(i), X_.num_columns(), num_nodes_, w, workspace);
  return {workspace, inference_, rankings_ ? &*rankings_ : nullptr, truth_[i]};
}

void NodeSetModel::difference(std::size_t i, const NodeSet& y, SparseVector& difference) const {
  const SparseRow x = X_.row(i);
  const NodeSet& truth = truth_[i];
  const auto add = [&](NodeId n, float sign) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      difference.add(x.columns[j] * std::uint64_t{num_nodes_} + n, sign * x.values[j]);
    }
  };
  for (const NodeId n : y) {
    if (!std::binary_search(truth.begin(), truth.end(), n)) add(n, 1.0F);
  }
  for (const NodeId n : truth) {
    if (!std::binary_search(y.begin(), y.end(), n)) add(n, -1.0F);
  }
}

void NodeSetModel::margins(std::size_t i, std::span<const NodeSet> labellings, ScaledWeights w,
                           NodeSetWorkspace& workspace, std::span<double> margins) const {
  const NodeSetOracle scores = oracle(i, w, workspace);
  for (std::size_t k = 0; k < labellings.size(); ++k) margins[k] = scores.evaluate(labellings[k]).m;
}

// <phi(x, y), phi(x, z)> = ||x||^2 |y n z|
void NodeSetModel::difference_products(std::size_t i, std::span<const NodeSet> labellings,
                                       std::span<double> products) const {
  const std::size_t size = labellings.size();
  const NodeSet& truth = truth_[i];
  std::vector<NodeSet> added(size), missing(size);
  for (std::size_t j = 0; j < size; ++j) {
    std::ranges::set_difference(labellings[j], truth, std::back_inserter(added[j]));
    std::ranges::set_difference(truth, labellings[j], std::back_inserter(missing[j]));
  }
  const auto common = [](const NodeSet& a, const NodeSet& b) {
    std::size_t count = 0;
    for (std::size_t j = 0, k = 0; j < a.size() && k < b.size();) {
      count += a[j] == b[k];
      const bool is_lower = a[j] <= b[k];
      k += b[k] <= a[j];
      j += is_lower;
    }
    return count;
  };
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      products[j * size + k] = products[k * size + j] =
          squared_norms_[i] *
          static_cast<double>(common(added[j], added[k]) + common(missing[j], missing[k]));
    }
  }
}

void NodeSetModel::add_differences(std::size_t i, std::span<const NodeSet> labellings,
                                   std::span<const double> coefficients,
                                   NodeSetWorkspace& workspace, std::span<float> w) const {
  std::vector<double>& total = workspace.weighted;
  total.assign(num_nodes_, 0.0);
  for (std::size_t j = 0; j < labellings.size(); ++j) {
    for (const NodeId n : labellings[j]) total[n] += coefficients[j];
    for (const NodeId n : truth_[i]) total[n] -= coefficients[j];
  }
  std::vector<NodeId> changed;
  for (NodeId n = 0; n < num_nodes_; ++n) {
    if (total[n] != 0.0) changed.push_back(n);
  }
  const SparseRow x = X_.row(i);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double value = static_cast<double>(x.values[j]);
    float* weights = &w[x.columns[j] * std::size_t{num_nodes_}];
    for (const NodeId n : changed) weights[n] += static_cast<float>(value * total[n]);
  }
}

}  // namespace margrove
