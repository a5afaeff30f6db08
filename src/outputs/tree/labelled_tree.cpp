#include "outputs/tree/labelled_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "margrove/errors.hpp"

namespace margrove {

LabelledOracle::LabelledOracle(LabelledWorkspace& workspace, const RelationScorer& scorer,
                               std::size_t num_words, const LabelledTree* truth, ParserLoss loss)
    : workspace_(workspace), scorer_(scorer), num_words_(num_words), truth_(truth), loss_(loss) {
  workspace.front_margins.clear();
  if (truth != nullptr) truth_score_ = score(*truth);
}

double LabelledOracle::loss_of(std::size_t head, std::size_t word, std::uint32_t relation) const {
  if (!is_true_arc(head, word)) return 1.0;
  return loss_ == ParserLoss::labelled && truth_->relations[word - 1] != relation ? 1.0 : 0.0;
}

double LabelledOracle::arc_score(std::size_t head, std::size_t word, std::uint32_t relation) const {
  const auto& w = workspace_;
  const std::size_t cell = head * (num_words_ + 1) + word;
  if (w.best_relation[cell] == relation) return w.arcs[cell];
  if (is_true_arc(head, word)) {
    if (truth_->relations[word - 1] == relation) return w.true_score[word - 1];
    if (w.other_relation[word - 1] == relation) return w.other_score[word - 1];
  }
  return w.plain[cell] + scorer_(head, word)[relation];
}

double LabelledOracle::score(const LabelledTree& y) const {
  double sum = 0.0;
  for (std::size_t k = 0; k < y.heads.size(); ++k) {
    sum += arc_score(y.heads[k], k + 1, y.relations[k]);
  }
  return sum;
}

Candidate<LabelledTree> LabelledOracle::evaluate(const LabelledTree& y) const {
  double wrong = 0.0;
  for (std::size_t k = 0; k < y.heads.size(); ++k) {
    wrong += loss_of(y.heads[k], k + 1, y.relations[k]);
  }
  return {y, score(y) - truth_score_, wrong};
}

// A weight of 0 becomes one that is so small that it only decides ties, because losses are
// integers.
std::pair<double, double> LabelledOracle::without_zero(double w_m, double w_g) const {
  if (w_m == 0.0) {
    double largest = 1.0;
    for (const double a : workspace_.arcs) largest = std::max(largest, std::abs(a));
    for (const auto* scores : {&workspace_.true_score, &workspace_.other_score}) {
      for (const double a : *scores) {
        if (std::isfinite(a)) largest = std::max(largest, std::abs(a));
      }
    }
    w_m = w_g / (4.0 * largest * static_cast<double>(num_words_ + 1));
  }
  if (w_g == 0.0 && truth_ != nullptr) w_g = 1e-10 * w_m;
  return {w_m, w_g};
}

Candidate<LabelledTree> LabelledOracle::argmax(double first, double second) const {
  const auto [w_m, w_g] = without_zero(first, second);
  auto& w = workspace_;
  const std::size_t stride = num_words_ + 1;
  w.weighted.resize(stride * stride);
  for (std::size_t j = 0; j < stride * stride; ++j) w.weighted[j] = w_m * w.arcs[j] + w_g;
  const double other_loss = loss_ == ParserLoss::labelled ? w_g : 0.0;
  for (std::size_t k = 0; k < num_words_; ++k) {
    w.weighted[truth_->heads[k] * stride + k + 1] =
        std::max(w_m * w.true_score[k], w_m * w.other_score[k] + other_loss);
  }
  LabelledTree y{best_projective_tree(w.weighted, num_words_, w.eisner, w.control), {}};
  y.relations.resize(num_words_);
  for (std::size_t k = 0; k < num_words_; ++k) {
    if (y.heads[k] != truth_->heads[k]) {
      y.relations[k] = w.best_relation[y.heads[k] * stride + k + 1];
      continue;
    }
    const double right = w_m * w.true_score[k], wrong = w_m * w.other_score[k] + other_loss;
    const std::uint32_t truth = truth_->relations[k], other = w.other_relation[k];
    y.relations[k] = wrong > right || (wrong == right && other < truth) ? other : truth;
  }
  return evaluate(y);
}

LabelledTree LabelledOracle::decode() const {
  auto& w = workspace_;
  LabelledTree y{best_projective_tree(w.arcs, num_words_, w.eisner, w.control), {}};
  for (std::size_t k = 0; k < num_words_; ++k) {
    y.relations.push_back(w.best_relation[y.heads[k] * (num_words_ + 1) + k + 1]);
  }
  return y;
}

std::vector<Candidate<LabelledTree>> LabelledOracle::k_best(double first, double second,
                                                            int k) const {
  const auto [w_m, w_g] = without_zero(first, second);
  const auto& w = workspace_;
  const std::size_t stride = num_words_ + 1;
  // The k best values of each arc and their relations, best first.
  std::vector<std::vector<double>> values(stride * stride);
  std::vector<std::vector<std::uint32_t>> relations(stride * stride);
  std::vector<double> all;
  for (std::size_t head = 0; head < stride; ++head) {
    end_if_out_of_time(w.control);
    for (std::size_t word = 1; word < stride; ++word) {
      if (head == word) continue;
      const std::size_t cell = head * stride + word;
      const std::span<const double> scores = scorer_(head, word);
      all.clear();
      for (std::uint32_t r = 0; r < scores.size(); ++r) {
        all.push_back(w_m * (w.plain[cell] + scores[r]) + w_g * loss_of(head, word, r));
      }
      auto& order = relations[cell];
      order.resize(all.size());
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return all[a] > all[b]; });
      order.resize(std::min(order.size(), static_cast<std::size_t>(k)));
      for (const std::uint32_t r : order) values[cell].push_back(all[r]);
    }
  }
  const ArcValues values_of = [&](std::size_t head, std::size_t word) {
    return std::span<const double>(values[head * stride + word]);
  };
  std::vector<Candidate<LabelledTree>> result;
  for (auto& tree :
       best_projective_trees(values_of, num_words_, static_cast<std::size_t>(k), w.control)) {
    LabelledTree y{std::move(tree.heads), std::move(tree.ranks)};
    for (std::size_t j = 0; j < num_words_; ++j) {
      y.relations[j] = relations[y.heads[j] * stride + j + 1][y.relations[j]];
    }
    result.push_back(evaluate(y));
  }
  return result;
}

