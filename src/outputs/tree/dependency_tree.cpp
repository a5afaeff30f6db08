#include "outputs/tree/dependency_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "margrove/errors.hpp"
#include "outputs/tree/hashing.hpp"
#include "outputs/tree/spanning_tree.hpp"

namespace margrove {
using hashing::distance_class;
using hashing::mix;

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return mix(hash, text.size());
}

// Longer than 60 lines: the list of features has one on each line.
void arc_features(const ParserSentence& s, std::size_t head, std::size_t word, int bits,
                  std::vector<std::uint32_t>& features) {
  using hashing::kEdge, hashing::kRoot;
  const auto at = [&](const std::vector<std::uint64_t>& of, std::size_t position) {
    return position == 0 ? kRoot : position > s.size() ? kEdge : of[position - 1];
  };
  const auto before = [&](std::size_t position) {
    return position <= 1 ? kEdge : s.tags[position - 2];
  };
  const auto after = [&](std::size_t position) {
    return position >= s.size() ? kEdge : s.tags[position];
  };
  const std::uint64_t h = at(s.forms, head), ht = at(s.tags, head), hf = at(s.fine_tags, head);
  const std::uint64_t w = at(s.forms, word), wt = at(s.tags, word), wf = at(s.fine_tags, word);
  const std::uint64_t hl = before(head), hr = after(head), wl = before(word), wr = after(word);
  const std::uint64_t distance = distance_class(head, word), direction = distance & 1U;
  const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(bits)) - 1;
  std::uint64_t number = 0;
  const auto emit = [&](std::uint64_t key) {
    features.push_back(static_cast<std::uint32_t>((key ^ (key >> 29U)) & mask));
  };
  const auto add = [&](std::uint64_t key) {  // with direction and with distance
    key = mix(key, ++number);
    emit(mix(key, 100 + direction));
    emit(mix(key, 200 + distance));
  };
  const std::uint64_t h_ht = mix(h, ht), w_wt = mix(w, wt), ht_wt = mix(ht, wt);
  for (const std::uint64_t key : {h_ht,
                                  h,
                                  w_wt,
                                  w,
                                  ht,
                                  wt,
                                  ht_wt,
                                  mix(hf, wf),
                                  mix(h, w),
                                  mix(h_ht, w_wt),
                                  mix(h_ht, wt),
                                  mix(ht, w_wt),
                                  mix(h_ht, w),
                                  mix(h, w_wt),
                                  mix(ht_wt, mix(hr, wl)),
                                  mix(ht_wt, mix(hl, wl)),
                                  mix(ht_wt, mix(hr, wr)),
                                  mix(ht_wt, mix(hl, wr)),
                                  mix(ht_wt, hr),
                                  mix(ht_wt, hl),
                                  mix(ht_wt, wl),
                                  mix(ht_wt, wr)}) {
    add(key);
  }
  // Each different tag between the two words once.
  const std::size_t from = std::min(head, word) + 1, to = std::max(head, word);
  std::uint64_t seen[8];
  std::size_t kinds = 0;
  ++number;
  for (std::size_t k = from; k < to && kinds < 8; ++k) {
    const std::uint64_t tag = s.tags[k - 1];
    if (std::find(seen, seen + kinds, tag) != seen + kinds) continue;
    seen[kinds++] = tag;
    emit(mix(mix(mix(ht_wt, tag), number), direction));
  }
}

DependencyOracle::DependencyOracle(DependencyWorkspace& workspace, std::size_t num_words,
                                   std::span<const std::uint32_t> truth, TreeShape shape)
    : workspace_(workspace), num_words_(num_words), truth_(truth), shape_(shape) {
  workspace.front_margins.clear();
  if (!truth.empty()) truth_score_ = score(truth);
}

double DependencyOracle::score(std::span<const std::uint32_t> heads) const {
  double sum = 0.0;
  for (std::size_t k = 0; k < heads.size(); ++k) sum += arc(heads[k], k + 1);
  return sum;
}

Candidate<DependencyTree> DependencyOracle::evaluate(const DependencyTree& y) const {
  double wrong = 0.0;
  for (std::size_t k = 0; k < y.size(); ++k) wrong += y[k] != truth_[k] ? 1.0 : 0.0;
  return {y, score(y) - truth_score_, wrong};
}

