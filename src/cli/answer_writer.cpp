#include "cli/answer_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/number_text.hpp"
#include "data/csv_cell.hpp"
#include "data/prediction_lines.hpp"
#include "data/record_builder.hpp"
#include "data/text_scan.hpp"
#include "serve/answer_json.hpp"

namespace margrove::cli {

AnswerWriter::AnswerWriter(AnswerForm form, const AnswerOptions& options, const ModelParts& model)
    : form_(form), options_(options), texts_(label_texts(model, options.show)) {
  const bool ids_are_paths = model.records && model.records->selection.has_paths();
  shows_labels_ = !ids_are_paths && (options.show.empty() || options.show == "id");
  num_ranks_ = std::min(static_cast<std::size_t>(std::max(options.top, 0)), texts_.names.size());
}

std::string AnswerWriter::header() const {
  if (form_ != AnswerForm::csv) return {};
  const std::string_view number = options_.probabilities ? "probability" : "score";
  if (num_ranks_ == 0) {
    return has_numbers()
               ? fmt::format("labels,{}\n", options_.probabilities ? "probabilities" : "scores")
               : "labels\n";
  }
  std::string line;
  for (std::size_t k = 1; k <= num_ranks_; ++k) {
    line += fmt::format("{}label_{}", k > 1 ? "," : "", k);
    if (has_numbers()) line += fmt::format(",{}_{}", number, k);
  }
  return line + "\n";
}

void AnswerWriter::append(const Answer& answer, std::string& lines) const {
  if (form_ == AnswerForm::csv) {
    append_csv(answer, lines);
  } else if (form_ == AnswerForm::jsonl) {
    lines += serve::to_text(serve::answer_json(answer, options_, texts_)) + "\n";
  } else {
    append_line(answer, lines);
  }
}

std::string AnswerWriter::skipped() const {
  if (form_ == AnswerForm::jsonl) return "null\n";
  if (form_ != AnswerForm::csv) return "\n";
  const std::size_t num_columns = std::max<std::size_t>(num_ranks_, 1) * (has_numbers() ? 2 : 1);
  // A blank line would be no row.
  return num_columns == 1 ? "\"\"\n" : std::string(num_columns - 1, ',') + "\n";
}

const std::string& AnswerWriter::checked_name(LabelId label, std::string_view separator) const {
  const std::string& name = texts_.names[label];
  const bool is_csv = form_ == AnswerForm::csv;
  const bool is_split = !separator.empty() && name.find(separator) != std::string::npos;
  std::string fault;
  if (is_split || (!is_csv && name.find_first_of("\r\n") != std::string::npos)) {
    fault = concat("is ", detail::quoted(name), ", but must not contain ",
                   is_split ? concat(detail::quoted(separator), ", which separates labels")
                            : std::string("line ends"));
  } else if (is_csv && shows_labels_) {
    fault = cell_label_fault(name);
  }
  require(fault.empty(), "predict: label ", fault,
          "; --output-format jsonl writes labels with any text");
  return name;
}

void AnswerWriter::append_line(const Answer& answer, std::string& lines) const {
  const std::string& between = has_numbers() ? texts_.between_scores : texts_.between;
  for (const LabelId label : answer.labels) checked_name(label, between);
  if (has_numbers()) {
    std::vector<ScoredLabel> scored;
    for (std::size_t k = 0; k < answer.labels.size(); ++k) {
      scored.push_back({answer.labels[k], answer.numbers[k]});
    }
    append_scored_labels(lines, scored, texts_.names, texts_.between_scores);
  } else {
    append_labels(lines, answer.labels, texts_.names, texts_.between);
  }
  lines += '\n';
}

void AnswerWriter::append_csv(const Answer& answer, std::string& lines) const {
  if (num_ranks_ == 0) {
    std::string labels, numbers;
    for (const LabelId label : answer.labels) checked_name(label, texts_.between);
    append_labels(labels, answer.labels, texts_.names, texts_.between);
    for (const double number : answer.numbers) {
      if (!numbers.empty()) numbers += ' ';
      append_number(numbers, number);
    }
    const bool is_blank = labels.empty() && !has_numbers();
    lines += is_blank ? "\"\"" : csv_cell(labels);
    if (has_numbers()) lines += "," + numbers;
  } else {
    for (std::size_t k = 0; k < num_ranks_; ++k) {
      const bool has_label = k < answer.labels.size();
      if (k > 0) lines += ',';
      if (has_label) lines += csv_cell(checked_name(answer.labels[k], {}));
      if (!has_numbers()) continue;
      lines += ',';
      if (has_label) append_number(lines, answer.numbers[k]);
    }
  }
  lines += '\n';
}

}  // namespace margrove::cli