std::optional<Candidate<LabelledTree>> LabelledOracle::argmax_without(
    double w_m, double w_g, std::span<const LabelledTree> banned) const {
  for (auto& y : k_best(w_m, w_g, static_cast<int>(banned.size()) + 1)) {
    if (std::find(banned.begin(), banned.end(), y.y) == banned.end()) return y;
  }
  return std::nullopt;
}

// A true arc is right with its true relation, and wrong with the best other one, which is right,
// too, if the loss does not count relations.
std::span<const double> LabelledOracle::loss_front(std::uint32_t most) const {
  auto& w = workspace_;
  if (w.has_front(num_words_, most)) return w.front_margins;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const bool counts_relations = loss_ == ParserLoss::labelled;
  std::vector<double> right(w.arcs.size(), kNone), wrong = w.arcs;
  for (std::size_t k = 0; k < num_words_; ++k) {
    const std::size_t cell = truth_->heads[k] * (num_words_ + 1) + k + 1;
    right[cell] = counts_relations ? w.true_score[k] : std::max(w.true_score[k], w.other_score[k]);
    wrong[cell] = counts_relations ? w.other_score[k] : kNone;
  }
  w.fill_front(std::move(right), std::move(wrong), num_words_, most, truth_score_);
  return w.front_margins;
}

Candidate<LabelledTree> LabelledOracle::at_loss(std::uint32_t g) const {
  const auto& w = workspace_;
  auto [heads, is_wrong] = w.front.tree(g);
  LabelledTree y{std::move(heads), std::vector<std::uint32_t>(num_words_)};
  for (std::size_t k = 0; k < num_words_; ++k) {
    if (loss_ == ParserLoss::heads || y.heads[k] != truth_->heads[k]) {
      y.relations[k] = w.best_relation[y.heads[k] * (num_words_ + 1) + k + 1];
    } else {
      y.relations[k] = is_wrong[k] != 0 ? w.other_relation[k] : truth_->relations[k];
    }
  }
  return evaluate(y);
}

