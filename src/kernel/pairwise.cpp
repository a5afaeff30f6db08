#include "kernel/pairwise.hpp"

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

// The maximum number of columns for which a sparse row is copied to a dense array; with more
// columns, the rows of a pair are merged.
constexpr std::size_t kMaxScratch = std::size_t{1} << 24;

MARGROVE_MULTIVERSION
double dense_dot(const float* x, const float* z, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(z[j]);
  return sum;
}

MARGROVE_MULTIVERSION
double dense_l1(const float* x, const float* z, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < n; ++j) {
    sum += std::abs(static_cast<double>(x[j]) - static_cast<double>(z[j]));
  }
  return sum;
}

MARGROVE_MULTIVERSION
double dense_chi2(const float* x, const float* z, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < n; ++j) {
    const double total = static_cast<double>(x[j]) + static_cast<double>(z[j]);
    const double difference = static_cast<double>(x[j]) - static_cast<double>(z[j]);
    sum += total > 0 ? difference * difference / total : 0.0;
  }
  return sum;
}

double chi2_term(double x, double z) {
  const double total = x + z;
  return total > 0 ? (x - z) * (x - z) / total : 0.0;
}

/// sum_j term(x_j, z_j) over the columns that either row has; term(0, 0) = 0.
template <class Term>
double merged_sum(const SparseRow& x, const SparseRow& z, const Term& term) {
  double sum = 0;
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < x.size() || b < z.size()) {
    const bool take_x = b == z.size() || (a < x.size() && x.columns[a] <= z.columns[b]);
    const bool take_z = a == x.size() || (b < z.size() && z.columns[b] <= x.columns[a]);
    sum += term(take_x ? static_cast<double>(x.values[a]) : 0.0,
                take_z ? static_cast<double>(z.values[b]) : 0.0);
    a += take_x ? 1 : 0;
    b += take_z ? 1 : 0;
  }
  return sum;
}

double power(double base, int exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

std::size_t width_of(std::span<const ColumnRange> columns, const CsrView& X) {
  if (columns.empty()) return X.num_columns();
  std::size_t width = 0;
  for (const auto& range : columns) width += range.end - range.begin;
  return width;
}

/// Calls visit(column within the view, value) for the entries of row i that the view has.
template <class Visit>
void visit_row(const CsrView& X, std::span<const ColumnRange> columns, std::size_t i,
               const Visit& visit) {
  const SparseRow row = X.row(i);
  if (columns.empty()) {
    // Rows may have columns that the training rows did not have.
    for (std::size_t k = 0; k < row.size() && row.columns[k] < X.num_columns(); ++k) {
      visit(row.columns[k], row.values[k]);
    }
    return;
  }
  FeatureId before = 0;
  for (const auto& range : columns) {
    auto k = static_cast<std::size_t>(
        std::lower_bound(row.columns.begin(), row.columns.end(), range.begin) -
        row.columns.begin());
    for (; k < row.size() && row.columns[k] < range.end; ++k) {
      visit(before + (row.columns[k] - range.begin), row.values[k]);
    }
    before += range.end - range.begin;
  }
}

}  // namespace

PairQuantity quantity_of(KernelType type) {
  switch (type) {
    case KernelType::linear:
    case KernelType::polynomial:
    case KernelType::gaussian:
    case KernelType::exponential:
    case KernelType::cosine:
    case KernelType::given:
      return PairQuantity::dot;
    case KernelType::laplacian:
    case KernelType::intersection:
      return PairQuantity::l1;
    case KernelType::chi2:
    case KernelType::exponential_chi2:
      return PairQuantity::chi2;
    case KernelType::precomputed:
      return PairQuantity::table;
  }
  return PairQuantity::dot;
}

