#include "data/column_scale.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "base/work_meter.hpp"
#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "data/number_rows.hpp"
#include "margrove/errors.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {
namespace {

constexpr double kDenseShare = 0.5;      // of cells that are not zero
constexpr double kLargeColumn = 2;       // root mean square: it outweighs an intercept of 1
constexpr double kOneScale = 10;         // ratio of root mean squares up to which columns share one
constexpr double kScaledMean = 0.01;     // of a scaled column, relative to its size
constexpr double kSmallestScaled = 0.5;  // largest column of rows that are scaled already
constexpr double kUnitNorm = 1e-3;       // relative difference of a row's norm from 1
constexpr double kConstant = 1e-7;       // a smaller deviation, relative to the size, is rounding
constexpr double kNormalRange = 1.349;   // interquartile range of the normal distribution
constexpr double kLengthSpread = 0.2;    // deviation of the norms of counts, relative to their mean
constexpr double kLargestShare = 0.5;    // of one column in the squares of all counts

/// Moments of one column over all rows, those without an entry included.
struct Column {
  double nonzero = 0;  // rows
  double mean = 0;
  double mean_square = 0;
  double deviation = 0;  // 0 for constant columns
  double max_abs = 0;
  double size() const { return std::sqrt(mean_square); }
};

/// The rows that scales are fitted on.
class ScaledRows {
 public:
  ScaledRows(const CsrView& X, std::span<const double> row_weights,
             std::span<const std::uint8_t> is_numeric, RunControl* control)
      : X_(X),
        row_weights_(row_weights),
        is_numeric_(is_numeric),
        meter_(control),
        columns_(X.num_columns()) {
    for (std::size_t i = 0; i < X.num_rows(); ++i) total_ += weight(i);
    if (total_ <= 0) return;
    find_means();
    find_deviations();
  }

  const CsrView& matrix() const { return X_; }
  double total() const { return total_; }
  double weight(std::size_t row) const { return row_weights_.empty() ? 1.0 : row_weights_[row]; }
  const std::vector<Column>& columns() const { return columns_; }
  bool is_scaled(std::size_t j) const {
    return columns_[j].nonzero > 0 && (is_numeric_.empty() || is_numeric_[j] != 0);
  }

  bool is_dense() const {
    double cells = 0, filled = 0;
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      if (!is_scaled(j)) continue;
      cells += total_;
      filled += columns_[j].nonzero;
    }
    return cells > 0 && filled >= kDenseShare * cells;
  }

 private:
  /// visit(row's weight, column, value) for all entries.
  template <class Visit>
  void for_entries(const Visit& visit) {
    for (std::size_t i = 0; i < X_.num_rows(); ++i) {
      const SparseRow x = X_.row(i);
      const double w = weight(i);
      if (w == 0) continue;
      meter_.add(x.size());
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (x.values[k] != 0) visit(w, columns_[x.columns[k]], static_cast<double>(x.values[k]));
      }
    }
  }

  void find_means() {
    for_entries([](double w, Column& column, double x) {
      column.nonzero += w;
      column.mean += w * x;
      column.mean_square += w * x * x;
      column.max_abs = std::max(column.max_abs, std::abs(x));
    });
    for (Column& column : columns_) {
      column.mean /= total_;
      column.mean_square /= total_;
    }
  }

  void find_deviations() {
    for_entries([](double w, Column& column, double x) {
      column.deviation += w * (x - column.mean) * (x - column.mean);
    });
    for (Column& column : columns_) {
      const double zeros = std::max(0.0, total_ - column.nonzero);
      column.deviation = std::sqrt((column.deviation + zeros * column.mean * column.mean) / total_);
      if (column.deviation <= kConstant * column.size()) column.deviation = 0;
    }
  }

  CsrView X_;
  std::span<const double> row_weights_;
  std::span<const std::uint8_t> is_numeric_;
  WorkMeter meter_;
  double total_ = 0;
  std::vector<Column> columns_;
};

/// The quartiles of a column's values, zeros included.
struct Quartiles {
  double first, median, third;
};

class QuartileFinder {
 public:
  QuartileFinder(const ScaledRows& rows, RunControl* control)
      : rows_(rows), by_column_(transpose(rows.matrix())), meter_(control) {}

  Quartiles operator()(FeatureId j) {
    const SparseRow column = by_column_.row(j);
    std::vector<std::pair<double, double>> values;  // and weights
    double zeros = rows_.total();
    for (std::size_t k = 0; k < column.size(); ++k) {
      const double weight = rows_.weight(column.columns[k]);
      values.emplace_back(column.values[k], weight);
      zeros -= weight;
    }
    values.emplace_back(0.0, std::max(0.0, zeros));
    sort_metered(values, std::less(), meter_);
    return {at(values, 0.25), at(values, 0.5), at(values, 0.75)};
  }

