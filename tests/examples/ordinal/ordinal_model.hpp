#pragma once
// Grades 0, ..., K - 1 on a line: f(x, y) = y <w, x> - sum_{k = 1..y} b_k with thresholds b_k.
// Two neighbouring grades differ by <w, x> - b_k; the task loss is |y - y_i|.

#include <cstdint>
#include <span>
#include <vector>

#include "ordinal/grade_reader.hpp"
#include "structured/enumeration.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// f(x, y) of every grade y; weights: w, then b_1, ..., b_{K-1}. O(features + K).
void score_grades(const SparseRow& x, std::size_t num_features, ScaledWeights weights,
                  std::span<double> scores);

class OrdinalModel {
 public:
  using Labelling = std::uint32_t;
  struct Workspace {
    std::vector<double> scores;
  };

  /// Refers to `rows`.
  explicit OrdinalModel(const GradedRows& rows) : rows_(rows) {}

  std::size_t num_examples() const { return rows_.size(); }
  std::size_t num_weights() const { return num_weights(rows_.X.num_columns(), rows_.names.size()); }
  static std::size_t num_weights(std::size_t num_features, std::size_t num_grades) {
    return num_features + num_grades - 1;
  }
  /// Lists all grades.
  EnumerationOracle<std::uint32_t> oracle(std::size_t i, ScaledWeights w, Workspace&) const;
  /// phi(x_i, y) - phi(x_i, y_i), appended.
  void difference(std::size_t i, std::uint32_t y, SparseVector& difference) const;
  std::uint32_t truth(std::size_t i) const { return rows_.grades[i]; }

 private:
  const GradedRows& rows_;
};

}  // namespace margrove