std::vector<std::vector<std::size_t>> kernel_families(std::span<const KernelSpec* const> kernels) {
  std::vector<std::vector<std::size_t>> families;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const auto found = std::find_if(families.begin(), families.end(), [&](const auto& family) {
      const KernelSpec& first = *kernels[family.front()];
      return first.columns == kernels[k]->columns &&
             quantity_of(first.type) == quantity_of(kernels[k]->type);
    });
    (found != families.end() ? *found : families.emplace_back()).push_back(k);
  }
  return families;
}

bool ViewRows::worth_dense(const CsrView& X, std::span<const ColumnRange> columns) {
  std::size_t nonzeros = 0;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    visit_row(X, columns, i, [&](FeatureId, float) { ++nonzeros; });
  }
  return 4 * nonzeros >= X.num_rows() * width_of(columns, X);
}

ViewRows::ViewRows(const CsrView& X, std::span<const ColumnRange> columns, bool dense)
    : num_rows_(X.num_rows()), num_columns_(width_of(columns, X)), dense_(dense) {
  squared_norms_.resize(num_rows_);
  sums_.resize(num_rows_);
  if (dense_) values_.resize(num_rows_ * num_columns_);
  sparse_ = CsrMatrix(static_cast<std::uint32_t>(num_columns_));
  std::vector<FeatureId> row_columns;
  std::vector<float> row_values;
  for (std::size_t i = 0; i < num_rows_; ++i) {
    row_columns.clear();
    row_values.clear();
    visit_row(X, columns, i, [&](FeatureId column, float value) {
      squared_norms_[i] += static_cast<double>(value) * static_cast<double>(value);
      sums_[i] += static_cast<double>(value);
      if (dense_) {
        values_[i * num_columns_ + column] = value;
      } else {
        row_columns.push_back(column);
        row_values.push_back(value);
      }
    });
    if (!dense_) sparse_.append_row(row_columns, row_values);
  }
}

void ViewRows::check(const KernelSpec& kernel) const {
  if (!refuses_negative(kernel.type)) return;
  for (std::size_t i = 0; i < num_rows_; ++i) {
    const auto values = dense_ ? dense_row(i) : sparse_row(i).values;
    const auto lowest = std::min_element(values.begin(), values.end());
    require(lowest == values.end() || *lowest >= 0, "kernel ", kernel.name, ": row ", i,
            " has the value ", lowest == values.end() ? 0.0F : *lowest, ", but must be >= 0");
  }
}

std::size_t pair_scratch_bytes(std::size_t num_columns) {
  return num_columns <= kMaxScratch ? num_columns * sizeof(float) : 0;
}

void pair_quantities(PairQuantity quantity, const ViewRows& A, std::size_t i, const ViewRows& B,
                     std::size_t first, std::span<double> out, std::vector<float>& scratch) {
  if (quantity == PairQuantity::table) return;
  if (A.is_dense()) {
    const float* x = A.dense_row(i).data();
    const auto function = quantity == PairQuantity::dot  ? dense_dot
                          : quantity == PairQuantity::l1 ? dense_l1
                                                         : dense_chi2;
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] = function(x, B.dense_row(first + j).data(), A.num_columns());
    }
    return;
  }
  const SparseRow x = A.sparse_row(i);
  if (quantity == PairQuantity::dot && A.num_columns() <= kMaxScratch) {
    scratch.resize(std::max(scratch.size(), A.num_columns()), 0.0F);
    for (std::size_t k = 0; k < x.size(); ++k) scratch[x.columns[k]] = x.values[k];
    for (std::size_t j = 0; j < out.size(); ++j) {
      const SparseRow z = B.sparse_row(first + j);
      double sum = 0;
      for (std::size_t k = 0; k < z.size(); ++k) {
        sum += static_cast<double>(scratch[z.columns[k]]) * static_cast<double>(z.values[k]);
      }
      out[j] = sum;
    }
    for (const FeatureId column : x.columns) scratch[column] = 0.0F;
    return;
  }
  for (std::size_t j = 0; j < out.size(); ++j) {
    const SparseRow z = B.sparse_row(first + j);
    if (quantity == PairQuantity::dot) {
      out[j] = merged_sum(x, z, [](double a, double b) { return a * b; });
    } else if (quantity == PairQuantity::l1) {
      out[j] = merged_sum(x, z, [](double a, double b) { return std::abs(a - b); });
    } else {
      out[j] = merged_sum(x, z, chi2_term);
    }
  }
}

