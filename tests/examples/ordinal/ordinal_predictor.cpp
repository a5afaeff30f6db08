#include "ordinal/ordinal_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ordinal/ordinal_model.hpp"
#include "outputs/predictor_parts.hpp"

namespace margrove {

OrdinalPredictor::OrdinalPredictor(std::uint32_t num_features, std::uint32_t num_grades,
                                   std::vector<float> weights)
    : num_features_(num_features), num_grades_(num_grades), weights_(std::move(weights)) {}

void OrdinalPredictor::save(TensorMap& out) const {
  out.put_number("ordinal.features", num_features_);
  out.put_view<float>("ordinal.weights", weights_);
}

std::unique_ptr<Predictor> OrdinalPredictor::load(const TensorMap& tensors,
                                                  std::uint32_t num_labels) {
  const std::uint64_t num_features = tensors.whole_number("ordinal.features");
  tensors.check(num_features < std::numeric_limits<std::uint32_t>::max(), "ordinal.features is ",
                num_features, ", but must fit 32 bits");
  tensors.check(num_labels > 0, "the model has no labels, but must have one grade");
  auto weights = finite_weights(tensors, "ordinal.weights",
                                OrdinalModel::num_weights(num_features, num_labels));
  return std::make_unique<OrdinalPredictor>(static_cast<std::uint32_t>(num_features), num_labels,
                                            std::move(weights));
}

std::vector<Fact> OrdinalPredictor::facts() const {
  return {
      {"features", concat(num_features_)}, {"grades", concat(num_grades_)}, weight_fact(weights_)};
}

GradedRows OrdinalPredictor::read(const ExampleSource& source, bool has_grades,
                                  RunControl& control) const {
  GradedRows rows = read_grades(source, {.has_grades = has_grades}, &control);
  require(rows.X.num_columns() == num_features_, source.name(), ": the lines have ",
          rows.X.num_columns(), " features, but must have ", num_features_, " as in training");
  return rows;
}

std::vector<std::uint32_t> OrdinalPredictor::decode(const GradedRows& rows, Executor& executor,
                                                    RunControl& control) const {
  std::vector<std::uint32_t> grades(rows.size(), 0);
  std::vector<std::vector<double>> scores(static_cast<std::size_t>(executor.size()));
  executor.for_each(rows.size(), [&](std::size_t i, int worker) {
    if (!control.proceed()) return;
    auto& own = scores[static_cast<std::size_t>(worker)];
    own.resize(num_grades_);
    score_grades(rows.X.row(i), num_features_, {weights_, 1.0}, own);
    grades[i] = static_cast<std::uint32_t>(std::max_element(own.begin(), own.end()) - own.begin());
  });
  return grades;
}

std::string OrdinalPredictor::predict_file(const ExampleSource& source, Executor& executor,
                                           RunControl& control) const {
  std::string lines;
  for (const std::uint32_t grade : decode(read(source, false, control), executor, control)) {
    lines += concat(grade, "\n");
  }
  return lines;
}

FileEvaluation OrdinalPredictor::evaluate_file(const ExampleSource& source, Executor& executor,
                                               RunControl& control) const {
  const GradedRows rows = read(source, true, control);
  const auto predicted = decode(rows, executor, control);
  double error = 0.0, correct = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    error += std::abs(static_cast<double>(predicted[i]) - static_cast<double>(rows.grades[i]));
    correct += predicted[i] == rows.grades[i] ? 1.0 : 0.0;
  }
  const auto n = static_cast<double>(rows.size());
  return {{{"mean_absolute_error", error / n}, {"accuracy", correct / n}}};
}

}  // namespace margrove
