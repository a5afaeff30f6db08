#include "outputs/tree/eisner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/simd.hpp"

namespace margrove {
namespace {

constexpr double kNoSpan = -std::numeric_limits<double>::infinity();

// complete[1][s, t]: the best tree over words s..t whose head is s; complete[0]: whose head is t.
// incomplete[1][s, t]: with the arc s -> t, all between attached; incomplete[0]: with t -> s.

/// The best way to split words s..t, for each of the four kinds of span.
void fill_span(std::span<const double> arcs, EisnerWorkspace& w, std::size_t stride, std::size_t s,
               std::size_t t) {
  const auto at = [stride](std::size_t from, std::size_t to) { return from * stride + to; };
  const std::size_t cell = at(s, t);
  double best = kNoSpan;
  std::size_t split = s;
  for (std::size_t r = s; r < t; ++r) {
    const double value = w.complete[1][at(s, r)] + w.complete[0][at(r + 1, t)];
    if (value > best) {
      best = value;
      split = r;
    }
  }
  w.incomplete[1][cell] = best + arcs[at(s, t)];
  w.incomplete[0][cell] = best + arcs[at(t, s)];
  w.incomplete_split[0][cell] = w.incomplete_split[1][cell] = static_cast<std::uint32_t>(split);
  w.complete[0][cell] = w.complete[1][cell] = kNoSpan;
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
std::vector<std::uint32_t> heads_below(const EisnerWorkspace& w, std::size_t n, std::size_t root) {
  struct Item {
    bool is_complete;
    int direction;
    std::size_t s, t;
  };
  std::vector<std::uint32_t> heads(n, 0);
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

/// The k best derivations of every span. A tree has exactly one derivation, and each value of an
/// arc makes another one of it.
class KBestEisner {
 public:
  KBestEisner(const ArcValues& values, std::size_t n, std::size_t k, RunControl* control)
      : values_(values), n_(n), k_(k), stride_(n + 1) {
    for (auto& lists : lists_) lists.resize(stride_ * stride_);
    for (std::size_t s = 1; s <= n; ++s) {
      lists_[kLeft][at(s, s)] = lists_[kRight][at(s, s)] = {{0.0, 0, 0, 0, 0}};
    }
    for (std::size_t length = 1; length < n; ++length) {
      end_if_out_of_time(control);
      for (std::size_t s = 1; s + length <= n; ++s) fill(s, s + length);
    }
  }

  std::vector<RankedTree> trees() const {
    Entries tops;
    for (std::size_t r = 1; r <= n_; ++r) {
      Entries below;
      combine(lists_[kLeft][at(1, r)], lists_[kRight][at(r, n_)], r, below);
      keep_best(below);
      const Entries with_root = with_arc(below, values_(0, r));
      tops.insert(tops.end(), with_root.begin(), with_root.end());
    }
    keep_best(tops);
    std::vector<RankedTree> trees;
    for (const Entry& top : tops) {
      RankedTree tree{std::vector<std::uint32_t>(n_, 0), std::vector<std::uint32_t>(n_, 0)};
      tree.ranks[top.split - 1] = top.rank;
      expand(kLeft, 1, top.split, top.left, tree);
      expand(kRight, top.split, n_, top.right, tree);
      trees.push_back(std::move(tree));
    }
    return trees;
  }

 private:
  enum Kind { kLeft, kRight, kArcLeft, kArcRight };
  struct Entry {
    double value;
    // Where the span is cut, the ranks of its two parts, and that of the arc's value.
    std::uint32_t split, left, right, rank;
  };
  using Entries = std::vector<Entry>;

  std::size_t at(std::size_t s, std::size_t t) const { return s * stride_ + t; }

  void fill(std::size_t s, std::size_t t) {
    Entries inner;
    for (std::size_t r = s; r < t; ++r) {
      combine(lists_[kRight][at(s, r)], lists_[kLeft][at(r + 1, t)], r, inner);
    }
    keep_best(inner);
    lists_[kArcRight][at(s, t)] = with_arc(inner, values_(s, t));
    lists_[kArcLeft][at(s, t)] = with_arc(inner, values_(t, s));
    Entries left, right;
    for (std::size_t r = s; r < t; ++r) {
      combine(lists_[kLeft][at(s, r)], lists_[kArcLeft][at(r, t)], r, left);
      combine(lists_[kArcRight][at(s, r + 1)], lists_[kRight][at(r + 1, t)], r + 1, right);
    }
    keep_best(left);
    keep_best(right);
    lists_[kLeft][at(s, t)] = std::move(left);
    lists_[kRight][at(s, t)] = std::move(right);
  }

  // Ranks (a, b) with (a + 1)(b + 1) > k cannot be among the k best.
  void combine(const Entries& left, const Entries& right, std::size_t split, Entries& out) const {
    for (std::size_t a = 0; a < left.size() && a < k_; ++a) {
      for (std::size_t b = 0; b < right.size() && (a + 1) * (b + 1) <= k_; ++b) {
        out.push_back({left[a].value + right[b].value, static_cast<std::uint32_t>(split),
                       static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 0});
      }
    }
  }
  /// The k best sums of an entry and a value.
  Entries with_arc(const Entries& inner, std::span<const double> values) const {
    Entries out;
    for (std::size_t a = 0; a < inner.size(); ++a) {
      for (std::size_t b = 0; b < values.size() && (a + 1) * (b + 1) <= k_; ++b) {
        out.push_back(inner[a]);
        out.back().value += values[b];
        out.back().rank = static_cast<std::uint32_t>(b);
      }
    }
    if (values.size() > 1) keep_best(out);
    return out;
  }
  void keep_best(Entries& entries) const {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.value > b.value; });
    if (entries.size() > k_) entries.resize(k_);
  }

  void expand(Kind kind, std::size_t s, std::size_t t, std::uint32_t rank, RankedTree& tree) const {
    if (s == t) return;
    const Entry& e = lists_[kind][at(s, t)][rank];
    switch (kind) {
      case kArcLeft:
      case kArcRight: {
        const std::size_t word = kind == kArcRight ? t : s;
        tree.heads[word - 1] = static_cast<std::uint32_t>(kind == kArcRight ? s : t);
        tree.ranks[word - 1] = e.rank;
        expand(kRight, s, e.split, e.left, tree);
        expand(kLeft, e.split + 1, t, e.right, tree);
        break;
      }
      case kLeft:
        expand(kLeft, s, e.split, e.left, tree);
        expand(kArcLeft, e.split, t, e.right, tree);
        break;
      case kRight:
        expand(kArcRight, s, e.split, e.left, tree);
        expand(kRight, e.split, t, e.right, tree);
        break;
    }
  }

  const ArcValues& values_;
  std::size_t n_, k_, stride_;
  std::vector<Entries> lists_[4];
};

// out[a + b] = max(out[a + b], left[a] + right[b])
MARGROVE_MULTIVERSION
void convolve(const double* left, std::size_t num_left, const double* right, std::size_t num_right,
              double* out, std::size_t size) {
  for (std::size_t a = 0; a < num_left; ++a) {
    if (left[a] == kNoSpan) continue;
    const double score = left[a];
    const std::size_t num_sums = std::min(num_right, size - a);
    double* sums = &out[a];
#pragma omp simd
    for (std::size_t b = 0; b < num_sums; ++b) {
      const double sum = score + right[b];
      sums[b] = sum > sums[b] ? sum : sums[b];
    }
  }
}
void convolve(std::span<const double> left, std::span<const double> right, std::span<double> out) {
  convolve(left.data(), left.size(), right.data(), right.size(), out.data(), out.size());
}

// out[g] = max(between[g] + right, between[g - 1] + wrong)
void add_arc(std::span<const double> between, double right, double wrong, std::span<double> out) {
  for (std::size_t g = 0; g < out.size(); ++g) {
    const double of_right = g < between.size() ? between[g] + right : kNoSpan;
    const double of_wrong = g > 0 ? between[g - 1] + wrong : kNoSpan;
    out[g] = std::max(out[g], std::max(of_right, of_wrong));
  }
}

}  // namespace

std::span<double> TreeFront::scores(const Words& words) {
  const std::size_t begin = (words.s * (n_ + 1) + words.t) * size_;
  return std::span(scores_[words.kind]).subspan(begin, std::min(words.t - words.s + 1, size_));
}
std::span<const double> TreeFront::scores(const Words& words) const {
  const std::size_t begin = (words.s * (n_ + 1) + words.t) * size_;
  return std::span(scores_[words.kind]).subspan(begin, std::min(words.t - words.s + 1, size_));
}

void TreeFront::solve(std::vector<double> right, std::vector<double> wrong, std::size_t num_words,
                      std::size_t most, RunControl* control) {
  right_ = std::move(right);
  wrong_ = std::move(wrong);
  n_ = num_words;
  size_ = std::min(most, n_) + 1;
  for (auto& scores : scores_) scores.assign((n_ + 1) * (n_ + 1) * size_, kNoSpan);
  for (std::size_t s = 1; s <= n_; ++s) scores({kLeft, s, s})[0] = scores({kRight, s, s})[0] = 0.0;
  for (std::size_t length = 1; length < n_; ++length) {
    for (std::size_t s = 1; s + length <= n_; ++s) {
      end_if_out_of_time(control);
      fill(s, s + length);
    }
  }
  fill_root();
}

void TreeFront::fill(std::size_t s, std::size_t t) {
  between_.assign(std::min(t - s, size_), kNoSpan);
  for (std::size_t r = s; r < t; ++r) {
    convolve(scores({kRight, s, r}), scores({kLeft, r + 1, t}), between_);
  }
  add_arc(between_, arc(false, s, t), arc(true, s, t), scores({kArcRight, s, t}));
  add_arc(between_, arc(false, t, s), arc(true, t, s), scores({kArcLeft, s, t}));
  for (std::size_t r = s; r < t; ++r) {
    convolve(scores({kLeft, s, r}), scores({kArcLeft, r, t}), scores({kLeft, s, t}));
    convolve(scores({kArcRight, s, r + 1}), scores({kRight, r + 1, t}), scores({kRight, s, t}));
  }
}

void TreeFront::fill_root() {
  best_.assign(size_, kNoSpan);
  for (std::size_t root = 1; root <= n_; ++root) {
    between_.assign(std::min(n_, size_), kNoSpan);
    convolve(scores({kLeft, 1, root}), scores({kRight, root, n_}), between_);
    add_arc(between_, arc(false, 0, root), arc(true, 0, root), best_);
  }
}

// Keeps the best way to share `loss` wrong arcs between the two parts.
void TreeFront::try_splits(const Words& left, const Words& right, std::size_t loss, double arc,
                           bool is_wrong, Split& best) const {
  if (is_wrong && loss == 0) return;
  const std::size_t rest = loss - (is_wrong ? 1 : 0);
  const auto of_left = scores(left);
  const auto of_right = scores(right);
  for (std::size_t a = 0; a < of_left.size() && a <= rest; ++a) {
    if (rest - a >= of_right.size()) continue;
    const double value = of_left[a] + of_right[rest - a] + arc;
    if (value > best.value) best = {value, left.t, a, is_wrong};
  }
}

TreeFront::Split TreeFront::best_split(const Part& part) const {
  const auto& [words, loss] = part;
  const auto [kind, s, t] = words;
  Split best{kNoSpan, s, 0, false};
  for (std::size_t r = s; r < t; ++r) {
    if (kind == kLeft) {
      try_splits({kLeft, s, r}, {kArcLeft, r, t}, loss, 0.0, false, best);
    } else if (kind == kRight) {
      try_splits({kArcRight, s, r + 1}, {kRight, r + 1, t}, loss, 0.0, false, best);
    } else {
      const std::size_t head = kind == kArcRight ? s : t, word = kind == kArcRight ? t : s;
      for (const bool is_wrong : {false, true}) {
        try_splits({kRight, s, r}, {kLeft, r + 1, t}, loss, arc(is_wrong, head, word), is_wrong,
                   best);
      }
    }
  }
  return best;
}

RankedTree TreeFront::tree(std::size_t g) const {
  Split top{kNoSpan, 1, 0, false};
  for (std::size_t root = 1; root <= n_; ++root) {
    for (const bool is_wrong : {false, true}) {
      try_splits({kLeft, 1, root}, {kRight, root, n_}, g, arc(is_wrong, 0, root), is_wrong, top);
    }
  }
  RankedTree tree{std::vector<std::uint32_t>(n_, 0), std::vector<std::uint32_t>(n_, 0)};
  tree.ranks[top.at - 1] = top.is_wrong ? 1 : 0;
  std::vector<Part> open{{{kLeft, 1, top.at}, top.left_loss},
                         {{kRight, top.at, n_}, g - top.left_loss - (top.is_wrong ? 1 : 0)}};
  while (!open.empty()) {
    const Part part = open.back();
    open.pop_back();
    const auto [kind, s, t] = part.words;
    if (s == t) continue;
    const Split split = best_split(part);
    const std::size_t rest = part.loss - split.left_loss - (split.is_wrong ? 1 : 0);
    if (kind == kLeft) {
      open.push_back({{kLeft, s, split.at}, split.left_loss});
      open.push_back({{kArcLeft, split.at, t}, rest});
    } else if (kind == kRight) {
      open.push_back({{kArcRight, s, split.at}, split.left_loss});
      open.push_back({{kRight, split.at, t}, rest});
    } else {
      const std::size_t word = kind == kArcRight ? t : s;
      tree.heads[word - 1] = static_cast<std::uint32_t>(kind == kArcRight ? s : t);
      tree.ranks[word - 1] = split.is_wrong ? 1 : 0;
      open.push_back({{kRight, s, split.at}, split.left_loss});
      open.push_back({{kLeft, split.at + 1, t}, rest});
    }
  }
  return tree;
}

std::vector<std::uint32_t> best_projective_tree(std::span<const double> arcs, std::size_t num_words,
                                                EisnerWorkspace& w, RunControl* control) {
  const std::size_t n = num_words, stride = n + 1;
  for (int d = 0; d < 2; ++d) {
    w.complete[d].assign(stride * stride, 0.0);
    w.incomplete[d].assign(stride * stride, kNoSpan);
    w.complete_split[d].assign(stride * stride, 0);
    w.incomplete_split[d].assign(stride * stride, 0);
  }
  for (std::size_t length = 1; length < n; ++length) {
    end_if_out_of_time(control);
    for (std::size_t s = 1; s + length <= n; ++s) fill_span(arcs, w, stride, s, s + length);
  }
  std::size_t root = 1;
  double best = kNoSpan;
  for (std::size_t r = 1; r <= n; ++r) {
    const double value = arcs[r] + w.complete[0][stride + r] + w.complete[1][r * stride + n];
    if (value > best) {
      best = value;
      root = r;
    }
  }
  return heads_below(w, n, root);
}

std::vector<RankedTree> best_projective_trees(const ArcValues& values, std::size_t num_words,
                                              std::size_t k, RunControl* control) {
  return KBestEisner(values, num_words, k, control).trees();
}

}  // namespace margrove
