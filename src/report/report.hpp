#pragma once
// How a model performs on labelled rows, as one page.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "eval/evaluated_rows.hpp"
#include "model/model.hpp"

namespace margrove {

/// Predictions of another model for the same rows.
struct OtherPredictions {
  std::string name;
  std::string method;
  LabelSets labels;                     // numbered as in the EvaluatedRows
  std::vector<double> confidence = {};  // of each prediction; empty if the model gives label sets
};

/// Predicts X, the same rows as the other model takes them, and adds its labels to rows.labels.
OtherPredictions other_predictions(std::string name, const ModelParts& other, const CsrView& X,
                                   EvaluatedRows& rows, Executor& executor);

struct ReportOptions {
  std::string title = "Margrove report";
  int num_examples = 20;      // half of them wrong, if there are so many
  int num_pairs = 50;         // of confused siblings, at most
  int num_pair_examples = 3;  // rows of each pair
  int num_features = 8;       // of each node of an explanation
  std::uint64_t seed = 0;     // of the choice of examples
  /// The name of a feature; not set: its word in the vocabulary, or its number, counted from 1.
  std::function<std::string(FeatureId)> feature_name = {};
};

/// What a report is about. Refers to its members, of which `other` may be null.
struct ReportInputs {
  const ModelParts& model;
  const EvaluatedRows& rows;
  std::span<const std::string> texts = {};  // of the rows; empty: they have none
  const OtherPredictions* other = nullptr;
};

/// The content as one JSON object: metrics, the hierarchy with each node's counts, accuracy by
/// level, siblings that are confused, risk and coverage, calibration (of models that predict one
/// label), convergence, the network of kernels, and explained rows. Throws InvalidInput if there
/// are no rows or numbers of rows differ. O(scores of all rows).
std::string report_json(const ReportInputs& inputs, const ReportOptions& options,
                        Executor& executor);

/// The same as a page of HTML that needs no network and no other file.
std::string report_html(const ReportInputs& inputs, const ReportOptions& options,
                        Executor& executor);

}  // namespace margrove
