#include "model/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

namespace {

/// How many of the last columns are those of a vector.
std::uint32_t vector_width(const ModelParts& model) {
  return model.records ? model.records->vector_width() : model.preprocessing.vectors.width();
}

/// One part in the place of those of single columns from `first` on, which mean nothing by
/// themselves. Its value is the norm of the vector.
void join_vector(FeatureId first, FeatureId end, std::vector<Explanation::Contribution>& parts) {
  double square = 0, score = 0;
  const auto is_of_vector = [&](const Explanation::Contribution& part) {
    if (part.feature < first || part.feature >= end) return false;
    square += double{part.value} * double{part.value};
    score += part.score;
    return true;
  };
  if (std::erase_if(parts, is_of_vector) == 0) return;
  const double norm = std::sqrt(square);
  const double weight = norm > 0 ? score / norm : 0.0;
  parts.push_back({end + 1, static_cast<float>(norm), static_cast<float>(weight), score});
}

}  // namespace

void ModelParts::require_own_columns(std::string_view what) const {
  require(!kernel_features, what, ": the model has weights of kernel features (option ",
          "kernel_features ", kernel_features ? kernel_features->choice().to_text() : "",
          "), not of the columns of rows");
}

Explanation ModelParts::explain(const SparseRow& x, LabelId label,
                                std::size_t num_strongest) const {
  if (kernel_features) {
    require_explained_features(num_strongest);
    Explanation by_node = rows().explain(x, label, 0);
    for (Explanation::Node& node : by_node.nodes) node.strongest.clear();
    return by_node;
  }
  const std::uint32_t width = vector_width(*this);
  if (width == 0) return in_raw_units(rows().explain(x, label, num_strongest), preprocessing);
  Explanation explanation = in_raw_units(
      rows().explain(x, label, std::numeric_limits<std::size_t>::max()), preprocessing);
  const FeatureId end = num_raw_features();
  for (Explanation::Node& node : explanation.nodes) {
    join_vector(end - width, end, node.strongest);
    keep_strongest(node.strongest, num_strongest);
  }
  return explanation;
}

std::uint32_t ModelParts::num_raw_features() const {
  const std::vector<FeatureId>& columns = preprocessing.columns;
  if (!columns.empty()) return columns.back() + 1;
  return kernel_features ? kernel_features->num_columns() : rows().num_features();
}

std::string ModelParts::feature_name(FeatureId feature) const {
  if (feature == num_raw_features()) return "(intercept)";
  if (feature > num_raw_features() && vector_width(*this) > 0) {
    return concat("vector of ",
                  records ? records->vector_name() : preprocessing.vectors.facts.name);
  }
  return margrove::feature_name(feature, records ? &*records : nullptr, preprocessing, views);
}

bool scores_are_log_odds(const ModelParts& model) {
  return model.method == "flat-lr" || model.method == "hr-lr";
}

bool is_multinomial(const ModelParts& model) {
  const OptionValues::value_type softmax{"multiclass", "softmax"};
  return std::ranges::find(model.options, softmax) != model.options.end();
}

bool gives_probabilities(const ModelParts& model) {
  return scores_are_log_odds(model) || model.calibration.has_value() ||
         (!model.rows().gives_one_label() && model.rows().estimates_nodes());
}

void require_probabilities(const ModelParts& model) {
  if (gives_probabilities(model)) return;
  throw InvalidInput(concat("probabilities: a model of method ", model.method,
                            " gives none: train it with calibration, the share of rows to hold out "
                            "for it, for example 0.2"));
}

ProbabilityRule ModelParts::probability_rule() const {
  using Form = ProbabilityRule::Form;
  if (rows().gives_one_label()) return {Form::one_of_all, temperature()};
  const Form form = rows().estimates_nodes() ? Form::node_estimate : Form::independent;
  if (!calibration) return {form};
  return {form, calibration->temperature, calibration->shift};
}

double ModelParts::temperature() const {
  if (calibration) return calibration->temperature;
  if (!scores_are_log_odds(*this) || is_multinomial(*this)) return 1;
  const LinearPredictor* linear = predictor->linear();
  return linear != nullptr && linear->parts().candidates.size() == 2 ? 2 : 1;
}

std::vector<bool> ModelParts::in_training() const {
  std::vector<bool> has_rows;
  for (const std::uint32_t rows : training_rows) has_rows.push_back(rows > 0);
  return has_rows;
}

}  // namespace margrove
