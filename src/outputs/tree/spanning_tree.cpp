#include "outputs/tree/spanning_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace margrove {
namespace {

constexpr double kNoArc = -std::numeric_limits<double>::infinity();

/// A number by which every tree with one root is better than every one with more if it is taken off
/// the arcs of the root.
double penalty_of_roots(std::span<const double> arcs, std::size_t n) {
  double low = -kNoArc, high = kNoArc;
  for (std::size_t head = 0; head <= n; ++head) {
    for (std::size_t word = 1; word <= n; ++word) {
      const double score = arcs[head * (n + 1) + word];
      if (head == word || score == kNoArc) continue;
      low = std::min(low, score);
      high = std::max(high, score);
    }
  }
  return high > low ? static_cast<double>(n + 1) * (high - low) : 1.0;
}

// Every component follows its best arc from a head until it meets the root, a component that is
// connected to it, or a cycle, which becomes one component: words 1, ..., n, then the cycles.
class Contraction {
 public:
  Contraction(std::span<const double> arcs, std::size_t n)
      : n_(n),
        stride_(n + 1),
        into_(stride_ * stride_),
        target_(stride_ * stride_),
        component_(stride_),
        components_(stride_) {
    const double penalty = penalty_of_roots(arcs, n);
    for (std::size_t word = 1; word <= n; ++word) {
      component_[word] = static_cast<std::uint32_t>(word);
      components_[word].slot = word;
      for (std::size_t head = 0; head <= n; ++head) {
        into_[word * stride_ + head] = arcs[head * stride_ + word] - (head == 0 ? penalty : 0.0);
        target_[word * stride_ + head] = static_cast<std::uint32_t>(word);
      }
    }
    components_[0].is_connected = true;
  }

  /// False if there is no tree.
  bool run() {
    std::vector<std::uint32_t> path;
    for (std::size_t word = 1; word <= n_; ++word) {
      std::uint32_t c = component_[word];
      if (components_[c].is_connected) continue;
      path.clear();
      while (true) {
        path.push_back(c);
        components_[c].is_on_path = true;
        if (!choose_arc(c)) return false;
        const std::uint32_t above = component_[components_[c].from];
        if (components_[above].is_connected) break;
        c = components_[above].is_on_path ? contract(path, above) : above;
      }
      for (const std::uint32_t each : path) components_[each].is_connected = true;
    }
    return true;
  }

  /// The arc into a cycle takes the place of the arc of the cycle into the same word.
  std::vector<std::uint32_t> heads() const {
    std::vector<std::uint32_t> heads(n_);
    std::vector<char> is_replaced(components_.size(), 0);
    for (std::size_t c = components_.size(); c-- > 1;) {
      if (is_replaced[c]) continue;
      heads[components_[c].into - 1] = components_[c].from;
      for (std::size_t x = components_[c].into; x != c; x = components_[x].parent) {
        is_replaced[x] = 1;
      }
    }
    return heads;
  }

 private:
  struct Component {
    std::size_t slot = 0;              // the row of into_ and target_
    std::uint32_t from = 0, into = 0;  // the words of its arc
    double score = 0.0;                // of this arc
    std::uint32_t parent = 0;          // the cycle that it is part of
    bool is_on_path = false, is_connected = false;
  };

  bool choose_arc(std::uint32_t c) {
    Component& own = components_[c];
    own.score = kNoArc;
    const double* into = &into_[own.slot * stride_];
    for (std::size_t head = 0; head <= n_; ++head) {
      if (component_[head] != c && into[head] > own.score) {
        own.score = into[head];
        own.from = static_cast<std::uint32_t>(head);
      }
    }
    own.into = target_[own.slot * stride_ + own.from];
    return own.score > kNoArc;
  }

