#include "linear/used_columns.hpp"

#include <algorithm>
#include <utility>

namespace margrove::detail {

UsedColumns used_columns(const CsrView& X, double common_share) {
  std::vector<std::size_t> count(X.num_columns(), 0);
  for (const FeatureId j : X.columns()) ++count[j];
  const double threshold = common_share * static_cast<double>(X.num_rows());
  UsedColumns used;
  std::vector<FeatureId> renumbered(X.num_columns(), 0);
  for (const bool common : {true, false}) {
    for (FeatureId j = 0; j < X.num_columns(); ++j) {
      if (count[j] == 0 || (static_cast<double>(count[j]) > threshold) != common) continue;
      renumbered[j] = static_cast<FeatureId>(used.original.size());
      used.original.push_back(j);
    }
    if (common) used.num_common = static_cast<FeatureId>(used.original.size());
  }
  used.X = CsrMatrix(static_cast<std::uint32_t>(used.original.size()));
  std::vector<std::pair<FeatureId, float>> row;
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow x = X.row(i);
    row.clear();
    for (std::size_t k = 0; k < x.size(); ++k) {
      row.emplace_back(renumbered[x.columns[k]], x.values[k]);
    }
    std::sort(row.begin(), row.end());
    columns.clear();
    values.clear();
    std::uint32_t split = 0;
    for (const auto& [column, value] : row) {
      columns.push_back(column);
      values.push_back(value);
      if (column < used.num_common) ++split;
    }
    used.X.append_row(columns, values);
    used.split.push_back(split);
  }
  return used;
}

}  // namespace margrove::detail