LabelledModel::LabelledModel(std::vector<ParserSentence> sentences, std::vector<LabelledTree> trees,
                             int bits, std::uint32_t num_relations, ParserLoss loss)
    : sentences_(std::move(sentences)),
      trees_(std::move(trees)),
      shape_{bits, num_relations, std::size_t{1} << static_cast<unsigned>(bits)},
      loss_(loss) {
  check_sizes(sentences_.size(), trees_.size(), bits);
  check_shape(shape_);
  for (std::size_t i = 0; i < trees_.size(); ++i) {
    const auto& [heads, relations] = trees_[i];
    check_heads(heads, sentences_[i].size(), i);
    require(relations.size() == heads.size(), "dependency model: sentence ", i, " has ",
            heads.size(), " words and ", relations.size(),
            " relations, but must have one relation per word");
    for (std::size_t k = 0; k < relations.size(); ++k) {
      require(relations[k] < num_relations, "dependency model: the relation of word ", k + 1,
              " in sentence ", i, " is ", relations[k], ", but must be < ", num_relations);
    }
  }
}

LabelledOracle LabelledModel::oracle(std::size_t i, ScaledWeights w,
                                     LabelledWorkspace& workspace) const {
  const RelationScorer scorer =
      score_labelled_arcs(sentences_[i], shape_, w, &trees_[i], workspace);
  return {workspace, scorer, sentences_[i].size(), &trees_[i], loss_};
}

void LabelledModel::difference(std::size_t i, const LabelledTree& y,
                               SparseVector& difference) const {
  const LabelledTree& truth = trees_[i];
  std::vector<std::uint32_t> features;
  for (std::size_t k = 0; k < y.heads.size(); ++k) {
    const bool same_head = y.heads[k] == truth.heads[k];
    if (same_head && y.relations[k] == truth.relations[k]) continue;
    for (const bool is_truth : {false, true}) {
      const LabelledTree& tree = is_truth ? truth : y;
      const float sign = is_truth ? -1.0F : 1.0F;
      features.clear();
      if (!same_head) {
        arc_features(sentences_[i], tree.heads[k], k + 1, shape_.bits, features);
        for (const std::uint32_t f : features) difference.add(f, sign);
      }
      features.clear();
      relation_features(sentences_[i], tree.heads[k], k + 1, shape_, features);
      for (const std::uint32_t f : features) difference.add(f + tree.relations[k], sign);
    }
  }
  merge_repeated(difference);
}

RelationScorer score_labelled_arcs(const ParserSentence& sentence, const RelationShape& shape,
                                   ScaledWeights w, const LabelledTree* truth,
                                   LabelledWorkspace& workspace) {
  score_arcs(sentence, shape.bits, w, workspace);
  const std::size_t n = sentence.size(), stride = n + 1;
  workspace.plain = workspace.arcs;
  workspace.best_relation.assign(stride * stride, 0);
  workspace.true_score.resize(truth != nullptr ? n : 0);
  workspace.other_score.resize(workspace.true_score.size());
  workspace.other_relation.resize(workspace.true_score.size());
  const RelationScorer scorer(sentence, shape, w, workspace.relations);
  for (std::size_t head = 0; head <= n; ++head) {
    end_if_out_of_time(workspace.control);
    for (std::size_t word = 1; word <= n; ++word) {
      if (head == word) continue;
      const std::size_t cell = head * stride + word;
      const std::span<const double> scores = scorer(head, word);
      const std::uint32_t best = best_relation(scores);
      workspace.best_relation[cell] = best;
      workspace.arcs[cell] += scores[best];
      if (truth == nullptr || truth->heads[word - 1] != head) continue;
      const std::uint32_t true_relation = truth->relations[word - 1];
      std::uint32_t other = true_relation;
      for (std::uint32_t r = 0; r < scores.size(); ++r) {
        if (r == true_relation) continue;
        if (other == true_relation || scores[r] > scores[other]) other = r;
      }
      const double plain = workspace.plain[cell];
      workspace.true_score[word - 1] = plain + scores[true_relation];
      workspace.other_relation[word - 1] = other;
      workspace.other_score[word - 1] =
          other == true_relation ? -std::numeric_limits<double>::infinity() : plain + scores[other];
    }
  }
  return scorer;
}

LabelledTree decode_labelled(const ParserSentence& sentence, const RelationShape& shape,
                             ScaledWeights w, LabelledWorkspace& workspace) {
  const RelationScorer scorer = score_labelled_arcs(sentence, shape, w, nullptr, workspace);
  return LabelledOracle(workspace, scorer, sentence.size(), nullptr, ParserLoss::labelled).decode();
}

}  // namespace margrove
