#pragma once
// Answers as `margrove predict` writes them: one line per row.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/answers.hpp"
#include "model/label_texts.hpp"

namespace margrove::cli {

enum class AnswerForm : std::uint8_t { lines, csv, jsonl };

class AnswerWriter {
 public:
  AnswerWriter(AnswerForm form, const AnswerOptions& options, const ModelParts& model);

  /// The line before all others; empty but for CSV.
  std::string header() const;
  /// Throws InvalidInput naming a label that would not be read back from the line.
  void append(const Answer& answer, std::string& lines) const;
  /// The line of a row that cannot be read.
  std::string skipped() const;

 private:
  void append_line(const Answer& answer, std::string& lines) const;
  void append_csv(const Answer& answer, std::string& lines) const;
  /// The name of a label, checked as append() says. `separator` (may be empty) stands between
  /// labels.
  const std::string& checked_name(LabelId label, std::string_view separator) const;
  bool has_numbers() const { return options_.scores || options_.probabilities; }

  AnswerForm form_;
  AnswerOptions options_;
  LabelTexts texts_;
  bool shows_labels_ = true;   // whether the texts are the labels that readers find in a column
  std::size_t num_ranks_ = 0;  // CSV: the columns of labels, best first; 0: one for the label set
};

}  // namespace margrove::cli
