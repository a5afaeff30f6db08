#pragma once
// Rows or sentences that are answered as they come, and those with errors that are left out.

#include <functional>
#include <string>
#include <utility>

#include "cli/model_arguments.hpp"
#include "data/row_parts.hpp"

namespace margrove::cli {

/// Answers the rows of a source in parts. A "row" may be a sentence of several lines.
class RowStream {
 public:
  /// Appends the answers to the rows of a part to `lines`, and returns their number. Throws
  /// InvalidInput for rows that cannot be read.
  using Answer =
      std::function<std::size_t(const RowParts& parts, const FilePart& part, std::string& lines)>;
  /// Takes the lines of some rows; false: no more are wanted.
  using Write = std::function<bool(const std::string& lines)>;

  /// skips_errors: a row that cannot be answered is reported on stderr with its lines, and its
  /// answer is `of_skipped`. Otherwise, and for LostRows, it throws InvalidInput, once the rows
  /// before it are written. unit: "row" or "sentence".
  RowStream(bool skips_errors, std::string unit, std::string of_skipped)
      : skips_(skips_errors), unit_(std::move(unit)), of_skipped_(std::move(of_skipped)) {}

  /// Throws InvalidInput if the source has no rows, or if all were left out.
  void answer_all(RowParts parts, const Answer& answer, const Write& write);

 private:
  /// The same row by row, writing each; `goes_on` becomes false if no more are wanted.
  void answer_rows(RowParts& parts, const Answer& answer, const Write& write, bool& goes_on);
  void skip(const RowParts& parts, const FilePart& row, const InvalidInput& error);

  bool skips_;
  std::string unit_, of_skipped_;
  std::size_t num_answered_ = 0, num_skipped_ = 0;
};

}  // namespace margrove::cli
