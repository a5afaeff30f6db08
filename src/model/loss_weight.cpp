#include "model/loss_weight.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/column_scale.hpp"
#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {

namespace {

double mean_squared_norm(const CsrView& X, std::span<const double> row_weights) {
  double squares = 0, rows = 0;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const double weight = row_weights.empty() ? 1 : row_weights[i];
    squares += weight * squared_norm(X.row(i));
    rows += weight;
  }
  return squares / rows;
}

/// Whether the rows are dense, and their columns have comparable sizes.
bool has_scaled_columns(const TrainingSet& data) {
  if (!is_dense(data.X)) return false;
  return data.columns_are_scaled || are_scaled_columns(data.X, data.row_weights);
}

/// The mean over the labels that occur, by the weights of the rows.
double mean_rows_per_label(const LabelSets& labels, std::span<const double> row_weights) {
  std::vector<bool> occurs;
  double rows = 0, num_labels = 0;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId label : labels[i]) {
      if (label >= occurs.size()) occurs.resize(label + std::size_t{1});
      num_labels += occurs[label] ? 0 : 1;
      occurs[label] = true;
      rows += row_weights.empty() ? 1 : row_weights[i];
    }
  }
  return rows / num_labels;
}

/// By how much k grows because labels are rare. Scarcer labels than kFewestRows gain little, and
/// training takes longer and longer.
double factor_of_rare_labels(const TrainingSet& data, const LossWeightRule& rule) {
  constexpr double kFewestRows = 10;
  if (rule.enough_rows_per_label == 0 || data.labels == nullptr || !data.labels->single_label())
    return 1;
  const double rows = mean_rows_per_label(*data.labels, data.row_weights);
  return rows > 0 ? std::max(1.0, rule.enough_rows_per_label / std::max(rows, kFewestRows)) : 1;
}

}  // namespace

double to_three_digits(double number) {
  const double unit = std::pow(10, std::floor(std::log10(number)) - 2);
  return std::round(number / unit) * unit;
}

double automatic_loss_weight(const TrainingSet& data, LossWeightRule rule) {
  const bool has_kernel_features = data.kernel_features != nullptr;
  const bool is_scaled = !has_kernel_features && has_scaled_columns(data);
  // The mean |x_i|^2 if the deviation of each column is 1.
  auto square = static_cast<double>(num_used_columns(data.X));
  if (!is_scaled) square = mean_squared_norm(data.X, data.row_weights);
  const bool are_alike = is_scaled || has_kernel_features;
  const double exact = (are_alike ? rule.of_scaled_columns : rule.of_other_rows) / square;
  if (!std::isfinite(exact) || exact <= 0 || (exact < 1 && !is_scaled)) return 1;
  return to_three_digits(are_alike ? exact : exact * factor_of_rare_labels(data, rule));
}

}  // namespace margrove
