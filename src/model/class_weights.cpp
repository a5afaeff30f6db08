#include "model/class_weights.hpp"

#include <cmath>
#include <optional>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

void require_one_per_row(const LabelSets& labels, std::span<const double> row_weights) {
  require(row_weights.empty() || row_weights.size() == labels.num_rows(), "row weights: there are ",
          row_weights.size(), ", but must be ", labels.num_rows());
}

std::optional<LabelId> label_of(const LabelSets& labels, std::size_t row,
                                const std::string& source) {
  const auto set = labels[row];
  require(set.size() <= 1, source, ": row ", row + 1, " has ", set.size(),
          " labels, but class weights are for rows with one label");
  return set.empty() ? std::nullopt : std::optional(set.front());
}

}  // namespace

std::vector<double> balanced_class_weights(const LabelSets& labels, std::size_t num_labels,
                                           std::span<const double> row_weights,
                                           const std::string& source) {
  require_one_per_row(labels, row_weights);
  std::vector<double> sums(num_labels, 0.0);
  double all = 0;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    const double weight = row_weights.empty() ? 1.0 : row_weights[i];
    if (const auto label = label_of(labels, i, source)) {
      sums[*label] += weight;
      all += weight;
    }
  }
  double num_used = 0;
  for (const double sum : sums) num_used += sum > 0 ? 1 : 0;
  for (double& sum : sums) sum = sum > 0 ? all / (num_used * sum) : 1.0;
  return sums;
}

std::vector<double> weigh_by_class(const LabelSets& labels, std::span<const double> class_weights,
                                   std::span<const double> row_weights, const std::string& source) {
  require_one_per_row(labels, row_weights);
  for (const double weight : class_weights) {
    require(weight >= 0 && std::isfinite(weight), "class weights: one is ", weight,
            ", but must be a number >= 0");
  }
  std::vector<double> weights(labels.num_rows(), 1.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!row_weights.empty()) weights[i] = row_weights[i];
    if (const auto label = label_of(labels, i, source)) weights[i] *= class_weights[*label];
  }
  return weights;
}

}  // namespace margrove
