#pragma once
// Tables of an evaluation, as text in CSV (RFC 4180) with a header.

#include <string>

#include "eval/evaluated_rows.hpp"
#include "eval/precision_recall.hpp"

namespace margrove {

/// label, support, predicted, precision, recall, f1 of the labels that occur in training or truth;
/// training_rows; ap, the average precision of the label's node score for the rows at or below it.
/// Unknown values are empty cells.
std::string per_label_csv(const EvaluatedRows& rows, const PrecisionRecall* node_scores);
/// level, rows whose labels reach it, accuracy, and support, predicted, precision, recall, f1 of
/// its nodes over all rows.
std::string per_level_csv(const EvaluatedRows& rows);
/// training_rows (a band, FrequencyBand), labels, and their support, predicted, precision, recall,
/// f1 over all rows and macro_f1.
std::string per_frequency_csv(const EvaluatedRows& rows);
/// true, predicted, count of siblings (SiblingConfusion), the largest counts first.
std::string confusion_csv(const EvaluatedRows& rows);

}  // namespace margrove
