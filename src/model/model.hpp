#pragma once
// What a trained model consists of: what all kinds have in common, around the predictor.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/record_features.hpp"
#include "margrove/label_codec.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/tfidf.hpp"
#include "model/calibration.hpp"
#include "model/method.hpp"
#include "model/predictor.hpp"

namespace margrove {

struct ModelParts {
  std::string method;
  OptionValues options;  // with which it was trained
  LabelCodec labels;     // in natural order
  LabelGraph hierarchy;  // over the ids of `labels`; without edges where none was given
  bool has_hierarchy = false;
  std::vector<std::uint32_t> training_rows;  // of each label
  std::optional<RecordFeatures> records;     // if rows are records: what makes numbers of them
  Preprocessing preprocessing;               // of rows, before the predictor sees them
  std::vector<View> views;                   // of the rows; empty: one source
  FitReport report;
  std::optional<Calibration> calibration;  // of probabilities, if it was asked for
  std::unique_ptr<Predictor> predictor;
  std::shared_ptr<const FitState> state;  // of its training, if it was kept; not in the file

  /// The predictor of rows. Throws InvalidInput for a model of another kind.
  const RowPredictor& rows() const;
  /// RowPredictor::explain() of a row after preprocessing, in the units of the row before scaling.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const;
  /// Whether each label has training rows.
  std::vector<bool> in_training() const;
  /// Of probabilities: the calibration's, or 1.
  double temperature() const { return calibration ? calibration->temperature : 1.0; }
};

}  // namespace margrove