 private:
  /// The first value up to which rows of `share` of the weight lie.
  double at(const std::vector<std::pair<double, double>>& values, double share) const {
    double below = 0;
    for (const auto& [value, weight] : values) {
      below += weight;
      if (below >= share * rows_.total()) return value;
    }
    return values.back().first;
  }

  const ScaledRows& rows_;
  CsrMatrix by_column_;
  WorkMeter meter_;
};

/// The root mean squares of the columns that vary.
struct ColumnSizes {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  bool are_centred = true;

  explicit ColumnSizes(const ScaledRows& rows) {
    for (std::size_t j = 0; j < rows.columns().size(); ++j) {
      const Column& column = rows.columns()[j];
      if (!rows.is_scaled(j) || column.deviation == 0) continue;
      largest = std::max(largest, column.size());
      smallest = std::min(smallest, column.size());
      are_centred &= std::abs(column.mean) <= kScaledMean * column.size();
    }
  }
  bool are_scaled() const {
    return are_centred && largest >= kSmallestScaled && largest <= kLargeColumn;
  }
};

bool has_unit_rows(const ScaledRows& rows) {
  for (std::size_t i = 0; i < rows.matrix().num_rows(); ++i) {
    if (rows.weight(i) == 0) continue;
    if (std::abs(std::sqrt(squared_norm(rows.matrix().row(i))) - 1) > kUnitNorm) return false;
  }
  return true;
}

bool are_indicators(const CsrView& X) {
  return std::ranges::all_of(X.values(), [](float x) { return x == 0 || x == 1; });
}

/// Whether the rows are sparse counts, such as those of words, of different lengths. Rows that are
/// long say the same as short ones, but would have most of the weight in a model.
bool are_counts_of_different_length(const ScaledRows& rows) {
  const CsrView& X = rows.matrix();
  const bool are_counts =
      std::ranges::all_of(X.values(), [](float x) { return x >= 0 && x == std::floor(x); });
  if (rows.total() <= 0 || rows.is_dense() || !are_counts) return false;
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const double square = squared_norm(X.row(i));
    sum += rows.weight(i) * std::sqrt(square);
    squares += rows.weight(i) * square;
  }
  double largest = 0;
  for (std::size_t j = 0; j < rows.columns().size(); ++j) {
    largest = std::max(largest, rows.columns()[j].mean_square);
  }
  const double mean = sum / rows.total();
  const double mean_square = squares / rows.total();
  return mean_square - mean * mean > kLengthSpread * kLengthSpread * mean * mean &&
         largest <= kLargestShare * mean_square;
}

/// The scale that `automatic` chooses.
ColumnScale chosen_scale(const ScaledRows& rows) {
  const ColumnSizes sizes(rows);
  const bool is_scaled = sizes.are_scaled() || has_unit_rows(rows) || are_indicators(rows.matrix());
  if (sizes.largest == 0 || is_scaled || !rows.is_dense()) return ColumnScale::none;
  const bool share_one =
      sizes.largest <= kLargeColumn || sizes.largest <= kOneScale * sizes.smallest;
  return share_one ? ColumnScale::common : ColumnScale::standard;
}

double largest_size(const ScaledRows& rows) {
  double largest = 0;
  for (std::size_t j = 0; j < rows.columns().size(); ++j) {
    if (rows.is_scaled(j)) largest = std::max(largest, rows.columns()[j].size());
  }
  return largest;
}

/// Centre and spread of every column; rows that are not dense have no centres.
void fit_each_column(const ScaledRows& rows, RunControl* control, Preprocessing& fitted) {
  const bool centres = rows.is_dense();
  const double common = largest_size(rows);
  std::optional<QuartileFinder> quartiles;
  if (fitted.column_scale == ColumnScale::robust) quartiles.emplace(rows, control);
  for (FeatureId j = 0; j < rows.columns().size(); ++j) {
    if (!rows.is_scaled(j)) continue;
    const Column& column = rows.columns()[j];
    double& centre = fitted.centre[j];
    double& spread = fitted.spread[j];
    if (fitted.column_scale == ColumnScale::max_abs) {
      spread = column.max_abs;
    } else if (fitted.column_scale == ColumnScale::common) {
      spread = common;
      if (centres) centre = column.mean;
    } else {
      // Without a centre, a constant column keeps its place as a second intercept.
      spread = column.deviation > 0 || centres ? column.deviation : column.max_abs;
      if (centres) centre = column.mean;
      if (!quartiles || column.deviation == 0) continue;
      const Quartiles of_column = (*quartiles)(j);
      const double range = (of_column.third - of_column.first) / kNormalRange;
      if (range > kConstant * column.size()) spread = range;  // most values may be equal
      if (centres) centre = of_column.median;
    }
  }
}

