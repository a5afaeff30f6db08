#include "outputs/label_set/label_set_oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "hierarchy/closed_sets.hpp"
#include "hierarchy/graph_operations.hpp"
#include "label_sets/ranked_dag_label_sets.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

// The sum over nodes of weight times distance(share in y - share in z).
template <class Distance>
double sum_of_differences(const NodeShares& y, const NodeShares& z, std::span<const double> weights,
                          const Distance& distance) {
  double sum = 0.0;
  std::size_t p = 0, q = 0;
  while (p < y.nodes.size() || q < z.nodes.size()) {
    const bool in_y = q == z.nodes.size() || (p < y.nodes.size() && y.nodes[p] <= z.nodes[q]);
    const bool in_z = p == y.nodes.size() || (q < z.nodes.size() && z.nodes[q] <= y.nodes[p]);
    const NodeId n = in_y ? y.nodes[p] : z.nodes[q];
    const double difference = (in_y ? y.share(p++) : 0.0) - (in_z ? z.share(q++) : 0.0);
    sum += weights[n] * distance(difference);
  }
  return sum;
}

std::vector<double> counts_of(LabelSetLoss loss, const LabelGraph& graph,
                              std::span<const double> alpha) {
  if (loss == LabelSetLoss::normalized) return {alpha.begin(), alpha.end()};
  if (loss == LabelSetLoss::nodes) return std::vector<double>(graph.num_nodes(), 1.0);
  std::vector<double> counts(graph.num_nodes(), 0.0);
  for (const NodeId leaf : graph.leaves()) counts[leaf] = 1.0;
  return counts;
}

}  // namespace

void append_words(const NodeShares& y, std::vector<std::uint32_t>& words) {
  words.push_back(static_cast<std::uint32_t>(y.nodes.size()));
  words.insert(words.end(), y.nodes.begin(), y.nodes.end());
  for (const double share : y.shares) {
    const auto bits = std::bit_cast<std::uint64_t>(share);
    words.push_back(static_cast<std::uint32_t>(bits));
    words.push_back(static_cast<std::uint32_t>(bits >> 32U));
  }
}

bool read_words(std::span<const std::uint32_t> words, NodeShares& y) {
  if (words.empty() || words[0] > words.size() - 1) return false;
  const std::size_t size = words[0], rest = words.size() - 1 - size;
  if (rest != 0 && rest != 2 * size) return false;
  y.nodes.assign(words.begin() + 1, words.begin() + 1 + static_cast<std::ptrdiff_t>(size));
  y.shares.clear();
  for (std::size_t k = 1 + size; k < words.size(); k += 2) {
    y.shares.push_back(
        std::bit_cast<double>(words[k] | static_cast<std::uint64_t>(words[k + 1]) << 32U));
  }
  return true;
}

LabelSetModel::LabelSetModel(const CsrView& X, const LabelSets& leaves_of_row,
                             const LabelGraph& graph, std::span<const double> alpha,
                             NodeStorage storage, LabelSetTask task)
    : scorer_(X, graph, alpha, storage),
      inference_(graph),
      task_(task),
      alpha_(alpha.begin(), alpha.end()),
      counts_(counts_of(task.loss, graph, alpha)),
      leaves_(graph.leaves().begin(), graph.leaves().end()),
      above_(ancestor_sets(graph, graph.leaves())) {
  require(leaves_of_row.num_rows() == X.num_rows(), "label set model: ", leaves_of_row.num_rows(),
          " label sets, but must be one per row of X, ", X.num_rows());
  if (graph.is_tree()) rankings_.emplace(graph);
  if (!has_weighted_loss()) counts_as_bits_.assign(counts_.begin(), counts_.end());
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (scorer_.column(n) == NodeScorer::kNoColumn) alpha_[n] = 0.0;  // no part of any difference
  }
  SetCloser closer(graph, SetCloser::Nodes::all);
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    require(!leaves_of_row[i].empty(), "label set model: row ", i,
            " has no label, but must have one or more");
    std::vector<NodeId> y;
    for (const NodeId leaf : leaves_of_row[i]) {
      require(leaf < graph.num_nodes() && graph.is_leaf(leaf), "label set model: a label of row ",
              i, " is ", leaf, ", but must be a leaf of the graph");
    }
    closer.close(leaves_of_row[i], y);
    y.shrink_to_fit();
    truth_.push_back({std::move(y), {}});
  }
}

LabelSetModel::Oracle LabelSetModel::oracle(std::size_t i, ScaledWeights w, Workspace& ws) const {
  scorer_.scores(i, w, ws.node_scores);
  ws.scores.assign(counts_.size(), 0.0);
  for (std::uint32_t c = 0; c < scorer_.num_columns(); ++c) {
    ws.scores[scorer_.node(c)] = static_cast<double>(ws.node_scores[c]);
  }
  ws.front_margins.clear();
  Oracle oracle;
  oracle.model_ = this;
  oracle.example_ = i;
  oracle.workspace_ = &ws;
  for (const NodeId n : truth_[i].nodes) oracle.truth_score_ += ws.scores[n];
  return oracle;
}

