#include "ordinal/ordinal_model.hpp"

#include <algorithm>
#include <cmath>

namespace margrove {

void score_grades(const SparseRow& x, std::size_t num_features, ScaledWeights weights,
                  std::span<double> scores) {
  double product = 0.0;  // <w, x>
  for (std::size_t j = 0; j < x.size(); ++j) {
    product += static_cast<double>(x.values[j]) * static_cast<double>(weights.values[x.columns[j]]);
  }
  const auto thresholds = weights.values.subspan(num_features);
  scores[0] = 0.0;
  for (std::size_t k = 1; k < scores.size(); ++k) {
    const auto b_k = static_cast<double>(thresholds[k - 1]);
    scores[k] = scores[k - 1] + weights.scale * (product - b_k);
  }
}

EnumerationOracle<std::uint32_t> OrdinalModel::oracle(std::size_t i, ScaledWeights w,
                                                      Workspace& workspace) const {
  auto& scores = workspace.scores;
  scores.resize(rows_.names.size());
  score_grades(rows_.X.row(i), rows_.X.num_columns(), w, scores);
  const std::uint32_t truth = rows_.grades[i];
  std::vector<Candidate<std::uint32_t>> grades(scores.size());
  for (std::uint32_t y = 0; y < grades.size(); ++y) {
    const double loss = y > truth ? y - truth : truth - y;
    grades[y] = {y, scores[y] - scores[truth], loss};
  }
  return {std::move(grades), truth};
}

void OrdinalModel::difference(std::size_t i, std::uint32_t y, SparseVector& difference) const {
  const std::uint32_t truth = rows_.grades[i];
  if (y == truth) return;
  const float steps = static_cast<float>(y) - static_cast<float>(truth);
  const SparseRow x = rows_.X.row(i);
  for (std::size_t j = 0; j < x.size(); ++j) difference.add(x.columns[j], steps * x.values[j]);
  const auto [low, high] = std::minmax(y, truth);
  for (std::uint32_t k = low + 1; k <= high; ++k) {
    difference.add(rows_.X.num_columns() + k - 1, y > truth ? -1.0F : 1.0F);
  }
}

}  // namespace margrove
