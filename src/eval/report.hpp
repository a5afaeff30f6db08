#pragma once
// How a model performs on labelled rows, as one page.

#include <functional>
#include <string>

#include "model/model.hpp"

namespace margrove {

struct ReportOptions {
  std::string title = "Margrove report";
  int num_examples = 20;   // half of them wrong, if there are so many
  int num_pairs = 50;      // of confused siblings, at most
  int num_features = 5;    // of each node of an explanation
  std::uint64_t seed = 0;  // of the choice of examples
  /// The name of a feature; not set: its word in the vocabulary, or its number, counted from 1.
  std::function<std::string(FeatureId)> feature_name;
};

/// The content as one JSON object: metrics, the hierarchy with each node's counts (rows that have
/// it, rows for which it is predicted, rows with both, in ancestor-closed sets), the pairs of
/// siblings that are confused most often, the convergence of training, calibration (of models that
/// predict one label), and explained examples. `truth` holds ids of model.labels; other ids are
/// unknown labels. Throws InvalidInput if there are no rows or their numbers differ. O(scores of
/// all rows).
std::string report_json(const ModelParts& model, const CsrView& X, const LabelSets& truth,
                        const ReportOptions& options, Executor& executor);

/// The same as a page of HTML that needs no network and no other file.
std::string report_html(const ModelParts& model, const CsrView& X, const LabelSets& truth,
                        const ReportOptions& options, Executor& executor);

}  // namespace margrove