// Fills the rewards of all nodes and returns a constant; the sum of the rewards over y plus the
// constant is w_m m(y) + w_g g(y).
double LabelSetModel::Oracle::load_rewards(double w_m, double w_g) const {
  Workspace& ws = *workspace_;
  // The share of a node in w_m constant + w_g g if it is not in y_i, and if it is
  // (part_criteria()). The value of the empty set is that of as many wrong nodes as y_i has nodes.
  const bool is_f1 = model_->criteria() == Criteria::micro_f1;
  const double of_wrong = is_f1 ? w_m - w_g : w_g;
  const double of_right = is_f1 ? -w_m - w_g : -w_g;
  ws.rewards.resize(ws.scores.size());
  for (std::size_t n = 0; n < ws.scores.size(); ++n) {
    ws.rewards[n] = w_m * ws.scores[n] + of_wrong * model_->counts_[n];
  }
  const Labelling& truth = model_->truth_[example_];
  for (const NodeId n : truth.nodes) {
    ws.rewards[n] += (of_right - of_wrong) * model_->counts_[n];
  }
  return of_wrong * model_->num_counted(truth) - w_m * truth_score_;
}

// Replaces a weight of 0 by one that is so small that it only decides ties of the losses, which
// differ by 1 or by node weights.
std::pair<double, double> LabelSetModel::Oracle::with_ties_broken(double w_m, double w_g) const {
  if (w_m == 0.0) {
    double total = 1.0;
    for (const double score : workspace_->scores) total += std::abs(score);
    if (model_->criteria() == Criteria::micro_f1)
      total += static_cast<double>(model_->counts_.size());
    w_m = w_g * (model_->has_weighted_loss() ? 1e-7 : 0.25) / total;
  }
  if (w_g == 0.0) w_g = 1e-10 * w_m;
  return {w_m, w_g};
}

Candidate<LabelSetModel::Labelling> LabelSetModel::Oracle::argmax(double w_m, double w_g) const {
  std::tie(w_m, w_g) = with_ties_broken(w_m, w_g);
  return approximate_argmax(w_m, w_g, {}).candidate;
}

