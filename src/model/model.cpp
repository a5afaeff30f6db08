#include "model/model.hpp"

#include "model/feature_name.hpp"
#include "model/linear_predictor.hpp"
#include "model/log_odds.hpp"
#include "model/raw_units.hpp"

namespace margrove {

const RowPredictor& ModelParts::rows() const {
  const RowPredictor* rows = predictor->rows();
  require(rows != nullptr, "model of method ", method, ": its examples are not rows of a matrix");
  return *rows;
}

Explanation ModelParts::explain(const SparseRow& x, LabelId label,
                                std::size_t num_strongest) const {
  return in_raw_units(rows().explain(x, label, num_strongest), preprocessing);
}

std::uint32_t ModelParts::num_raw_features() const {
  const std::vector<FeatureId>& columns = preprocessing.columns;
  return columns.empty() ? rows().num_features() : columns.back() + 1;
}

std::string ModelParts::feature_name(FeatureId feature) const {
  if (feature == num_raw_features()) return "(intercept)";
  return margrove::feature_name(feature, records ? &*records : nullptr, preprocessing, views);
}

bool scores_are_log_odds(const ModelParts& model) {
  return model.method == "flat-lr" || model.method == "hr-lr";
}

bool gives_probabilities(const ModelParts& model) {
  return model.calibration.has_value() || scores_are_log_odds(model);
}

double ModelParts::temperature() const {
  if (calibration) return calibration->temperature;
  const LinearPredictor* linear = predictor->linear();
  return scores_are_log_odds(*this) && linear != nullptr && linear->parts().candidates.size() == 2
             ? 2.0
             : 1.0;
}

std::vector<bool> ModelParts::in_training() const {
  std::vector<bool> has_rows;
  for (const std::uint32_t rows : training_rows) has_rows.push_back(rows > 0);
  return has_rows;
}

}  // namespace margrove
