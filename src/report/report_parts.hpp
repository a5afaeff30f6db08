#pragma once
// The parts of a report's content as JSON.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace margrove::detail {

using Json = nlohmann::ordered_json;

/// Nodes with their names, parents and counts; those of `other` too, if there is one.
Json nodes_json(const ReportInputs& inputs, std::span<const std::string> names);

/// Accuracy, precision and recall by level of a model's predictions, numbered as in the rows.
Json levels_json(const EvaluatedRows& rows, const LabelSets& predicted);

/// A pair of siblings and the first rows of each direction.
struct ConfusedPair {
  NodeId a = 0, b = 0;  // a < b
  std::int64_t a_as_b = 0, b_as_a = 0;
  std::vector<std::uint32_t> rows;
};
/// The pairs that are confused most often.
std::vector<ConfusedPair> confused_pairs(const EvaluatedRows& rows, const ReportOptions& options);

/// Convergence of training.
Json convergence_json(const FitReport& report);

/// {"calibration", "coverage"}, null for models that give label sets; calibration also for those
/// without probabilities.
Json confidence_json(const ReportInputs& inputs, Executor& executor);

/// The "coverage" of the other model, which the inputs must have.
Json coverage_of_other(const ReportInputs& inputs);

/// The network of a kernel model with its weights; null for other models.
Json network_json(const ModelParts& model);

/// The rows to explain: some wrong and some right ones, those of pairs, and some that only one of
/// two models predicts right. Ascending.
std::vector<std::uint32_t> example_rows(const ReportInputs& inputs,
                                        std::span<const ConfusedPair> pairs,
                                        const ReportOptions& options);

/// Rows with their labels, texts and the scores of their predicted and true labels.
Json examples_json(const ReportInputs& inputs, std::span<const std::string> names,
                   std::span<const std::uint32_t> rows, const ReportOptions& options);

}  // namespace margrove::detail