BoundedCandidate<LabelSetModel::Labelling> LabelSetModel::Oracle::approximate_argmax(
    double w_m, double w_g, const SearchGoal& goal) const {
  const double constant = load_rewards(w_m, w_g);
  Workspace& ws = *workspace_;
  SearchGoal of_sums = goal;
  of_sums.floor -= constant;
  Labelling y;
  if (model_->task_.inference == Inference::exact) {
    // Branches are limited, because near the optimum many label sets are nearly tied, and a proof
    // can take seconds.
    const double usual = std::max(12.0, 100'000.0 / static_cast<double>(ws.rewards.size()));
    const auto most_branches =
        static_cast<std::int64_t>(std::min(goal.branch_limit_factor * usual, 1e15));
    const auto found = model_->inference_.best(
        ws.rewards, ws.inference, y.nodes, of_sums,
        goal.needs_best() ? LabelSetInference::kMaxBranches : most_branches);
    return {evaluate(y), found.bound + constant};
  }
  ws.z.resize(ws.rewards.size());
  const auto found = model_->inference_.relaxed(ws.rewards, ws.inference, ws.z, of_sums);
  for (NodeId n = 0; n < ws.z.size(); ++n) {
    if (ws.z[n] <= 0) continue;
    y.nodes.push_back(n);
    if (!found.integral) y.shares.push_back(std::min(ws.z[n], 1.0));
  }
  return {evaluate(y), found.bound + constant};
}

// Calls visit(y) for the label sets by descending value until it returns false.
template <class Visit>
void LabelSetModel::Oracle::visit_best_first(double w_m, double w_g, const Visit& visit) const {
  std::tie(w_m, w_g) = with_ties_broken(w_m, w_g);
  load_rewards(w_m, w_g);
  Workspace& ws = *workspace_;
  Labelling y;
  if (!model_->rankings_) {
    RankedDagLabelSets ranked(model_->inference_, model_->leaves_, model_->above_, ws.rewards,
                              ws.inference);
    while (ranked.next(y.nodes) && visit(y)) {
    }
    return;
  }
  const RankedLabelSets& ranked = model_->rankings_->ranked;
  ranked.start(ws.rewards, ws.ranking);
  while (ranked.next(ws.ranking, y.nodes) && visit(y)) {
  }
}

std::vector<Candidate<LabelSetModel::Labelling>> LabelSetModel::Oracle::k_best(double w_m,
                                                                               double w_g,
                                                                               int k) const {
  std::vector<Candidate<Labelling>> best;
  if (k == 0) return best;
  visit_best_first(w_m, w_g, [&](const Labelling& y) {
    best.push_back(evaluate(y));
    return best.size() < static_cast<std::size_t>(k);
  });
  return best;
}

std::optional<Candidate<LabelSetModel::Labelling>> LabelSetModel::Oracle::argmax_without(
    double w_m, double w_g, std::span<const Labelling> banned) const {
  std::optional<Candidate<Labelling>> found;
  visit_best_first(w_m, w_g, [&](const Labelling& y) {
    if (std::find(banned.begin(), banned.end(), y) != banned.end()) return true;
    found = evaluate(y);
    return false;
  });
  return found;
}

std::span<const double> LabelSetModel::Oracle::loss_front(std::uint32_t) const {
  Workspace& ws = *workspace_;
  if (!ws.front_margins.empty()) return ws.front_margins;
  const auto front = model_->rankings_->front.solve(ws.scores, model_->truth_[example_].nodes,
                                                    ws.front, model_->counts_as_bits_);
  ws.front_margins.assign(front.begin(), front.end());
  for (double& m : ws.front_margins) m -= truth_score_;
  return ws.front_margins;
}

Candidate<LabelSetModel::Labelling> LabelSetModel::Oracle::at_loss(std::uint32_t g) const {
  Labelling y;
  model_->rankings_->front.collect(g, workspace_->front, y.nodes);
  return evaluate(y);
}

// A step adds or removes leaves. A leaf is added together with the missing nodes above it, and
// removed together with the nodes that no other leaf of y needs. If that raises the value by g and
// the squared distance is d, exact line search would move the weight g / d to the changed set.
void LabelSetModel::Oracle::steps(double w_m, double w_g, const Labelling& y, double weight,
                                  std::vector<Labelling>& steps) const {
  constexpr int kMaxSteps = 5;
  if (!y.shares.empty()) return;
  load_rewards(w_m, w_g);
  Workspace& ws = *workspace_;
  const LabelSetModel& model = *model_;
  const auto above = [&](std::size_t l) { return model.above_[model.leaves_[l]]; };
  ws.count.assign(ws.scores.size(), 0);
  std::vector<std::uint32_t> chosen(model.leaves_.size(), 0);  // 0 or 1
  std::size_t num_chosen = 0;
  for (std::size_t l = 0, k = 0; l < chosen.size(); ++l) {
    while (k < y.nodes.size() && y.nodes[k] < model.leaves_[l]) ++k;
    if (k == y.nodes.size() || y.nodes[k] != model.leaves_[l]) continue;
    chosen[l] = 1;
    ++num_chosen;
    for (const NodeId n : above(l)) ++ws.count[n];
  }
  const double norm = w_m * w_m * model.scorer_.squared_norm(example_);
  std::vector<std::pair<double, std::size_t>> parts;  // how much of the weight moves, leaf
  for (std::size_t l = 0; l < chosen.size(); ++l) {
    double sum = 0, distance = 0;
    for (const NodeId n : above(l)) {
      if (ws.count[n] != chosen[l]) continue;
      sum += ws.rewards[n];
      distance += model.alpha_[n];
    }
    const double gain = chosen[l] ? -sum : sum;
    if (!(gain > 0)) continue;
    const bool whole = gain >= weight * norm * distance;
    parts.emplace_back(whole ? weight : gain / (norm * distance), l);
  }
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  });
  double least = weight;
  std::size_t p = 0;
  for (int step = 0; step < kMaxSteps && p < parts.size(); ++step) {
    if (parts[p].first < least) least = parts[p].first;
    least *= 0.5;
    for (; p < parts.size() && (parts[p].first >= least || step + 1 == kMaxSteps); ++p) {
      const std::size_t l = parts[p].second;
      if (chosen[l] && num_chosen == 1) continue;
      chosen[l] = 1 - chosen[l];
      num_chosen = chosen[l] ? num_chosen + 1 : num_chosen - 1;
      for (const NodeId n : above(l)) chosen[l] ? ++ws.count[n] : --ws.count[n];
    }
    Labelling next;
    for (NodeId n = 0; n < ws.count.size(); ++n) {
      if (ws.count[n] > 0) next.nodes.push_back(n);
    }
    steps.push_back(std::move(next));
  }
}

Candidate<LabelSetModel::Labelling> LabelSetModel::Oracle::truth() const {
  return evaluate(model_->truth_[example_]);
}

