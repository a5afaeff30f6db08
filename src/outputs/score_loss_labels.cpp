// Losses of given scores for the labels of a hierarchy: one path, or a set of leaves.

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "label_sets/label_set_inference.hpp"
#include "numerics/log_number.hpp"
#include "outputs/label_set/label_set_marginals.hpp"
#include "outputs/score_loss.hpp"
#include "outputs/scored_examples.hpp"
#include "structured/enumeration.hpp"

namespace margrove {
namespace {

template <class Real>
struct ScoredPaths {
  using Labelling = NodeId;
  struct Workspace {
    NodeId truth = 0;
    std::vector<double> nodes, labels, losses;
    std::vector<char> is_above;
  };
  const LabelGraph& graph;
  const PathLoss& loss;
  bool with_inner;
  const ScoreBlocks<Real>& nodes;
  const LossBlocks<Real>& out;
  std::vector<NodeId> labels;  // ascending
  NodeLists above;

  ScoredPaths(const LabelGraph& label_graph, const PathLoss& path_loss, bool inner_too,
              const ScoreBlocks<Real>& node_scores, const LossBlocks<Real>& result)
      : graph(label_graph),
        loss(path_loss),
        with_inner(inner_too),
        nodes(node_scores),
        out(result),
        labels(graph.leaves().begin(), graph.leaves().end()) {
    if (with_inner) {
      labels.resize(graph.num_nodes());
      std::iota(labels.begin(), labels.end(), NodeId{0});
    }
    above = ancestor_sets(graph, labels);
  }

  void check(const ScoreLossOptions& options) const {
    require_criteria(options.surrogate, Criteria::hamming);
  }

  void read(std::size_t i, Workspace& w) const {
    copy_finite(nodes.of(i), "scores", i, w.nodes);
    prepare(w);
  }
  NodeId labelling(std::size_t i, std::span<const std::int64_t> given, std::string_view what,
                   const Workspace&) const {
    const std::int64_t label = given[0];
    const bool is_flat = graph.num_edges() == 0;
    require(std::binary_search(labels.begin(), labels.end(), label), what, " of example ", i,
            " is ", label, ", but must be the number of a ",
            is_flat      ? "class"
            : with_inner ? "node"
                         : "leaf",
            is_flat ? concat(", 0 to ", labels.size() - 1) : "");
    return static_cast<NodeId>(label);
  }
  EnumerationOracle<NodeId> oracle(Workspace& w) const {
    fill_losses(w);
    const auto truth = place_of(w.truth);
    std::vector<Candidate<NodeId>> all;
    all.reserve(labels.size());
    for (std::size_t k = 0; k < labels.size(); ++k) {
      all.push_back({labels[k], w.labels[k] - w.labels[truth], w.losses[k]});
    }
    return {std::move(all), truth};
  }
  std::array<std::vector<double>*, 1> scores(Workspace& w) const { return {&w.nodes}; }
  void prepare(Workspace& w) const {
    w.labels.assign(labels.size(), 0.0);
    for (std::size_t k = 0; k < labels.size(); ++k) {
      for (const NodeId n : above[labels[k]]) w.labels[k] += w.nodes[n];
    }
  }
  NodeId best(Workspace& w) const {
    const auto place = std::max_element(w.labels.begin(), w.labels.end()) - w.labels.begin();
    return labels[static_cast<std::size_t>(place)];
  }
  double score(const Workspace& w, NodeId y) const { return w.labels[place_of(y)]; }

  void write(std::size_t i, NodeId y) const { out.best_of(i)[0] = y; }
  void add(std::size_t i, NodeId y, Real amount) const {
    for (const NodeId n : above[y]) nodes.gradient_of(i)[n] += amount;
  }
  double add_marginals(std::size_t i, Workspace& w) const {
    const double log_partition = log_sum_exp(w.labels);
    w.nodes.assign(w.nodes.size(), 0.0);
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const double probability = std::exp(w.labels[k] - log_partition);
      for (const NodeId n : above[labels[k]]) w.nodes[n] += probability;
    }
    for (std::size_t n = 0; n < w.nodes.size(); ++n) {
      nodes.gradient_of(i)[n] += static_cast<Real>(w.nodes[n]);
    }
    return log_partition;
  }

 private:
  std::size_t place_of(NodeId label) const {
    return static_cast<std::size_t>(std::lower_bound(labels.begin(), labels.end(), label) -
                                    labels.begin());
  }
  void fill_losses(Workspace& w) const {
    w.losses.resize(labels.size());
    if (!with_inner) return loss.from(w.truth, w.losses);
    w.is_above.assign(graph.num_nodes(), 0);
    double of_truth = 0.0;
    for (const NodeId n : above[w.truth]) {
      w.is_above[n] = 1;
      of_truth += loss.node_weight(n);
    }
    for (std::size_t k = 0; k < labels.size(); ++k) {
      double distance = of_truth;
      for (const NodeId n : above[labels[k]]) {
        distance += w.is_above[n] ? -loss.node_weight(n) : loss.node_weight(n);
      }
      w.losses[k] = loss.of_distance(distance);
    }
  }
};

template <class Real>
struct ScoredLabelSets {
  using Labelling = NodeShares;
  struct Workspace : LabelSetModel::Workspace {
    std::size_t example = 0;
    NodeShares truth;
    std::vector<double> nodes, probabilities;
    std::vector<float> columns;
    LabelSetInference::Workspace search;
  };
  const LabelGraph& graph;
  const ScoreBlocks<Real>& nodes;
  const LossBlocks<Real>& out;
  std::optional<LabelSetModel> model;  // of structured losses
  std::optional<LabelSetInference> inference;

