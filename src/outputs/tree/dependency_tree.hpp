#pragma once
// Dependency trees with one root, scored arc by arc (first order): f(x, y) = sum over words of
// <w, phi(x, head, word)>, features hashed into a table of 2^bits weights. argmax is Eisner's
// algorithm for projective trees, O(n^3) for n words, and best_spanning_tree() for all trees.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"
#include "outputs/tree/eisner.hpp"
#include "outputs/tree/parser_sentence.hpp"
#include "structured/criteria.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// heads[k] is the head of word k + 1; 0 is the root.
using DependencyTree = std::vector<std::uint32_t>;

enum class TreeShape { projective, any };

/// Throws InvalidInput, naming the word and the sentence, unless the heads are a tree of this shape
/// with one root.
void check_tree(const DependencyTree& heads, std::size_t sentence,
                TreeShape shape = TreeShape::projective);

/// Throws InvalidInput unless there is one tree per sentence and bits is between 8 and 30.
void check_sizes(std::size_t num_sentences, std::size_t num_trees, int bits);
/// check_tree(), and throws InvalidInput unless there is a head for each of the words.
void check_heads(const DependencyTree& heads, std::size_t num_words, std::size_t sentence);

/// Appends the hashed features of the arc head -> word, all of value 1. Positions count from 1;
/// head 0 is the root. The templates are those of [McDonald2005]: head and word, and the tags
/// around and between them, each with direction and with distance.
void arc_features(const ParserSentence& sentence, std::size_t head, std::size_t word, int bits,
                  std::vector<std::uint32_t>& features);

/// The longest sentence for which the best tree of every loss is affordable.
inline constexpr std::size_t kMaxCheapFront = 40;

struct DependencyWorkspace {
  RunControl* control = nullptr;  // ends searches with OutOfTime
  std::vector<double> arcs;       // (n + 1) x (n + 1), head x word; column 0 unused
  std::vector<double> weighted;
  EisnerWorkspace eisner;
  TreeFront front;
  std::vector<double> front_margins;
  std::vector<std::uint32_t> features;

  /// Whether the front has the losses up to `most`, of a sentence of so many words.
  bool has_front(std::size_t num_words, std::size_t most) const {
    return front_margins.size() > std::min(most, num_words);
  }
  /// Fills front and front_margins, the scores of the front above that of the truth.
  void fill_front(std::vector<double> right, std::vector<double> wrong, std::size_t num_words,
                  std::size_t most, double truth_score);
};

class DependencyOracle {
 public:
  using Labelling = DependencyTree;

  /// Refers to its arguments; the arcs of the workspace must be filled. If `truth` is empty, only
  /// decode() and score() may be called. Ties are broken by a fixed order, that of the splits for
  /// projective trees.
  DependencyOracle(DependencyWorkspace& workspace, std::size_t num_words,
                   std::span<const std::uint32_t> truth, TreeShape shape = TreeShape::projective);

  Candidate<DependencyTree> argmax(double w_m, double w_g) const;
  Candidate<DependencyTree> truth() const;
  Candidate<DependencyTree> evaluate(const DependencyTree& y) const;
  /// O(n^3 k log k) for projective trees, O(n^3 k) for all.
  std::vector<Candidate<DependencyTree>> k_best(double w_m, double w_g, int k) const;
  std::optional<Candidate<DependencyTree>> argmax_without(
      double w_m, double w_g, std::span<const DependencyTree> banned) const;
  /// For projective trees; see TreeFront.
  bool has_loss_front() const { return shape_ == TreeShape::projective; }
  bool has_cheap_front() const { return has_loss_front() && num_words_ <= kMaxCheapFront; }
  std::span<const double> loss_front(std::uint32_t most) const;
  Candidate<DependencyTree> at_loss(std::uint32_t g) const;
  DependencyTree decode() const;
  double score(std::span<const std::uint32_t> heads) const;

 private:
  double arc(std::size_t head, std::size_t word) const {
    return workspace_.arcs[head * (num_words_ + 1) + word];
  }
  void weigh(double w_m, double w_g) const;
  DependencyTree best() const;

  DependencyWorkspace& workspace_;
  std::size_t num_words_;
  std::span<const std::uint32_t> truth_;
  TreeShape shape_;
  double truth_score_ = 0.0;
};

class DependencyModel {
 public:
  using Labelling = DependencyTree;
  using Workspace = DependencyWorkspace;

  /// Throws InvalidInput, naming the sentence, on sizes that do not match, an empty sentence, and
  /// heads that are not a projective tree with one root.
  DependencyModel(std::vector<ParserSentence> sentences, std::vector<DependencyTree> trees,
                  int bits);

  std::size_t num_examples() const { return sentences_.size(); }
  std::size_t num_weights() const { return std::size_t{1} << static_cast<unsigned>(bits_); }
  DependencyOracle oracle(std::size_t i, ScaledWeights w, DependencyWorkspace& workspace) const;
  void difference(std::size_t i, const DependencyTree& y, SparseVector& difference) const;
  const DependencyTree& truth(std::size_t i) const { return trees_[i]; }

 private:
  std::vector<ParserSentence> sentences_;
  std::vector<DependencyTree> trees_;
  int bits_;
};

/// Writes the scores of all arcs of the sentence into the workspace.
void score_arcs(const ParserSentence& sentence, int bits, ScaledWeights w,
                DependencyWorkspace& workspace);
/// The best tree.
DependencyTree decode_tree(const ParserSentence& sentence, int bits, ScaledWeights w,
                           DependencyWorkspace& workspace);

}  // namespace margrove
