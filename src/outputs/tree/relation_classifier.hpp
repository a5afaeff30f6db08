#pragma once
// The relations of given arcs as a structured model of its own: each word is an example, and its
// labelling is the relation of the arc to its head.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "outputs/tree/arc_relations.hpp"
#include "outputs/tree/labelled_tree.hpp"
#include "structured/oracle.hpp"

namespace margrove {

struct RelationClassifierWorkspace : RelationWorkspace {};

/// Looks at all relations, so that it maximises every surrogate. The task loss is 1 for a wrong
/// relation.
class RelationOracle {
 public:
  using Labelling = std::uint32_t;

  /// `scores` must outlive the oracle.
  RelationOracle(std::span<const double> scores, std::uint32_t truth)
      : scores_(scores), truth_(truth) {}

  Candidate<std::uint32_t> argmax(double w_m, double w_g) const;
  Candidate<std::uint32_t> truth() const { return {truth_, 0.0, 0.0}; }
  Candidate<std::uint32_t> evaluate(std::uint32_t relation) const {
    return {relation, scores_[relation] - scores_[truth_], relation == truth_ ? 0.0 : 1.0};
  }
  template <class Psi>
  std::pair<Candidate<std::uint32_t>, double> maximise(const Psi& psi) const {
    std::pair<Candidate<std::uint32_t>, double> best{truth(), 0.0};
    for (std::uint32_t r = 0; r < scores_.size(); ++r) {
      if (r == truth_) continue;
      const auto candidate = evaluate(r);
      const double value = psi.value(candidate.m, candidate.g);
      if (value > best.second) best = {candidate, value};
    }
    return best;
  }

 private:
  std::span<const double> scores_;
  std::uint32_t truth_;
};

class RelationModel {
 public:
  using Labelling = std::uint32_t;
  using Workspace = RelationClassifierWorkspace;

  /// Refers to its arguments, which LabelledModel must accept.
  RelationModel(std::span<const ParserSentence> sentences, std::span<const LabelledTree> trees,
                const RelationShape& shape);

  std::size_t num_examples() const { return words_.size(); }
  std::size_t num_weights() const { return shape_.num_weights(); }
  RelationOracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const;
  void difference(std::size_t i, std::uint32_t relation, SparseVector& difference) const;
  std::uint32_t truth(std::size_t i) const;

 private:
  struct Word {
    std::uint32_t sentence, word;  // the word is counted from 1
  };
  std::uint32_t head(const Word& at) const { return trees_[at.sentence].heads[at.word - 1]; }

  std::span<const ParserSentence> sentences_;
  std::span<const LabelledTree> trees_;
  RelationShape shape_;
  std::vector<Word> words_;
};

}  // namespace margrove