Candidate<LabelSetModel::Labelling> LabelSetModel::Oracle::evaluate(const Labelling& y) const {
  double score = 0.0;
  for (std::size_t k = 0; k < y.nodes.size(); ++k) {
    score += y.share(k) * workspace_->scores[y.nodes[k]];
  }
  const Labelling& truth = model_->truth_[example_];
  const double margin = score - truth_score_, wrong = model_->num_wrong(y, truth);
  if (model_->criteria() == Criteria::hamming) return {y, margin, wrong};
  return {y, margin + wrong, -model_->num_counted(y) - model_->num_counted(truth), wrong};
}

double LabelSetModel::num_wrong(const Labelling& y, const Labelling& z) const {
  return sum_of_differences(y, z, counts_, [](double d) { return std::fabs(d); });
}

double LabelSetModel::num_counted(const Labelling& y) const {
  double sum = 0;
  for (std::size_t k = 0; k < y.nodes.size(); ++k) sum += y.share(k) * counts_[y.nodes[k]];
  return sum;
}

double LabelSetModel::alpha_distance(const Labelling& y, const Labelling& z) const {
  return sum_of_differences(y, z, alpha_, [](double d) { return d * d; });
}

void LabelSetModel::difference(std::size_t i, const Labelling& y, SparseVector& difference) const {
  const SparseRow x = scorer_.row(i);
  std::map<std::uint32_t, double> sums;  // of columns
  const auto add_nodes = [&](const Labelling& labelling, double sign) {
    for (std::size_t k = 0; k < labelling.nodes.size(); ++k) {
      const std::uint32_t c = scorer_.column(labelling.nodes[k]);
      if (c != NodeScorer::kNoColumn) sums[c] += sign * labelling.share(k);
    }
  };
  add_nodes(y, 1.0);
  add_nodes(truth_[i], -1.0);
  for (const auto& [c, sum] : sums) {
    if (sum == 0) continue;
    const float factor = static_cast<float>(sum) * scorer_.sqrt_alpha(c);
    for (std::size_t k = 0; k < x.size(); ++k) {
      difference.add(scorer_.index(x.columns[k], c), factor * x.values[k]);
    }
  }
}

void LabelSetModel::margins(std::size_t i, std::span<const Labelling> labellings, ScaledWeights w,
                            Workspace& ws, std::span<double> margins) const {
  const auto each_column = [&](const Labelling& y, const auto& visit) {
    for (std::size_t k = 0; k < y.nodes.size(); ++k) {
      const std::uint32_t c = scorer_.column(y.nodes[k]);
      if (c != NodeScorer::kNoColumn) visit(c, y.share(k));
    }
  };
  const auto touch = [&](std::uint32_t c, double) { ws.scratch.add(c, 0.0); };
  each_column(truth_[i], touch);
  for (const Labelling& y : labellings) each_column(y, touch);
  scorer_.gather(i, w, ws.scratch);
  double truth_score = 0.0;
  each_column(truth_[i],
              [&](std::uint32_t c, double share) { truth_score += share * ws.scratch.sums[c]; });
  for (std::size_t k = 0; k < labellings.size(); ++k) {
    margins[k] = -truth_score;
    each_column(labellings[k],
                [&](std::uint32_t c, double share) { margins[k] += share * ws.scratch.sums[c]; });
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

void LabelSetModel::append_products(std::size_t i, std::span<const Labelling> labellings,
                                    std::size_t known, Workspace& ws,
                                    std::vector<double>& products) const {
  const double norm = scorer_.squared_norm(i);
  const auto sum_over = [&](const Labelling& y) {
    double sum = 0.0;
    if (y.shares.empty()) {
      for (const NodeId n : y.nodes) sum += ws.z[n];
    } else {
      for (std::size_t k = 0; k < y.nodes.size(); ++k) sum += y.shares[k] * ws.z[y.nodes[k]];
    }
    return sum;
  };
  for (std::size_t j = known; j < labellings.size(); ++j) {
    ws.z.assign(alpha_.size(), 0.0);  // alpha (y_j - y_i)
    for (std::size_t k = 0; k < labellings[j].nodes.size(); ++k) {
      const NodeId n = labellings[j].nodes[k];
      ws.z[n] = alpha_[n] * labellings[j].share(k);
    }
    for (const NodeId n : truth_[i].nodes) ws.z[n] -= alpha_[n];
    const double of_truth = sum_over(truth_[i]);
    for (std::size_t k = 0; k <= j; ++k) {
      products.push_back(norm * (sum_over(labellings[k]) - of_truth));
    }
  }
}

void LabelSetModel::add_differences(std::size_t i, std::span<const Labelling> labellings,
                                    std::span<const double> coefficients, Workspace& ws,
                                    std::vector<float>& w) const {
  const auto add = [&](const Labelling& y, double coefficient) {
    for (std::size_t k = 0; k < y.nodes.size(); ++k) {
      const std::uint32_t c = scorer_.column(y.nodes[k]);
      if (c != NodeScorer::kNoColumn) ws.scratch.add(c, coefficient * y.share(k));
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
