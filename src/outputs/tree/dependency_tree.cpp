#include "outputs/tree/dependency_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "margrove/errors.hpp"
#include "outputs/tree/spanning_tree.hpp"

namespace margrove {
namespace {

constexpr double kNoTree = -std::numeric_limits<double>::infinity();

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x =
      (a ^ (b + 0x9E3779B97F4A7C15ULL + (a << 6U) + (a >> 2U))) * 0xFF51AFD7ED558CCDULL;
  return x ^ (x >> 32U);
}

// The class of the distance (1, 2, 3, 4, 5-9, 10 and more) together with the direction.
std::uint64_t distance_class(std::size_t head, std::size_t word) {
  const std::size_t d = head < word ? word - head : head - word;
  const std::uint64_t size = d < 5 ? d : d < 10 ? 5 : 6;
  return 2 * size + (head < word ? 1 : 0);
}

}  // namespace

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return mix(hash, text.size());
}

// Longer than 60 lines: the list of features has one on each line.
void arc_features(const ParserSentence& s, std::size_t head, std::size_t word, int bits,
                  std::vector<std::uint32_t>& features) {
  constexpr std::uint64_t kRoot = 1, kEdge = 2;
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

// Eisner's algorithm. complete[1][s, t]: the best tree over words s..t whose head is s;
// complete[0]: whose head is t. incomplete[1][s, t]: with the arc s -> t, all between attached;
// incomplete[0]: with t -> s.
namespace {

/// The best way to split words s..t, for each of the four kinds of span.
void fill_span(DependencyWorkspace& w, std::size_t stride, std::size_t s, std::size_t t) {
  const auto at = [stride](std::size_t from, std::size_t to) { return from * stride + to; };
  const std::size_t cell = at(s, t);
  double best = kNoTree;
  std::size_t split = s;
  for (std::size_t r = s; r < t; ++r) {
    const double value = w.complete[1][at(s, r)] + w.complete[0][at(r + 1, t)];
    if (value > best) {
      best = value;
      split = r;
    }
  }
  w.incomplete[1][cell] = best + w.weighted[at(s, t)];
  w.incomplete[0][cell] = best + w.weighted[at(t, s)];
  w.incomplete_split[0][cell] = w.incomplete_split[1][cell] = static_cast<std::uint32_t>(split);
  w.complete[0][cell] = w.complete[1][cell] = kNoTree;
  for (std::size_t r = s; r < t; ++r) {
    const double left = w.complete[0][at(s, r)] + w.incomplete[0][at(r, t)];
    if (left > w.complete[0][cell]) {
      w.complete[0][cell] = left;
      w.complete_split[0][cell] = static_cast<std::uint32_t>(r);
    }
    const double right = w.incomplete[1][at(s, r + 1)] + w.complete[1][at(r + 1, t)];
    if (right > w.complete[1][cell]) {
      w.complete[1][cell] = right;
      w.complete_split[1][cell] = static_cast<std::uint32_t>(r + 1);
    }
  }
}

/// The heads of the best tree whose root is this word.
DependencyTree heads_below(const DependencyWorkspace& w, std::size_t n, std::size_t root) {
  struct Item {
    bool is_complete;
    int direction;
    std::size_t s, t;
  };
  DependencyTree heads(n, 0);
  std::vector<Item> open{{true, 0, 1, root}, {true, 1, root, n}};
  while (!open.empty()) {
    const auto [is_complete, direction, s, t] = open.back();
    open.pop_back();
    if (s == t) continue;
    const std::size_t cell = s * (n + 1) + t;
    if (!is_complete) {
      const std::size_t r = w.incomplete_split[direction][cell];
      heads[(direction ? t : s) - 1] = static_cast<std::uint32_t>(direction ? s : t);
      open.push_back({true, 1, s, r});
      open.push_back({true, 0, r + 1, t});
    } else {
      const std::size_t r = w.complete_split[direction][cell];
      open.push_back({direction == 0, direction, s, r});
      open.push_back({direction != 0, direction, r, t});
    }
  }
  return heads;
}

}  // namespace

DependencyTree DependencyOracle::eisner() const {
  auto& w = workspace_;
  const std::size_t n = num_words_, stride = n + 1;
  for (int d = 0; d < 2; ++d) {
    w.complete[d].assign(stride * stride, 0.0);
    w.incomplete[d].assign(stride * stride, kNoTree);
    w.complete_split[d].assign(stride * stride, 0);
    w.incomplete_split[d].assign(stride * stride, 0);
  }
  for (std::size_t length = 1; length < n; ++length) {
    end_if_out_of_time(w.control);
    for (std::size_t s = 1; s + length <= n; ++s) fill_span(w, stride, s, s + length);
  }
  std::size_t root = 1;
  double best = kNoTree;
  for (std::size_t r = 1; r <= n; ++r) {
    const double value = w.weighted[r] + w.complete[0][stride + r] + w.complete[1][r * stride + n];
    if (value > best) {
      best = value;
      root = r;
    }
  }
  return heads_below(w, n, root);
}

DependencyTree DependencyOracle::best() const {
  if (shape_ == TreeShape::projective) return eisner();
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

namespace {

// The k best derivations of every span; a tree has exactly one derivation.
class KBestEisner {
 public:
  KBestEisner(const std::vector<double>& arcs, std::size_t n, std::size_t k, RunControl* control)
      : arcs_(arcs), n_(n), k_(k), stride_(n + 1) {
    for (auto& lists : lists_) lists.resize(stride_ * stride_);
    for (std::size_t s = 1; s <= n; ++s) {
      lists_[kLeft][at(s, s)] = lists_[kRight][at(s, s)] = {{0.0, 0, 0, 0}};
    }
    for (std::size_t length = 1; length < n; ++length) {
      end_if_out_of_time(control);
      for (std::size_t s = 1; s + length <= n; ++s) fill(s, s + length);
    }
  }

  std::vector<DependencyTree> trees() const {
    std::vector<Entry> tops;
    for (std::size_t r = 1; r <= n_; ++r) {
      combine(lists_[kLeft][at(1, r)], lists_[kRight][at(r, n_)], r, arcs_[r], tops);
    }
    keep_best(tops);
    std::vector<DependencyTree> trees;
    for (const Entry& top : tops) {
      DependencyTree heads(n_, 0);
      expand(kLeft, 1, top.split, top.left, heads);
      expand(kRight, top.split, n_, top.right, heads);
      trees.push_back(std::move(heads));
    }
    return trees;
  }

 private:
  enum Kind { kLeft, kRight, kArcLeft, kArcRight };
  struct Entry {
    double value;
    std::uint32_t split, left, right;  // where the span is cut, and the ranks of its two parts
  };
  using Entries = std::vector<Entry>;

  std::size_t at(std::size_t s, std::size_t t) const { return s * stride_ + t; }

  void fill(std::size_t s, std::size_t t) {
    Entries inner;
    for (std::size_t r = s; r < t; ++r) {
      combine(lists_[kRight][at(s, r)], lists_[kLeft][at(r + 1, t)], r, 0.0, inner);
    }
    keep_best(inner);
    auto& to_right = lists_[kArcRight][at(s, t)] = inner;
    for (Entry& e : to_right) e.value += arcs_[at(s, t)];
    auto& to_left = lists_[kArcLeft][at(s, t)] = std::move(inner);
    for (Entry& e : to_left) e.value += arcs_[at(t, s)];
    Entries left, right;
    for (std::size_t r = s; r < t; ++r) {
      combine(lists_[kLeft][at(s, r)], lists_[kArcLeft][at(r, t)], r, 0.0, left);
      combine(lists_[kArcRight][at(s, r + 1)], lists_[kRight][at(r + 1, t)], r + 1, 0.0, right);
    }
    keep_best(left);
    keep_best(right);
    lists_[kLeft][at(s, t)] = std::move(left);
    lists_[kRight][at(s, t)] = std::move(right);
  }

  // Ranks (a, b) with (a + 1)(b + 1) > k cannot be among the k best.
  void combine(const Entries& left, const Entries& right, std::size_t split, double extra,
               Entries& out) const {
    for (std::size_t a = 0; a < left.size() && a < k_; ++a) {
      for (std::size_t b = 0; b < right.size() && (a + 1) * (b + 1) <= k_; ++b) {
        out.push_back({left[a].value + right[b].value + extra, static_cast<std::uint32_t>(split),
                       static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)});
      }
    }
  }
  void keep_best(Entries& entries) const {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.value > b.value; });
    if (entries.size() > k_) entries.resize(k_);
  }

  void expand(Kind kind, std::size_t s, std::size_t t, std::uint32_t rank,
              DependencyTree& heads) const {
    if (s == t) return;
    const Entry& e = lists_[kind][at(s, t)][rank];
    switch (kind) {
      case kArcLeft:
      case kArcRight:
        heads[(kind == kArcRight ? t : s) - 1] =
            static_cast<std::uint32_t>(kind == kArcRight ? s : t);
        expand(kRight, s, e.split, e.left, heads);
        expand(kLeft, e.split + 1, t, e.right, heads);
        break;
      case kLeft:
        expand(kLeft, s, e.split, e.left, heads);
        expand(kArcLeft, e.split, t, e.right, heads);
        break;
      case kRight:
        expand(kArcRight, s, e.split, e.left, heads);
        expand(kRight, e.split, t, e.right, heads);
        break;
    }
  }

  const std::vector<double>& arcs_;
  std::size_t n_, k_, stride_;
  std::vector<Entries> lists_[4];
};

}  // namespace

