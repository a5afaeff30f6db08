#pragma once
// Predictors of sentences, which can be answered one by one.

#include <cstddef>
#include <string>

#include "data/row_formats.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// A model whose files hold sentences with one word per line and a blank line after each.
class SentencePredictor : public FilePredictor {
 public:
  const SentencePredictor* sentences() const final { return this; }
  /// Appends to `lines` what predict_file() writes for these sentences of a file; messages call it
  /// `name`. Returns their number, which may be 0. Throws InvalidInput as predict_file().
  virtual std::size_t predict_part(const FilePart& part, const std::string& name,
                                   Executor& executor, RunControl& control,
                                   std::string& lines) const = 0;
  /// Whether explain_sentence() serves the kind.
  virtual bool explains() const { return false; }
  /// The parts of the score of the answer for sentence `number` of a file, from 1, as lines of
  /// text, each with its `num_others` best alternatives. Throws InvalidOption, naming `row`, if
  /// there are fewer sentences.
  virtual std::string explain_sentence(const TextSource& /*source*/, std::size_t /*number*/,
                                       std::size_t /*num_others*/) const {
    return {};
  }
};

}  // namespace margrove
