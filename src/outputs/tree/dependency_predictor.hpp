#pragma once
// Prediction, evaluation and storage of dependency parsers.

#include <memory>
#include <string>
#include <vector>

#include "model/sentence_predictor.hpp"
#include "outputs/tree/conllu_reader.hpp"
#include "outputs/tree/dependency_tree.hpp"
#include "outputs/tree/relation_table.hpp"

namespace margrove {

/// Predicts the heads of the words of a CoNLL-U file; the relation of an arc is the most frequent
/// one of its parts of speech and direction (RelationTable). predict_file: head, tab and relation
/// per line, a blank line after each sentence. evaluate_file: UAS and LAS, punctuation included.
class DependencyPredictor final : public SentencePredictor {
 public:
  /// There are 2^bits weights. The relation table has ids of `names`.
  DependencyPredictor(int bits, std::vector<float> weights, LabelCodec names,
                      RelationTable relations);

  std::string_view kind() const override { return "dependency"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::string predict_file(const std::string& path, Executor& executor,
                           RunControl& control) const override;
  std::size_t predict_part(const FilePart& part, const std::string& name, Executor& executor,
                           RunControl& control, std::string& lines) const override;
  std::vector<NamedValue> evaluate_file(const std::string& path, Executor& executor,
                                        RunControl& control) const override;

 private:
  void append_answers(const DependencyCorpus& corpus, Executor& executor, RunControl& control,
                      std::string& lines) const;
  std::vector<DependencyTree> decode(const std::vector<ParserSentence>& sentences,
                                     Executor& executor, RunControl& control) const;

  int bits_;
  std::vector<float> weights_;
  LabelCodec names_;
  RelationTable relations_;
};

}  // namespace margrove
