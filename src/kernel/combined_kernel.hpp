#pragma once
// Sums of products of kernels, as training combines them.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "kernel/kernel_function.hpp"
#include "kernel/network.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/executor.hpp"

namespace margrove {

/// K(x, z) = sum_m weight_m prod_k K_k(x, z) over the kernels k of path m. Only kernels on paths
/// with positive weight are kept, and only their columns of rows are read.
struct CombinedKernel {
  std::vector<FittedKernel> kernels;
  std::vector<std::vector<std::uint32_t>> paths;  // of `kernels`
  std::vector<double> weights;                    // of the paths, > 0

  /// Throws InvalidInput if one of the kernels is centred or given: their values are known with
  /// training rows only.
  void require_values_of_any_rows() const;
  /// Throws InvalidInput naming the first row with a negative value where a kernel takes none.
  void check_rows(const CsrView& X) const;
  /// K(x_i, z_j) at [i * others.num_rows() + j]. Throws as require_values_of_any_rows() and
  /// cross_kernels(). Columns of X that the others do not have are ignored. O(rows * other rows *
  /// kernels).
  std::vector<float> values(const CsrView& X, const CsrMatrix& others, Executor& executor) const;
  /// The memory that values() takes: its result, and the kernels of as many rows at once as take 64
  /// MB, or of one row.
  MemoryEstimate values_memory(const CsrView& X, const CsrMatrix& others, int num_threads) const;
  /// The same for so many rows, which have so many nonzeros together, and columns as X has.
  MemoryEstimate values_memory(std::size_t num_rows, std::size_t num_others, double nonzeros,
                               const CsrView& X, int num_threads) const;

 protected:
  /// use(i, K(x_i, z) of all others z), several rows at once.
  using UseRow = std::function<void(std::size_t row, std::span<const double> values)>;
  void for_rows(const CsrView& X, const CsrMatrix& others, Executor& executor,
                const UseRow& use) const;

 private:
  /// How many rows have their kernels with so many others in memory at once.
  std::size_t rows_per_block(std::size_t num_others) const;
};

/// A combined kernel that a training has learned, with the network that it is from.
struct LearnedKernel : CombinedKernel {
  SumProductNetwork network;
  std::vector<double> beta;  // of its product nodes
};

}  // namespace margrove
