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
};

}  // namespace margrove