double squared_distance(double product, const ViewRows& A, std::size_t i, const ViewRows& B,
                        std::size_t j) {
  constexpr double kClose = 1e-7;
  const double norms = A.squared_norm(i) + B.squared_norm(j);
  const double distance = norms - 2 * product;
  if (!(distance < kClose * norms)) return distance;
  const auto term = [](double a, double b) { return (a - b) * (a - b); };
  if (!A.is_dense()) return merged_sum(A.sparse_row(i), B.sparse_row(j), term);
  const auto x = A.dense_row(i), z = B.dense_row(j);
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    sum += term(static_cast<double>(x[k]), static_cast<double>(z[k]));
  }
  return sum;
}

double kernel_value(const FittedKernel& kernel, double quantity, const ViewRows& A, std::size_t i,
                    const ViewRows& B, std::size_t j) {
  const KernelSpec& spec = kernel.spec;
  switch (spec.type) {
    case KernelType::linear:
    case KernelType::given:
      return quantity;
    case KernelType::polynomial:
      return power(spec.slope * quantity + spec.offset, spec.degree);
    case KernelType::gaussian:
    case KernelType::exponential: {
      const double distance = squared_distance(quantity, A, i, B, j);
      return spec.type == KernelType::gaussian ? std::exp(-distance / (2 * spec.width * spec.width))
                                               : std::exp(-std::sqrt(distance) / spec.width);
    }
    case KernelType::laplacian:
    case KernelType::exponential_chi2:
      return std::exp(-quantity / spec.width);
    case KernelType::intersection:  // min(x, z) = (x + z - |x - z|) / 2
    case KernelType::chi2:          // 2xz / (x + z) = (x + z - (x - z)^2 / (x + z)) / 2
      return (A.sum(i) + B.sum(j) - quantity) / 2;
    case KernelType::cosine: {
      const double lengths = std::sqrt(A.squared_norm(i) * B.squared_norm(j));
      return lengths > 0 ? quantity / lengths : 0.0;
    }
    case KernelType::precomputed: {
      const KernelTable& table = *kernel.table;
      const auto index = [&](const ViewRows& rows, std::size_t row, std::size_t bound) {
        const double number = rows.sum(row);  // its only value
        require(number >= 1 && number <= static_cast<double>(bound) && number == std::floor(number),
                "kernel ", spec.name, ": row ", row, " has the number ", number,
                ", but must be a whole number from 1 to ", bound, " (the size of ", spec.file, ")");
        return static_cast<std::size_t>(number) - 1;
      };
      const std::size_t row = index(A, i, table.num_rows);
      const std::size_t column = index(B, j, table.num_columns);
      return static_cast<double>(table.values[row * table.num_columns + column]);
    }
  }
  return 0;
}

double kernel_diagonal(const FittedKernel& kernel, const ViewRows& A, std::size_t i) {
  double quantity = 0;
  if (quantity_of(kernel.spec.type) == PairQuantity::dot) quantity = A.squared_norm(i);
  return kernel_value(kernel, quantity, A, i, A, i);
}

void kernel_row(const FittedKernel& kernel, std::span<const double> quantities, const ViewRows& A,
                std::size_t i, const ViewRows& B, std::size_t first, std::span<float> out) {
  for (std::size_t j = 0; j < out.size(); ++j) {
    out[j] = static_cast<float>(kernel_value(kernel, quantities[j], A, i, B, first + j));
  }
}

}  // namespace margrove