std::vector<Candidate<DependencyTree>> DependencyOracle::k_best(double w_m, double w_g,
                                                                int k) const {
  weigh(w_m, w_g);
  const auto& arcs = workspace_.weighted;
  const auto size = static_cast<std::size_t>(k);
  const auto trees = shape_ == TreeShape::projective
                         ? KBestEisner(arcs, num_words_, size, workspace_.control).trees()
                         : best_spanning_trees(arcs, num_words_, size, workspace_.control);
  std::vector<Candidate<DependencyTree>> result;
  for (const auto& tree : trees) result.push_back(evaluate(tree));
  return result;
}

std::optional<Candidate<DependencyTree>> DependencyOracle::argmax_without(
    double w_m, double w_g, std::span<const DependencyTree> banned) const {
  for (auto& y : k_best(w_m, w_g, static_cast<int>(banned.size()) + 1)) {
    if (std::find(banned.begin(), banned.end(), y.y) == banned.end()) return y;
  }
  return std::nullopt;
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

DependencyModel::DependencyModel(std::vector<ParserSentence> sentences,
                                 std::vector<DependencyTree> trees, int bits)
    : sentences_(std::move(sentences)), trees_(std::move(trees)), bits_(bits) {
  require(bits >= 8 && bits <= 30, "dependency model: bits is ", bits,
          ", but must be between 8 and 30");
  require(sentences_.size() == trees_.size(), "dependency model: there are ", trees_.size(),
          " trees, but ", sentences_.size(), " sentences");
  for (std::size_t i = 0; i < trees_.size(); ++i) {
    require(!trees_[i].empty() && trees_[i].size() == sentences_[i].size(),
            "dependency model: sentence ", i, " has ", sentences_[i].size(), " words and ",
            trees_[i].size(), " heads, but must have one head per word and at least one word");
    check_tree(trees_[i], i);
  }
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
