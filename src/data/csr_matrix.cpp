#include "margrove/csr_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/csr_operations.hpp"
#include "data/float_parser.hpp"
#include "margrove/errors.hpp"

namespace margrove {

void check_csr(const CsrView& X) {
  const auto pointers = X.row_pointers();
  require(!pointers.empty() && pointers[0] == 0, "csr: row pointers must start with 0");
  require(X.columns().size() == X.values().size(), "csr: ", X.columns().size(), " columns but ",
          X.values().size(), " values");
  // All pointers are checked first: rows may be read only when the whole array is valid.
  for (std::size_t i = 0; i + 1 < pointers.size(); ++i) {
    require(pointers[i] <= pointers[i + 1], "csr: row pointers decrease after row ", i);
  }
  require(static_cast<std::size_t>(pointers.back()) == X.columns().size(),
          "csr: the last row pointer is ", pointers.back(), ", but there are ", X.columns().size(),
          " entries");
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow row = X.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      require(row.columns[k] < X.num_columns(), "csr: column[", i, ", ", k, "] is ", row.columns[k],
              ", but must be < ", X.num_columns());
      require(k == 0 || row.columns[k - 1] < row.columns[k], "csr: columns of row ", i,
              " are not ascending at entry ", k);
      require(std::isfinite(row.values[k]), "row ", i, ": value of feature ",
              std::uint64_t{row.columns[k]} + 1, " is '", row.values[k], "'",
              detail::kWantedFeatureValue);
    }
  }
}

CsrMatrix::CsrMatrix(std::uint32_t num_columns, std::vector<std::int64_t> row_pointers,
                     std::vector<FeatureId> columns, std::vector<float> values)
    : num_columns_(num_columns),
      row_pointers_(std::move(row_pointers)),
      columns_(std::move(columns)),
      values_(std::move(values)) {
  check_csr(view());
}

void CsrMatrix::append_row(std::span<const FeatureId> columns, std::span<const float> values) {
  columns_.insert(columns_.end(), columns.begin(), columns.end());
  values_.insert(values_.end(), values.begin(), values.end());
  row_pointers_.push_back(static_cast<std::int64_t>(columns_.size()));
  if (!columns.empty()) num_columns_ = std::max(num_columns_, columns.back() + 1);
}

void CsrMatrix::set_num_columns(std::uint32_t num_columns) {
  for (const FeatureId column : columns_) {
    require(column < num_columns, "csr: column ", column, " is used, but only ", num_columns,
            " columns are requested");
  }
  num_columns_ = num_columns;
}

CsrMatrix with_intercept(const CsrView& X, double bias) {
  const bool add = bias != 0;
  require(!add || X.num_columns() < std::numeric_limits<FeatureId>::max(),
          "intercept: no room for one more column");
  const std::size_t n = X.num_rows();
  std::vector<std::int64_t> pointers(n + 1, 0);
  std::vector<FeatureId> columns;
  std::vector<float> values;
  const std::size_t size = static_cast<std::size_t>(X.num_nonzeros()) + (add ? n : 0);
  columns.reserve(size);
  values.reserve(size);
  for (std::size_t i = 0; i < n; ++i) {
    const SparseRow row = X.row(i);
    columns.insert(columns.end(), row.columns.begin(), row.columns.end());
    values.insert(values.end(), row.values.begin(), row.values.end());
    if (add) {
      columns.push_back(X.num_columns());
      values.push_back(static_cast<float>(bias));
    }
    pointers[i + 1] = static_cast<std::int64_t>(columns.size());
  }
  return {X.num_columns() + (add ? 1U : 0U), std::move(pointers), std::move(columns),
          std::move(values)};
}

CsrMatrix select_rows(const CsrView& X, std::span<const std::uint32_t> rows) {
  CsrMatrix selected(X.num_columns());
  for (const std::uint32_t i : rows) {
    const SparseRow row = X.row(i);
    selected.append_row(row.columns, row.values);
  }
  return selected;
}

CsrMatrix select_columns(const CsrView& X, std::span<const FeatureId> columns) {
  CsrMatrix selected(static_cast<std::uint32_t>(columns.size()));
  std::vector<FeatureId> renumbered;
  std::vector<float> values;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow row = X.row(i);
    renumbered.clear();
    values.clear();
    auto found = columns.begin();
    for (std::size_t k = 0; k < row.size(); ++k) {
      found = std::lower_bound(found, columns.end(), row.columns[k]);
      if (found == columns.end()) break;
      if (*found != row.columns[k]) continue;
      renumbered.push_back(static_cast<FeatureId>(found - columns.begin()));
      values.push_back(row.values[k]);
    }
    selected.append_row(renumbered, values);
  }
  return selected;
}

CsrView row_range(const CsrView& X, std::size_t begin, std::size_t end) {
  return {X.num_columns(), X.row_pointers().subspan(begin, end - begin + 1), X.columns(),
          X.values()};
}

CsrMatrix transpose(const CsrView& X) {
  std::vector<std::int64_t> pointers(static_cast<std::size_t>(X.num_columns()) + 1, 0);
  for (const FeatureId column : X.columns()) ++pointers[static_cast<std::size_t>(column) + 1];
  for (std::size_t j = 0; j < X.num_columns(); ++j) pointers[j + 1] += pointers[j];
  std::vector<std::int64_t> next(pointers.begin(), pointers.end() - 1);
  std::vector<FeatureId> columns(X.columns().size());
  std::vector<float> values(X.columns().size());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow row = X.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      const auto slot = static_cast<std::size_t>(next[row.columns[k]]++);
      columns[slot] = static_cast<FeatureId>(i);
      values[slot] = row.values[k];
    }
  }
  return {static_cast<std::uint32_t>(X.num_rows()), std::move(pointers), std::move(columns),
          std::move(values)};
}

double squared_norm(const SparseRow& row) {
  double sum = 0;
  for (const float v : row.values) sum += static_cast<double>(v) * v;
  return sum;
}

std::vector<double> squared_norms(const CsrView& X) {
  std::vector<double> norms(X.num_rows());
  for (std::size_t i = 0; i < norms.size(); ++i) norms[i] = squared_norm(X.row(i));
  return norms;
}

}  // namespace margrove
