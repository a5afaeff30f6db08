#pragma once
// Predictors of sentences, which can be answered one by one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/row_formats.hpp"
#include "margrove/sentences.hpp"
#include "model/predictor.hpp"

namespace margrove {

struct ModelParts;

/// A column of the answer to a token.
struct AnswerColumn {
  std::string_view name;  // of the column for all tokens, in the plural
  bool is_number = false;
};

/// The parts of the score of a word's answer in a tree, and what else it might have been.
struct WordExplanation {
  struct Head {
    std::size_t number = 0;  // 0: the root, which is no word
    std::string word;
    double arc = 0;  // the score of the arc from it
  };
  struct Relation {
    std::string name;
    double score = 0;
  };
  std::string word;
  Head head;
  std::string relation;
  std::optional<double> relation_score;   // none where relations follow from a table
  bool arc_has_relation = false;          // whether the arc's score contains the relation's
  std::vector<Head> other_heads;          // the best first
  std::vector<Relation> other_relations;  // the best first
};

/// The parts as `margrove explain` prints them.
std::string explanation_text(std::span<const WordExplanation> sentence);

/// A model whose files hold sentences with one word per line and a blank line after each.
class SentencePredictor : public FilePredictor {
 public:
  const SentencePredictor* sentences() const final { return this; }
  /// Appends to `lines` what predict_file() writes for these sentences of a file; messages call it
  /// `name`. Returns their number, which may be 0. Throws InvalidInput as predict_file().
  virtual std::size_t predict_part(const FilePart& part, const std::string& name,
                                   Executor& executor, RunControl& control,
                                   std::string& lines) const = 0;
  /// Whether a line of a file, which is not blank, has a token. begins_sentence: whether the line
  /// before it has none.
  virtual bool has_token(std::string_view line, bool begins_sentence) const = 0;
  /// The line of a token with its answer, a line of predict_file(). Throws InvalidInput, naming
  /// `name`, where the answer does not fit into it.
  virtual std::string answered(std::string_view line, std::string_view answer,
                               const std::string& name) const = 0;
  /// What predict_file() writes of a token, separated by tabs.
  virtual std::span<const AnswerColumn> answer_columns() const = 0;
  /// The answers to sentences in memory: of each token its columns. Sentences that `control` leaves
  /// no time for have none. Throws InvalidInput as predict_file().
  virtual std::vector<Sentence> answers(const ExampleSource& source, Executor& executor,
                                        RunControl& control) const = 0;
  /// About how many bytes answers() holds for a sentence beside its texts.
  virtual std::size_t bytes_of_sentence(std::size_t num_tokens) const = 0;
  /// The first version of model files whose readers understand what save() writes.
  virtual std::uint64_t format_version() const { return 1; }
  /// Whether explain_sentence() serves the kind.
  virtual bool explains() const { return false; }
  /// Of each word of sentence `number` of the source, from 1, the parts of its score and its
  /// `num_others` best alternatives. Throws InvalidOption, naming `row`, if there are fewer
  /// sentences, and OutOfTimeLimit where `control` asks to end.
  virtual std::vector<WordExplanation> explain_sentence(const ExampleSource& /*source*/,
                                                        std::size_t /*number*/,
                                                        std::size_t /*num_others*/,
                                                        RunControl& /*control*/) const {
    return {};
  }
};

/// The warning of an evaluation of `num_words` words, `num_unknown` of which have answers ("tags")
/// that the model does not know: those in `names` from `first_unknown` on. None if it knows all.
std::vector<std::string> unknown_answers(std::size_t num_unknown, std::size_t num_words,
                                         std::string_view answers,
                                         std::span<const std::string> names,
                                         std::size_t first_unknown);

/// The predictor of a model of sentences. Throws InvalidInput for another model.
const SentencePredictor& sentences_of(const ModelParts& model);
/// The same where its answers can be explained. Throws InvalidOption for one whose are not.
const SentencePredictor& explained_sentences_of(const ModelParts& model);

}  // namespace margrove
