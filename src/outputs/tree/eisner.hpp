#pragma once
// The best projective dependency trees with one root: Eisner's algorithm [Eisner1996].

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"

namespace margrove {

/// Buffers of Eisner's algorithm, (n + 1) x (n + 1) each.
struct EisnerWorkspace {
  std::vector<double> complete[2], incomplete[2];
  std::vector<std::uint32_t> complete_split[2], incomplete_split[2];
};

/// The heads of the projective tree with exactly one word below the root whose sum of scores is
/// largest. arcs: (n + 1) x (n + 1), head x word; column 0 and the diagonal are not used. O(n^3).
/// Ties are broken by a fixed order, that of the splits. Throws OutOfTime.
std::vector<std::uint32_t> best_projective_tree(std::span<const double> arcs, std::size_t num_words,
                                                EisnerWorkspace& workspace, RunControl* control);

/// A tree, and for each of its arcs which of the arc's values it has: 0 is the best.
struct RankedTree {
  std::vector<std::uint32_t> heads, ranks;
};
/// The values that the arc head -> word can have, best first; those of the relations, for example.
using ArcValues = std::function<std::span<const double>(std::size_t head, std::size_t word)>;

/// The k best pairs of a tree and a value for each of its arcs, best first, or all if there are
/// fewer. O(n^3 k log k). Throws OutOfTime.
std::vector<RankedTree> best_projective_trees(const ArcValues& values, std::size_t num_words,
                                              std::size_t k, RunControl* control);

/// The best tree for each number of wrong arcs: Eisner's algorithm with this number beside each
/// span, whose parts combine by (max, +) convolution.
class TreeFront {
 public:
  /// right, wrong: (n + 1) x (n + 1), the score of an arc that counts as right and of one that
  /// counts as wrong, -infinity where it cannot. For up to `most` wrong arcs. O(n^3 most^2), n^5 /
  /// 40 additions for all; 4 n^2 most numbers. Throws OutOfTime.
  void solve(std::vector<double> right, std::vector<double> wrong, std::size_t num_words,
             std::size_t most, RunControl* control);
  /// best()[g]: the largest score of a tree with g wrong arcs, -infinity if there is none. Empty
  /// before solve().
  std::span<const double> best() const { return best_; }
  /// A tree with g wrong arcs that has this score; best()[g] must be finite. Its ranks are 0 for
  /// right arcs and 1 for wrong ones. O(n^3).
  RankedTree tree(std::size_t g) const;

 private:
  enum Kind { kLeft, kRight, kArcLeft, kArcRight };
  struct Words {  // s..t
    Kind kind;
    std::size_t s, t;
  };
  struct Part {
    Words words;
    std::size_t loss;  // wrong arcs
  };
  struct Split {
    double value;
    std::size_t at, left_loss;  // where the words are split, and the wrong arcs of the left part
    bool is_wrong;              // the arc between s and t
  };

  // The best scores by the number of wrong arcs, which is at most t - s.
  std::span<double> scores(const Words& words);
  std::span<const double> scores(const Words& words) const;
  void fill(std::size_t s, std::size_t t);
  void fill_root();
  void try_splits(const Words& left, const Words& right, std::size_t loss, double arc,
                  bool is_wrong, Split& best) const;
  Split best_split(const Part& part) const;
  double arc(bool is_wrong, std::size_t head, std::size_t word) const {
    return (is_wrong ? wrong_ : right_)[head * (n_ + 1) + word];
  }

  std::vector<double> right_, wrong_;
  std::size_t n_ = 0, size_ = 0;   // losses
  std::vector<double> scores_[4];  // by kind
  std::vector<double> between_;    // of all words below an arc
  std::vector<double> best_;
};

}  // namespace margrove