/// The scales of the columns in use, as scales of all columns. Others stay as they are.
Preprocessing spread_out(const Preprocessing& of_used, std::span<const FeatureId> used,
                         std::uint32_t num_columns) {
  Preprocessing fitted;
  fitted.column_scale = of_used.column_scale;
  fitted.kind = of_used.kind;
  if (of_used.kind != Preprocessing::Kind::scale) return fitted;
  fitted.centre.assign(num_columns, 0.0);
  fitted.spread.assign(num_columns, 1.0);
  for (std::size_t k = 0; k < used.size(); ++k) {
    fitted.centre[used[k]] = of_used.centre[k];
    fitted.spread[used[k]] = of_used.spread[k];
  }
  return fitted;
}

}  // namespace

Preprocessing Preprocessing::fit_columns(const CsrView& X, ColumnScale scale,
                                         std::span<const double> row_weights,
                                         std::span<const std::uint8_t> is_numeric) {
  return margrove::fit_columns(X, scale, row_weights, is_numeric, nullptr);
}

Preprocessing fit_columns(const CsrView& X, ColumnScale scale, std::span<const double> row_weights,
                          std::span<const std::uint8_t> is_numeric, RunControl* control) {
  require(row_weights.empty() || row_weights.size() == X.num_rows(), "row weights: there are ",
          row_weights.size(), ", but must be ", X.num_rows());
  require(is_numeric.empty() || is_numeric.size() == X.num_columns(), "scale: there are ",
          is_numeric.size(), " flags of numeric columns, but must be ", X.num_columns());
  Preprocessing fitted;
  if (scale == ColumnScale::none) return fitted;
  if (const auto used = columns_of_wide_rows(X); !used.empty()) {
    std::vector<std::uint8_t> flags;
    for (const FeatureId j : used) {
      if (!is_numeric.empty()) flags.push_back(is_numeric[j]);
    }
    return spread_out(fit_columns(select_columns(X, used), scale, row_weights, flags, control),
                      used, X.num_columns());
  }
  const ScaledRows rows(X, row_weights, is_numeric, control);
  if (scale == ColumnScale::automatic && is_numeric.empty() &&
      are_counts_of_different_length(rows)) {
    return Preprocessing::unit_norm();
  }
  fitted.column_scale = scale == ColumnScale::automatic ? chosen_scale(rows) : scale;
  if (fitted.column_scale == ColumnScale::none) return fitted;
  fitted.kind = Preprocessing::Kind::scale;
  fitted.centre.assign(X.num_columns(), 0.0);
  fitted.spread.assign(X.num_columns(), 1.0);
  fit_each_column(rows, control, fitted);
  return fitted;
}

CsrMatrix scale_columns(const CsrView& X, std::span<const double> centre,
                        std::span<const double> spread, RunControl* control) {
  const auto num_columns = static_cast<FeatureId>(centre.size());
  std::vector<FeatureId> filled;
  for (FeatureId j = 0; j < num_columns; ++j) {
    if (centre[j] != 0 && spread[j] > 0) filled.push_back(j);
  }
  CsrMatrix scaled(num_columns);
  std::vector<FeatureId> columns;
  std::vector<float> values;
  const auto add = [&](FeatureId j, double x) {
    if (spread[j] == 0) return;
    columns.push_back(j);
    values.push_back(static_cast<float>((x - centre[j]) / spread[j]));
  };
  WorkMeter meter(control);
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow x = X.row(i);
    meter.add(x.size() + filled.size());
    columns.clear();
    values.clear();
    std::size_t next = 0;  // in filled
    for (std::size_t k = 0; k < x.size() && x.columns[k] < num_columns; ++k) {
      const FeatureId j = x.columns[k];
      for (; next < filled.size() && filled[next] < j; ++next) add(filled[next], 0.0);
      if (next < filled.size() && filled[next] == j) ++next;
      add(j, static_cast<double>(x.values[k]));
    }
    for (; next < filled.size(); ++next) add(filled[next], 0.0);
    scaled.append_row(columns, values);
  }
  return scaled;
}

bool centres_columns(const Preprocessing& preprocessing) {
  return preprocessing.kind == Preprocessing::Kind::scale &&
         (preprocessing.column_scale == ColumnScale::standard ||
          preprocessing.column_scale == ColumnScale::common);
}

bool are_scaled_columns(const CsrView& X, std::span<const double> row_weights) {
  const ScaledRows rows(X, row_weights, {}, nullptr);
  return rows.is_dense() && ColumnSizes(rows).are_scaled();
}

}  // namespace margrove