Candidate<DependencyTree> DependencyOracle::truth() const {
  return {DependencyTree(truth_.begin(), truth_.end()), 0.0, 0.0};
}

// Replaces a weight of 0 by one that is so small that it only decides ties, because losses are
// integers.
void DependencyOracle::weigh(double w_m, double w_g) const {
  auto& w = workspace_;
  if (w_m == 0.0) {
    double largest = 1.0;
    for (const double a : w.arcs) largest = std::max(largest, std::abs(a));
    w_m = w_g / (4.0 * largest * static_cast<double>(num_words_ + 1));
  }
  if (w_g == 0.0 && !truth_.empty()) w_g = 1e-10 * w_m;
  const std::size_t stride = num_words_ + 1;
  w.weighted.resize(stride * stride);
  for (std::size_t j = 0; j < stride * stride; ++j) w.weighted[j] = w_m * w.arcs[j] + w_g;
  for (std::size_t k = 0; k < truth_.size(); ++k) w.weighted[truth_[k] * stride + k + 1] -= w_g;
}

DependencyTree DependencyOracle::best() const {
  auto& w = workspace_;
  if (shape_ == TreeShape::projective) {
    return best_projective_tree(w.weighted, num_words_, w.eisner, w.control);
  }
  return best_spanning_tree(workspace_.weighted, num_words_);
}

Candidate<DependencyTree> DependencyOracle::argmax(double w_m, double w_g) const {
  weigh(w_m, w_g);
  return evaluate(best());
}

DependencyTree DependencyOracle::decode() const {
  weigh(1.0, 0.0);
  return best();
}

std::vector<Candidate<DependencyTree>> DependencyOracle::k_best(double w_m, double w_g,
                                                                int k) const {
  weigh(w_m, w_g);
  const auto& arcs = workspace_.weighted;
  const auto size = static_cast<std::size_t>(k);
  std::vector<Candidate<DependencyTree>> result;
  if (shape_ == TreeShape::any) {
    for (const auto& tree : best_spanning_trees(arcs, num_words_, size, workspace_.control)) {
      result.push_back(evaluate(tree));
    }
    return result;
  }
  const ArcValues values = [&](std::size_t head, std::size_t word) {
    return std::span(arcs).subspan(head * (num_words_ + 1) + word, 1);
  };
  for (const auto& tree : best_projective_trees(values, num_words_, size, workspace_.control)) {
    result.push_back(evaluate(tree.heads));
  }
  return result;
}

std::optional<Candidate<DependencyTree>> DependencyOracle::argmax_without(
    double w_m, double w_g, std::span<const DependencyTree> banned) const {
  for (auto& y : k_best(w_m, w_g, static_cast<int>(banned.size()) + 1)) {
    if (std::find(banned.begin(), banned.end(), y.y) == banned.end()) return y;
  }
  return std::nullopt;
}

void DependencyWorkspace::fill_front(std::vector<double> right, std::vector<double> wrong,
                                     std::size_t num_words, std::size_t most, double truth_score) {
  front.solve(std::move(right), std::move(wrong), num_words, most, control);
  front_margins.assign(front.best().begin(), front.best().end());
  for (double& margin : front_margins) margin -= truth_score;
}

std::span<const double> DependencyOracle::loss_front(std::uint32_t most) const {
  auto& w = workspace_;
  if (w.has_front(num_words_, most)) return w.front_margins;
  std::vector<double> right(w.arcs.size(), -std::numeric_limits<double>::infinity());
  std::vector<double> wrong = w.arcs;
  for (std::size_t k = 0; k < num_words_; ++k) {
    const std::size_t cell = truth_[k] * (num_words_ + 1) + k + 1;
    std::swap(right[cell], wrong[cell]);
  }
  w.fill_front(std::move(right), std::move(wrong), num_words_, most, truth_score_);
  return w.front_margins;
}

Candidate<DependencyTree> DependencyOracle::at_loss(std::uint32_t g) const {
  return evaluate(workspace_.front.tree(g).heads);
}