  ScoredLabelSets(const LabelGraph& label_graph, LabelSetLoss loss,
                  const ScoreBlocks<Real>& node_scores, const LossBlocks<Real>& result,
                  const ScoreLossOptions& options)
      : graph(label_graph), nodes(node_scores), out(result) {
    if (options.task != ScoreTask::structured) {
      inference.emplace(graph);
      return;
    }
    // A model with one feature, which is 1, has the scores for its weights.
    CsrMatrix ones(1);
    LabelSets truth;
    const FeatureId feature{0};
    const float one = 1.0F;
    for (std::size_t i = 0; i < out.size(); ++i) {
      truth.append(leaves_of(i, out.truth_of(i), "truth"));
      ones.append_row({&feature, 1}, {&one, 1});
    }
    const std::vector<double> alpha(graph.num_nodes(), 1.0);
    model.emplace(ones, truth, graph, alpha, NodeStorage::all_features,
                  LabelSetTask{.loss = loss, .criteria = criteria_for(options.surrogate)});
  }

  void check(const ScoreLossOptions& options) const {
    const bool sums =
        options.task == ScoreTask::log_likelihood || options.task == ScoreTask::marginals;
    require<InvalidOption>(!sums || graph.is_tree(),
                           "log-likelihood: the hierarchy of the label sets has a node with two "
                           "parents, but must be a tree");
  }

  void read(std::size_t i, Workspace& w) const {
    w.example = i;
    copy_finite(nodes.of(i), "scores", i, w.nodes);
  }
  NodeShares labelling(std::size_t i, std::span<const std::int64_t> given, std::string_view what,
                       const Workspace&) const {
    NodeShares y;
    std::vector<NodeId>& all = y.nodes;
    for (const NodeId leaf : leaves_of(i, given, what)) {
      const auto path = graph.ancestors(leaf);
      all.insert(all.end(), path.begin(), path.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return y;
  }
  LabelSetModel::Oracle oracle(Workspace& w) const {
    w.columns.assign(model->num_weights(), 0.0F);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      const auto score = static_cast<float>(w.nodes[n]);
      require(std::isfinite(score), "scores of example ", w.example, ": score ", n, " is ", score,
              ", but must be finite");
      const std::uint32_t column = model->scorer().column(n);
      if (column != NodeScorer::kNoColumn) w.columns[column] = score;
    }
    return model->oracle(w.example, {w.columns, 1.0}, w);
  }
  std::array<std::vector<double>*, 1> scores(Workspace& w) const { return {&w.nodes}; }
  void prepare(Workspace&) const {}
  NodeShares best(Workspace& w) const {
    NodeShares y;
    inference->best(w.nodes, w.search, y.nodes);
    return y;
  }
  double score(const Workspace& w, const NodeShares& y) const {
    double sum = 0.0;
    for (const NodeId n : y.nodes) sum += w.nodes[n];
    return sum;
  }

  void write(std::size_t i, const NodeShares& y) const {
    for (const NodeId n : y.nodes) out.best_of(i)[n] = 1;
  }
  void add(std::size_t i, const NodeShares& y, Real amount) const {
    for (const NodeId n : y.nodes) nodes.gradient_of(i)[n] += amount;
  }
  double add_marginals(std::size_t i, Workspace& w) const {
    const double log_partition = label_set_marginals(graph, w.nodes, w.probabilities);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      nodes.gradient_of(i)[n] += static_cast<Real>(w.probabilities[n]);
    }
    return log_partition;
  }

 private:
  std::vector<NodeId> leaves_of(std::size_t i, std::span<const std::int64_t> given,
                                std::string_view what) const {
    const auto in_set = checked_labels<char>(given, out.width, 2, what, i);
    std::vector<char> is_implied(out.width, 0);
    std::vector<NodeId> leaves;
    for (const NodeId leaf : graph.leaves()) {
      if (!in_set[leaf]) continue;
      leaves.push_back(leaf);
      for (const NodeId n : graph.ancestors(leaf)) is_implied[n] = 1;
    }
    require(!leaves.empty(), what, " of example ", i, " has no leaf, but must have at least one");
    for (std::size_t n = 0; n < out.width; ++n) {
      require(!in_set[n] || is_implied[n], what, " of example ", i, " has node ", n,
              ", but no leaf below it");
    }
    return leaves;
  }
};

}  // namespace

template <class Real>
void path_losses(const LabelGraph& graph, const PathLoss& loss, bool with_inner,
                 const ScoreBlocks<Real>& nodes, const LossBlocks<Real>& out,
                 const ScoreLossOptions& options, Executor& executor) {
  run_examples(ScoredPaths<Real>(graph, loss, with_inner, nodes, out), out, options, executor);
}

template <class Real>
void label_set_losses(const LabelGraph& graph, LabelSetLoss loss, const ScoreBlocks<Real>& nodes,
                      const LossBlocks<Real>& out, const ScoreLossOptions& options,
                      Executor& executor) {
  run_examples(ScoredLabelSets<Real>(graph, loss, nodes, out, options), out, options, executor);
}

template void path_losses(const LabelGraph&, const PathLoss&, bool, const ScoreBlocks<float>&,
                          const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void path_losses(const LabelGraph&, const PathLoss&, bool, const ScoreBlocks<double>&,
                          const LossBlocks<double>&, const ScoreLossOptions&, Executor&);
template void label_set_losses(const LabelGraph&, LabelSetLoss, const ScoreBlocks<float>&,
                               const LossBlocks<float>&, const ScoreLossOptions&, Executor&);
template void label_set_losses(const LabelGraph&, LabelSetLoss, const ScoreBlocks<double>&,
                               const LossBlocks<double>&, const ScoreLossOptions&, Executor&);

}  // namespace margrove
