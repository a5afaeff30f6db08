#pragma once
// Inner products and distances between rows restricted to some columns, of which every kernel
// is a function.

#include <span>
#include <vector>

#include "kernel/kernel_function.hpp"

namespace margrove {

/// The one quantity of a pair that a kernel depends on besides the rows' own statistics.
enum class PairQuantity { dot, l1, chi2, table };
PairQuantity quantity_of(KernelType type);

/// Groups the kernels, by number, into families over the same columns and with the same quantity,
/// which is computed once for a family. Families are in the order of their first members.
std::vector<std::vector<std::size_t>> kernel_families(std::span<const KernelSpec* const> kernels);

/// Rows restricted to columns, dense where that is no larger than sparse.
class ViewRows {
 public:
  ViewRows(const CsrView& X, std::span<const ColumnRange> columns, bool dense);
  /// Whether at least a quarter of the values are nonzero: 4 bytes per value are then faster than 8
  /// bytes per nonzero, and nearly as small.
  static bool worth_dense(const CsrView& X, std::span<const ColumnRange> columns);

  std::size_t size() const { return num_rows_; }
  bool is_dense() const { return dense_; }
  std::size_t num_columns() const { return num_columns_; }
  std::span<const float> dense_row(std::size_t i) const {
    return std::span(values_).subspan(i * num_columns_, num_columns_);
  }
  SparseRow sparse_row(std::size_t i) const { return sparse_.row(i); }
  double squared_norm(std::size_t i) const { return squared_norms_[i]; }
  double sum(std::size_t i) const { return sums_[i]; }
  /// Throws InvalidInput naming the first row with a negative value if the kernel takes none.
  void check(const KernelSpec& kernel) const;

 private:
  std::size_t num_rows_ = 0;
  std::size_t num_columns_ = 0;
  bool dense_ = true;
  std::vector<float> values_;
  CsrMatrix sparse_;
  std::vector<double> squared_norms_, sums_;
};

/// The largest `scratch` of pair_quantities() for rows of so many columns.
std::size_t pair_scratch_bytes(std::size_t num_columns);

/// out[j] = quantity(A row i, B row first + j) for j < out.size(); A and B of the same kind
/// (dense or sparse). `scratch` is reused between calls.
void pair_quantities(PairQuantity quantity, const ViewRows& A, std::size_t i, const ViewRows& B,
                     std::size_t first, std::span<double> out, std::vector<float>& scratch);

/// |a_i - b_j|^2 from the product of the rows, and directly where the rows are so close that little
/// but rounding would be left of the difference.
double squared_distance(double product, const ViewRows& A, std::size_t i, const ViewRows& B,
                        std::size_t j);
/// The kernel's value before scaling, from the pair's quantity.
double kernel_value(const FittedKernel& kernel, double quantity, const ViewRows& A, std::size_t i,
                    const ViewRows& B, std::size_t j);
/// K(x_i, x_i) before scaling.
double kernel_diagonal(const FittedKernel& kernel, const ViewRows& A, std::size_t i);

/// The mapped values of one row of pairs: out[j] = K(a_i, b_{first+j}), before scaling.
void kernel_row(const FittedKernel& kernel, std::span<const double> quantities, const ViewRows& A,
                std::size_t i, const ViewRows& B, std::size_t first, std::span<float> out);

}  // namespace margrove
