#pragma once
// Answers as `margrove predict` writes them: one line per row.

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/answers.hpp"
#include "model/label_texts.hpp"

namespace margrove::cli {

enum class AnswerForm : std::uint8_t { lines, csv, jsonl };

class AnswerWriter {
 public:
  AnswerWriter(AnswerForm form, const AnswerOptions& options, const ModelParts& model);

  /// The line before all others; empty but for CSV.
  std::string header() const;
  void append(const Answer& answer, std::string& lines) const;
  /// The line of a row that cannot be read.
  std::string skipped() const;

 private:
  void append_line(const Answer& answer, std::string& lines) const;
  void append_csv(const Answer& answer, std::string& lines) const;
  bool has_numbers() const { return options_.scores || options_.probabilities; }

  AnswerForm form_;
  AnswerOptions options_;
  LabelTexts texts_;
  std::size_t num_ranks_ = 0;  // CSV: the columns of labels, best first; 0: one for the label set
};

}  // namespace margrove::cli
