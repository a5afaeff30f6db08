#pragma once
// Rows that are answered as they come, and rows with errors that are left out.

#include <functional>
#include <string>

#include "cli/model_arguments.hpp"
#include "data/row_parts.hpp"

namespace margrove::cli {

/// Answers the rows of a source in parts.
class RowStream {
 public:
  /// Appends one line for each row of X to `lines`.
  using Answer = std::function<void(const CsrView& X, std::string& lines)>;
  /// Takes the lines of some rows; false: no more are wanted.
  using Write = std::function<bool(const std::string& lines)>;

  /// `model` must outlive it. skips_errors: a row that cannot be read or preprocessed is reported
  /// on stderr with its line, and its answer is an empty line. Otherwise, and for LostRows, it
  /// throws InvalidInput, once the rows before it are written.
  RowStream(const ModelParts& model, bool skips_errors) : model_(model), skips_(skips_errors) {}

  /// Throws InvalidInput if the source has no rows, or if all were left out.
  void answer_all(LineBlocks blocks, const Answer& answer, const Write& write);

 private:
  /// The number of rows that were answered.
  std::size_t answer_part(const RowParts& parts, const FilePart& part, const Answer& answer,
                          std::string& lines) const;
  /// The same row by row, writing each; `goes_on` becomes false if no more are wanted.
  void answer_rows(RowParts& parts, const Answer& answer, const Write& write, bool& goes_on);
  void skip(const RowParts& parts, const FilePart& row, const InvalidInput& error);

  const ModelParts& model_;
  bool skips_;
  std::size_t num_answered_ = 0, num_skipped_ = 0;
};

}  // namespace margrove::cli