void check_tree(const DependencyTree& heads, std::size_t i, TreeShape shape) {
  const std::size_t n = heads.size();
  std::size_t roots = 0;
  for (std::size_t k = 0; k < n; ++k) {
    require(heads[k] <= n && heads[k] != k + 1, "dependency model: the head of word ", k + 1,
            " in sentence ", i, " is ", heads[k], ", but must be another word or 0");
    roots += heads[k] == 0 ? 1 : 0;
  }
  require(roots == 1, "dependency model: sentence ", i, " has ", roots,
          " roots, but must have one");
  for (std::size_t k = 1; k <= n; ++k) {
    std::size_t word = k, steps = 0;
    while (word != 0 && steps++ <= n) word = heads[word - 1];
    require(word == 0, "dependency model: word ", k, " of sentence ", i,
            " is on or below a cycle, but the heads must form a tree");
  }
  for (std::size_t k = 1; k <= n && shape == TreeShape::projective; ++k) {
    const std::size_t low = std::min<std::size_t>(k, heads[k - 1]);
    const std::size_t high = std::max<std::size_t>(k, heads[k - 1]);
    for (std::size_t j = low + 1; j < high; ++j) {
      const bool inside = heads[j - 1] >= low && heads[j - 1] <= high;
      require(inside, "dependency model: the arcs to words ", k, " and ", j, " of sentence ", i,
              " cross, but the tree must be projective");
    }
  }
}

void check_sizes(std::size_t num_sentences, std::size_t num_trees, int bits) {
  require(bits >= 8 && bits <= 30, "dependency model: bits is ", bits,
          ", but must be between 8 and 30");
  require(num_sentences == num_trees, "dependency model: there are ", num_trees, " trees, but ",
          num_sentences, " sentences");
}

void check_heads(const DependencyTree& heads, std::size_t num_words, std::size_t i) {
  require(!heads.empty() && heads.size() == num_words, "dependency model: sentence ", i, " has ",
          num_words, " words and ", heads.size(),
          " heads, but must have one head per word and at least one word");
  check_tree(heads, i);
}

DependencyModel::DependencyModel(std::vector<ParserSentence> sentences,
                                 std::vector<DependencyTree> trees, int bits)
    : sentences_(std::move(sentences)), trees_(std::move(trees)), bits_(bits) {
  check_sizes(sentences_.size(), trees_.size(), bits);
  for (std::size_t i = 0; i < trees_.size(); ++i) check_heads(trees_[i], sentences_[i].size(), i);
}

void score_arcs(const ParserSentence& sentence, int bits, ScaledWeights w,
                DependencyWorkspace& workspace) {
  const std::size_t n = sentence.size(), stride = n + 1;
  workspace.arcs.assign(stride * stride, 0.0);
  for (std::size_t head = 0; head <= n; ++head) {
    end_if_out_of_time(workspace.control);
    for (std::size_t word = 1; word <= n; ++word) {
      if (head == word) continue;
      workspace.features.clear();
      arc_features(sentence, head, word, bits, workspace.features);
      double sum = 0.0;
      for (const std::uint32_t f : workspace.features) sum += static_cast<double>(w.values[f]);
      workspace.arcs[head * stride + word] = w.scale * sum;
    }
  }
}

DependencyTree decode_tree(const ParserSentence& sentence, int bits, ScaledWeights w,
                           DependencyWorkspace& workspace) {
  score_arcs(sentence, bits, w, workspace);
  return DependencyOracle(workspace, sentence.size(), {}).decode();
}

DependencyOracle DependencyModel::oracle(std::size_t i, ScaledWeights w,
                                         DependencyWorkspace& workspace) const {
  score_arcs(sentences_[i], bits_, w, workspace);
  return {workspace, sentences_[i].size(), trees_[i]};
}

void DependencyModel::difference(std::size_t i, const DependencyTree& y,
                                 SparseVector& difference) const {
  std::vector<std::uint32_t> features;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (y[k] == trees_[i][k]) continue;
    for (const bool is_truth : {false, true}) {
      features.clear();
      arc_features(sentences_[i], is_truth ? trees_[i][k] : y[k], k + 1, bits_, features);
      for (const std::uint32_t f : features) difference.add(f, is_truth ? -1.0F : 1.0F);
    }
  }
  merge_repeated(difference);
}

}  // namespace margrove
