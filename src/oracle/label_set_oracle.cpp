#include "margrove/oracle/label_set_oracle.hpp"

#include <algorithm>

#include "margrove/base/errors.hpp"

namespace margrove {
namespace {

// Sum of the weights over y △ z.
double symmetric_difference(std::span<const NodeId> y, std::span<const NodeId> z,
                            std::span<const double> weights) {
  double sum = 0.0;
  auto p = y.begin(), q = z.begin();
  while (p != y.end() || q != z.end()) {
    if (q == z.end() || (p != y.end() && *p < *q)) {
      sum += weights[*p++];
    } else if (p == y.end() || *q < *p) {
      sum += weights[*q++];
    } else {
      ++p, ++q;
    }
  }
  return sum;
}

}  // namespace

LabelSetModel::LabelSetModel(const CsrView& X, const LabelSets& leaves_of_row,
                             const LabelGraph& graph, std::span<const double> alpha,
                             bool all_features)
    : scorer_(X, graph, alpha, all_features),
      inference_(graph),
      alpha_(alpha.begin(), alpha.end()),
      leaf_(graph.num_nodes(), 0.0),
      leaves_(graph.leaves().begin(), graph.leaves().end()) {
  require(leaves_of_row.num_rows() == X.num_rows(), "label set model: ", leaves_of_row.num_rows(),
          " label sets, but must be one a row of X, ", X.num_rows());
  for (const NodeId leaf : leaves_) leaf_[leaf] = 1.0;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    require(!leaves_of_row[i].empty(), "label set model: row ", i,
            " has no label, but must have one or more");
    Labelling y;
    for (const NodeId leaf : leaves_of_row[i]) {
      require(leaf < graph.num_nodes() && graph.is_leaf(leaf), "label set model: a label of row ",
              i, " is ", leaf, ", but must be a leaf of the graph");
      const std::vector<NodeId> path = graph.ancestors(leaf);
      y.insert(y.end(), path.begin(), path.end());
    }
    std::sort(y.begin(), y.end());
    y.erase(std::unique(y.begin(), y.end()), y.end());
    truth_.push_back(std::move(y));
  }
}

LabelSetModel::Oracle LabelSetModel::oracle(std::size_t i, ScaledWeights w, Workspace& ws) const {
  scorer_.scores(i, w, ws.node_scores);
  ws.scores.assign(leaf_.size(), 0.0);
  for (std::uint32_t c = 0; c < scorer_.num_columns(); ++c) {
    ws.scores[scorer_.node(c)] = static_cast<double>(ws.node_scores[c]);
  }
  Oracle oracle;
  oracle.model_ = this;
  oracle.example_ = i;
  oracle.workspace_ = &ws;
  for (const NodeId n : truth_[i]) oracle.truth_score_ += ws.scores[n];
  return oracle;
}

Candidate<LabelSetModel::Labelling> LabelSetModel::Oracle::argmax(double w_m, double w_g) const {
  Workspace& ws = *workspace_;
  ws.rewards.resize(ws.scores.size());
  for (std::size_t n = 0; n < ws.scores.size(); ++n) ws.rewards[n] = w_m * ws.scores[n];
  for (const NodeId leaf : model_->leaves_) ws.rewards[leaf] += w_g;
  for (const NodeId n : model_->truth_[example_]) ws.rewards[n] -= 2 * w_g * model_->leaf_[n];
  Labelling y;
  model_->inference_.best(ws.rewards, ws.inference, y);
  return evaluate(y);
}

Candidate<LabelSetModel::Labelling> LabelSetModel::Oracle::truth() const {
  return {model_->truth_[example_], 0.0, 0.0};
}

Candidate<LabelSetModel::Labelling> LabelSetModel::Oracle::evaluate(const Labelling& y) const {
  double score = 0.0;
  for (const NodeId n : y) score += workspace_->scores[n];
  return {y, score - truth_score_, model_->task_loss(y, model_->truth_[example_])};
}

double LabelSetModel::task_loss(const Labelling& y, const Labelling& z) const {
  return symmetric_difference(y, z, leaf_);
}

double LabelSetModel::alpha_distance(const Labelling& y, const Labelling& z) const {
  return symmetric_difference(y, z, alpha_);
}

void LabelSetModel::difference(std::size_t i, const Labelling& y, SparseVector& difference) const {
  const SparseRow x = scorer_.row(i);
  const auto add_nodes = [&](const Labelling& nodes, const Labelling& others, float sign) {
    for (const NodeId n : nodes) {
      const std::uint32_t c = scorer_.column(n);
      if (c == NodeScorer::kNoColumn || std::binary_search(others.begin(), others.end(), n)) {
        continue;
      }
      for (std::size_t k = 0; k < x.size(); ++k) {
        difference.add(scorer_.index(x.columns[k], c), sign * scorer_.sqrt_alpha(c) * x.values[k]);
      }
    }
  };
  add_nodes(y, truth_[i], 1.0F);
  add_nodes(truth_[i], y, -1.0F);
}

void LabelSetModel::margins(std::size_t i, std::span<const Labelling> labellings, ScaledWeights w,
                            Workspace& ws, std::span<double> margins) const {
  const auto each_column = [&](const Labelling& y, const auto& visit) {
    for (const NodeId n : y) {
      if (scorer_.column(n) != NodeScorer::kNoColumn) visit(scorer_.column(n));
    }
  };
  const auto touch = [&](std::uint32_t c) { ws.scratch.add(c, 0.0); };
  each_column(truth_[i], touch);
  for (const Labelling& y : labellings) each_column(y, touch);
  scorer_.gather(i, w, ws.scratch);
  double truth_score = 0.0;
  each_column(truth_[i], [&](std::uint32_t c) { truth_score += ws.scratch.sums[c]; });
  for (std::size_t k = 0; k < labellings.size(); ++k) {
    margins[k] = -truth_score;
    each_column(labellings[k], [&](std::uint32_t c) { margins[k] += ws.scratch.sums[c]; });
  }
  ws.scratch.clear();
}

void LabelSetModel::difference_products(std::size_t i, std::span<const Labelling> labellings,
                                        std::span<double> products) const {
  // <y - t, z - t> = (|y - t|^2 + |z - t|^2 - |y - z|^2) / 2
  const std::size_t size = labellings.size();
  const double norm = scorer_.squared_norm(i);
  for (std::size_t j = 0; j < size; ++j) {
    products[j * size + j] = norm * alpha_distance(labellings[j], truth_[i]);
  }
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      products[j * size + k] = products[k * size + j] =
          0.5 * (products[j * size + j] + products[k * size + k] -
                 norm * alpha_distance(labellings[j], labellings[k]));
    }
  }
}

void LabelSetModel::add_differences(std::size_t i, std::span<const Labelling> labellings,
                                    std::span<const double> coefficients, Workspace& ws,
                                    std::span<float> w) const {
  const auto add = [&](const Labelling& y, double coefficient) {
    for (const NodeId n : y) {
      if (scorer_.column(n) != NodeScorer::kNoColumn)
        ws.scratch.add(scorer_.column(n), coefficient);
    }
  };
  double total = 0.0;
  for (std::size_t k = 0; k < labellings.size(); ++k) {
    if (coefficients[k] != 0) add(labellings[k], coefficients[k]);
    total += coefficients[k];
  }
  add(truth_[i], -total);
  scorer_.scatter(i, ws.scratch, w);
}

}  // namespace margrove