  // Makes a component of the end of the path, from `first` on, and takes it off the path. An arc
  // into the cycle is worth what the tree gains by it, with the arc of the cycle that it replaces.
  std::uint32_t contract(std::vector<std::uint32_t>& path, std::uint32_t first) {
    const auto cycle = static_cast<std::uint32_t>(components_.size());
    const auto begin = std::find(path.begin(), path.end(), first);
    const std::size_t slot = components_[first].slot;
    double* into = &into_[slot * stride_];
    for (auto each = begin; each != path.end(); ++each) {
      Component& member = components_[*each];
      member.parent = cycle;
      const double* from = &into_[member.slot * stride_];
      for (std::size_t head = 0; head <= n_; ++head) {
        const double score = from[head] - member.score;
        if (each == begin || score > into[head]) {
          into[head] = score;
          target_[slot * stride_ + head] = target_[member.slot * stride_ + head];
        }
      }
    }
    path.erase(begin, path.end());
    for (std::uint32_t& each : component_) {
      if (each != 0 && components_[each].parent == cycle) each = cycle;
    }
    Component whole;
    whole.slot = slot;
    components_.push_back(whole);
    return cycle;
  }

  std::size_t n_, stride_;
  std::vector<double> into_;           // of the best arc from each word into each component
  std::vector<std::uint32_t> target_;  // the word that it goes to
  std::vector<std::uint32_t> component_;
  std::vector<Component> components_;
};

/// The best tree, that with the first `num_fixed` heads as given and none of the banned ones at the
/// word after them.
struct Ranked {
  std::vector<std::uint32_t> heads;
  double score;
  std::size_t num_fixed;
  std::vector<std::uint32_t> banned;
};

}  // namespace

std::vector<std::uint32_t> best_spanning_tree(std::span<const double> arcs, std::size_t num_words) {
  Contraction contraction(arcs, num_words);
  if (!contraction.run()) return {};
  auto heads = contraction.heads();
  if (std::count(heads.begin(), heads.end(), 0U) != 1) return {};
  return heads;
}

std::vector<std::vector<std::uint32_t>> best_spanning_trees(std::span<const double> arcs,
                                                            std::size_t num_words, std::size_t k,
                                                            RunControl* control) {
  const std::size_t n = num_words, stride = n + 1;
  std::vector<Ranked> open;
  std::vector<double> allowed(arcs.begin(), arcs.end());
  const auto keep = [&](std::size_t word, std::uint32_t only) {  // no other head of this word
    for (std::size_t head = 0; head <= n; ++head) {
      if (head != only) allowed[head * stride + word] = kNoArc;
    }
  };
  const auto add = [&](std::size_t num_fixed, std::vector<std::uint32_t> banned) {
    end_if_out_of_time(control);
    Ranked tree{best_spanning_tree(allowed, n), 0.0, num_fixed, std::move(banned)};
    if (tree.heads.empty()) return;
    for (std::size_t w = 1; w <= n; ++w) tree.score += arcs[tree.heads[w - 1] * stride + w];
    open.push_back(std::move(tree));
  };
  add(0, {});
  std::vector<std::vector<std::uint32_t>> found;
  while (found.size() < k && !open.empty()) {
    const auto best =
        std::max_element(open.begin(), open.end(),
                         [](const Ranked& a, const Ranked& b) { return a.score < b.score; });
    const Ranked tree = std::move(*best);
    open.erase(best);
    found.push_back(tree.heads);
    if (found.size() == k) break;
    allowed.assign(arcs.begin(), arcs.end());
    for (std::size_t word = 1; word <= tree.num_fixed; ++word) keep(word, tree.heads[word - 1]);
    for (std::size_t word = tree.num_fixed + 1; word <= n; ++word) {
      std::vector<std::uint32_t> banned;
      if (word == tree.num_fixed + 1) banned = tree.banned;
      banned.push_back(tree.heads[word - 1]);
      for (const std::uint32_t head : banned) allowed[head * stride + word] = kNoArc;
      add(word - 1, banned);
      for (const std::uint32_t head : banned) {
        allowed[head * stride + word] = arcs[head * stride + word];
      }
      keep(word, tree.heads[word - 1]);
    }
  }
  return found;
}

}  // namespace margrove
