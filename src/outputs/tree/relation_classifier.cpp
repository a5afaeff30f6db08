#include "outputs/tree/relation_classifier.hpp"

#include "structured/criteria.hpp"
#include "structured/enumeration.hpp"

namespace margrove {

Candidate<std::uint32_t> RelationOracle::argmax(double w_m, double w_g) const {
  Candidate<std::uint32_t> best = evaluate(0);
  for (std::uint32_t r = 1; r < scores_.size(); ++r) {
    const auto candidate = evaluate(r);
    if (compare_for_argmax(w_m, w_g, candidate.m, candidate.g, best.m, best.g) < 0) {
      best = candidate;
    }
  }
  return best;
}

RelationModel::RelationModel(std::span<const ParserSentence> sentences,
                             std::span<const LabelledTree> trees, const RelationShape& shape)
    : sentences_(sentences), trees_(trees), shape_(shape) {
  check_shape(shape);
  for (std::uint32_t i = 0; i < sentences.size(); ++i) {
    for (std::uint32_t k = 1; k <= sentences[i].size(); ++k) words_.push_back({i, k});
  }
}

std::uint32_t RelationModel::truth(std::size_t i) const {
  return trees_[words_[i].sentence].relations[words_[i].word - 1];
}

RelationOracle RelationModel::oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const {
  const Word& at = words_[i];
  return {arc_relation_scores(sentences_[at.sentence], head(at), at.word, shape_, w, workspace),
          truth(i)};
}

void RelationModel::difference(std::size_t i, std::uint32_t relation,
                               SparseVector& difference) const {
  const Word& at = words_[i];
  const std::uint32_t truth_relation = truth(i);
  if (relation == truth_relation) return;
  std::vector<std::uint32_t> places;
  relation_features(sentences_[at.sentence], head(at), at.word, shape_, places);
  for (const std::uint32_t place : places) {
    difference.add(place + relation, 1.0F);
    difference.add(place + truth_relation, -1.0F);
  }
  merge_repeated(difference);
}

}  // namespace margrove
