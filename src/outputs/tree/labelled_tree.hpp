#pragma once
// Dependency trees whose arcs have relations: f(x, y) = sum over words of
//   <w, phi(x, head, word)> + <w_r, psi(x, head, word)>
// with the relation r of the arc. The best relation of an arc does not depend on the other arcs, so
// that Eisner's algorithm finds the best labelled tree exactly from the best relation of each arc.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "margrove/options.hpp"
#include "outputs/tree/arc_relations.hpp"
#include "outputs/tree/dependency_tree.hpp"

namespace margrove {

/// relations[k] is the relation of word k + 1 to its head.
struct LabelledTree {
  DependencyTree heads;
  std::vector<std::uint32_t> relations;
  bool operator==(const LabelledTree&) const = default;
};

/// What the task loss counts.
enum class ParserLoss {
  labelled,  // words whose head or relation is wrong
  heads,     // words whose head is wrong
};
template <>
inline constexpr auto kEnumNames<ParserLoss> =
    std::array{EnumName{ParserLoss::labelled, "labelled"}, EnumName{ParserLoss::heads, "heads"}};

struct LabelledWorkspace : DependencyWorkspace {
  RelationWorkspace relations;
  std::vector<double> plain;                 // the scores of arcs without relations
  std::vector<std::uint32_t> best_relation;  // of each arc, head x word
  // The arcs of the true tree, by word: the true relation and the best other one.
  std::vector<double> true_score, other_score;
  std::vector<std::uint32_t> other_relation;
};

class LabelledOracle {
 public:
  using Labelling = LabelledTree;

  /// Refers to its arguments, of which score_labelled_arcs() has filled the workspace. Without
  /// `truth` only decode() and arc_score() may be called.
  LabelledOracle(LabelledWorkspace& workspace, const RelationScorer& scorer, std::size_t num_words,
                 const LabelledTree* truth, ParserLoss loss);

  /// Ties between relations go to the first one, between trees as in DependencyOracle.
  Candidate<LabelledTree> argmax(double w_m, double w_g) const;
  Candidate<LabelledTree> truth() const { return {*truth_, 0.0, 0.0}; }
  Candidate<LabelledTree> evaluate(const LabelledTree& y) const;
  /// O(n^3 k log k + n^2 r log k) for r relations.
  std::vector<Candidate<LabelledTree>> k_best(double w_m, double w_g, int k) const;
  std::optional<Candidate<LabelledTree>> argmax_without(double w_m, double w_g,
                                                        std::span<const LabelledTree> banned) const;
  /// See TreeFront.
  bool has_loss_front() const { return true; }
  bool has_cheap_front() const { return num_words_ <= kMaxCheapFront; }
  std::span<const double> loss_front(std::uint32_t most) const;
  Candidate<LabelledTree> at_loss(std::uint32_t g) const;
  LabelledTree decode() const;
  double score(const LabelledTree& y) const;

 private:
  bool is_true_arc(std::size_t head, std::size_t word) const {
    return truth_ != nullptr && truth_->heads[word - 1] == head;
  }
  double loss_of(std::size_t head, std::size_t word, std::uint32_t relation) const;
  std::pair<double, double> without_zero(double w_m, double w_g) const;
  double arc_score(std::size_t head, std::size_t word, std::uint32_t relation) const;

  LabelledWorkspace& workspace_;
  RelationScorer scorer_;
  std::size_t num_words_;
  const LabelledTree* truth_;
  ParserLoss loss_;
  double truth_score_ = 0.0;
};

/// The weights of arcs, 2^bits, and behind them those of relations.
class LabelledModel {
 public:
  using Labelling = LabelledTree;
  using Workspace = LabelledWorkspace;

  /// Throws what DependencyModel and check_shape() throw, and InvalidInput unless each word has one
  /// relation < num_relations.
  LabelledModel(std::vector<ParserSentence> sentences, std::vector<LabelledTree> trees, int bits,
                std::uint32_t num_relations, ParserLoss loss);

  std::size_t num_examples() const { return sentences_.size(); }
  std::size_t num_weights() const { return shape_.begin + shape_.num_weights(); }
  LabelledOracle oracle(std::size_t i, ScaledWeights w, LabelledWorkspace& workspace) const;
  void difference(std::size_t i, const LabelledTree& y, SparseVector& difference) const;
  const LabelledTree& truth(std::size_t i) const { return trees_[i]; }
  const RelationShape& shape() const { return shape_; }

 private:
  std::vector<ParserSentence> sentences_;
  std::vector<LabelledTree> trees_;
  RelationShape shape_;
  ParserLoss loss_;
};

/// Writes the scores of all arcs, with the best relation of each, into the workspace. `truth`: the
/// tree for which the scores of relations are kept apart, or null.
RelationScorer score_labelled_arcs(const ParserSentence& sentence, const RelationShape& shape,
                                   ScaledWeights w, const LabelledTree* truth,
                                   LabelledWorkspace& workspace);
/// The best labelled tree.
LabelledTree decode_labelled(const ParserSentence& sentence, const RelationShape& shape,
                             ScaledWeights w, LabelledWorkspace& workspace);

}  // namespace margrove
