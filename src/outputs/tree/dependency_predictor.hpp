#pragma once
// Prediction, evaluation and storage of dependency parsers.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/sentence_predictor.hpp"
#include "outputs/tree/conllu_reader.hpp"
#include "outputs/tree/labelled_tree.hpp"
#include "outputs/tree/parser_training.hpp"
#include "outputs/tree/relation_table.hpp"

namespace margrove {

/// What training has learned.
struct ParserWeights {
  int bits;
  RelationKind relations;
  std::vector<float> weights;          // as fit_parser() returns them
  std::optional<RelationTable> table;  // with RelationKind::table

  std::size_t num_arc_weights() const { return std::size_t{1} << static_cast<unsigned>(bits); }
};

/// Predicts the heads of the words of a CoNLL-U file and the relations to them. predict_file: head,
/// tab and relation per line, a blank line after each sentence. evaluate_file: UAS and LAS,
/// punctuation included.
class DependencyPredictor final : public SentencePredictor {
 public:
  /// `names` has the names of the relations.
  DependencyPredictor(ParserWeights parser, LabelCodec names);
  const ParserWeights& parser() const { return parser_; }
  const LabelCodec& names() const { return names_; }

  std::string_view kind() const override { return "dependency"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::string predict_file(const ExampleSource& source, Executor& executor,
                           RunControl& control) const override;
  std::size_t predict_part(const FilePart& part, const std::string& name, Executor& executor,
                           RunControl& control, std::string& lines) const override;
  std::vector<Sentence> answers(const ExampleSource& source, Executor& executor,
                                RunControl& control) const override;
  FileEvaluation evaluate_file(const ExampleSource& source, Executor& executor,
                               RunControl& control) const override;
  bool has_token(std::string_view line, bool begins_sentence) const override;
  std::string answered(std::string_view line, std::string_view answer,
                       const std::string& name) const override;
  std::span<const AnswerColumn> answer_columns() const override;
  std::size_t bytes_of_sentence(std::size_t num_tokens) const override;
  bool explains() const override { return true; }
  std::vector<WordExplanation> explain_sentence(const ExampleSource& source, std::size_t number,
                                                std::size_t num_others,
                                                RunControl& control) const override;

 private:
  void append_answers(const DependencyCorpus& corpus, Executor& executor, RunControl& control,
                      std::string& lines) const;
  LabelledTree decode(const ParserSentence& sentence, LabelledWorkspace& workspace) const;
  /// Empty trees for the sentences that a time limit left out.
  std::vector<LabelledTree> decode(const DependencyCorpus& corpus, Executor& executor,
                                   RunControl& control) const;

  ParserWeights parser_;
  LabelCodec names_;
  RelationShape shape_;
};

}  // namespace margrove
