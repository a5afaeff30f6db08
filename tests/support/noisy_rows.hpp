#pragma once
// Rows that no classifier separates.

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "data/examples.hpp"

namespace margrove::testing {

struct NoisyRows {
  std::size_t num_rows = 150;
  std::uint32_t num_columns = 12;
  std::uint32_t num_labels = 3;
  double shift = 0.5;     // of the columns of a row's label: every num_labels-th
  bool are_sets = false;  // half of the rows have the next label, too
  std::uint64_t seed = 3;
};

inline Examples noisy_rows(const NoisyRows& given) {
  Random random(given.seed);
  Examples raw;
  raw.source = "toy";
  std::vector<std::string> names;
  for (std::uint32_t l = 0; l < given.num_labels; ++l) names.emplace_back(1, 'p' + l);
  raw.codec = LabelCodec(names);
  raw.X = CsrMatrix(given.num_columns);
  for (std::size_t i = 0; i < given.num_rows; ++i) {
    const auto label = static_cast<LabelId>(random.below(given.num_labels));
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < given.num_columns; ++j) {
      const double shift = j % given.num_labels == label ? given.shift : 0;
      columns.push_back(j);
      values.push_back(static_cast<float>(random.normal() + shift));
    }
    raw.X.append_row(columns, values);
    std::vector<LabelId> labels{label};
    if (given.are_sets && random.below(2) == 0) labels.push_back((label + 1) % given.num_labels);
    std::ranges::sort(labels);
    raw.labels.append(labels);
  }
  return raw;
}

}  // namespace margrove::testing
