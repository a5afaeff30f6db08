#pragma once
// One page that shows what a model does on labelled rows.

#include <functional>
#include <string>

#include "model/model.hpp"

namespace margrove {

struct ReportOptions {
  std::string title = "Margrove report";
  int num_examples = 20;   // explained; half of them are wrong, if there are so many
  int num_pairs = 50;      // of confused siblings, at most
  int num_features = 5;    // of each node of an explanation
  std::uint64_t seed = 0;  // of the choice of examples
  /// The name of a feature; if not set, the word of the vocabulary or the number counted from 1.
  std::function<std::string(FeatureId)> feature_name;
};

/// The content as one JSON object: metrics, the hierarchy with each node's counts (rows that have
/// it, rows given it, rows with both, in ancestor-closed sets), the pairs of siblings that are
/// taken for each other most often, how training converged, calibration (of models that give one
/// label), explained examples. `truth` holds ids of model.labels, others counting as unknown
/// labels. Throws InvalidInput if there are no rows or their numbers differ. O(scores of all rows).
std::string report_json(const Model& model, const CsrView& X, const LabelSets& truth,
                        const ReportOptions& options, Executor& executor);

/// The same as a page of HTML that needs neither a network nor another file.
std::string report_html(const Model& model, const CsrView& X, const LabelSets& truth,
                        const ReportOptions& options, Executor& executor);

}  // namespace margrove
