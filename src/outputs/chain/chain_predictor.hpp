#pragma once
// Prediction, evaluation and storage of linear chains.

#include <memory>
#include <string>
#include <vector>

#include "model/decision.hpp"
#include "model/sentence_predictor.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/chain/tag_constraints.hpp"
#include "outputs/chain/token_features.hpp"

namespace margrove {

/// Tags of the tokens of a column file. predict_file: one tag per line, a blank line after each
/// sentence. evaluate_file: token and sentence accuracy, and span scores where the tags are spans.
class ChainPredictor final : public SentencePredictor {
 public:
  /// The decision is argmax, the best tags, or an offset of all tags but `outside_tag`; both under
  /// the constraints. Files have comments if those of the training had (ColumnComments::hash).
  ChainPredictor(FeatureTable features, LabelCodec tags, std::size_t num_columns,
                 std::uint32_t order, std::vector<float> weights, Decision decision = {},
                 std::uint32_t outside_tag = 0, TagConstraints constraints = {},
                 ColumnComments comments = ColumnComments::none);

  std::string_view kind() const override { return "chain"; }
  /// Earlier programs have no pairs of words, no clusters, no second order and no letters beyond
  /// ASCII.
  std::uint64_t format_version() const override {
    if (features_.alphabet() == Alphabet::unicode) return 14;
    const bool is_new = features_.has_word_pairs() || !clusters().is_empty() || shape_.order > 1;
    return is_new ? 13 : 1;
  }
  const WordClusters& clusters() const { return features_.clusters(); }
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
  /// The weights of a chain with these features and tags, found by their names; 0 for those that
  /// the model does not know.
  std::vector<float> weights_for(const FeatureTable& features, const LabelCodec& tags,
                                 std::uint32_t order) const;

 private:
  /// Whether a source has tags as the last column. skipped: files to predict may have them.
  enum class Tags { none, read, skipped };
  /// The corpus that read(options) reads from `source`.
  /// Throws InvalidInput unless it has the columns of the training.
  template <class Read>
  ColumnCorpus with_columns(const std::string& source, Tags tags, const Read& read) const;
  ColumnCorpus read(const ExampleSource& source, Tags tags, RunControl& control) const;
  std::vector<TagSequence> predict(const ExampleSource& source, Executor& executor,
                                   RunControl& control) const;
  void append(const std::vector<TagSequence>& sentences, std::string& lines) const;
  std::vector<TagSequence> decode(const ColumnCorpus& corpus, Executor& executor,
                                  RunControl& control) const;

  FeatureTable features_;
  LabelCodec tags_;
  std::size_t num_columns_;
  ChainShape shape_;
  std::vector<float> weights_;
  Decision decision_;
  std::uint32_t outside_tag_;
  TagConstraints constraints_;
  bool has_comments_;  // whether files do
};

}  // namespace margrove
