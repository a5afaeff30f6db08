#pragma once
// The kernels of a network's paths: entry-wise products of Gram matrices that are never stored.

#include <span>
#include <vector>

#include "kernel/gram.hpp"
#include "margrove/executor.hpp"

namespace margrove {

/// K_m = entry-wise product of the Gram matrices that path m lists. Refers to the matrices.
/// All paths are computed tile by tile, so that every Gram matrix is read from memory once. Results
/// have the same bits for any number of threads.
class PathKernels {
 public:
  /// All matrices have one size. Throws InvalidInput for sizes that differ, and for paths without
  /// kernels or with one that does not exist.
  PathKernels(std::span<const SymmetricMatrix* const> kernels,
              std::vector<std::vector<std::uint32_t>> paths);

  std::size_t num_rows() const { return num_rows_; }
  std::size_t num_paths() const { return paths_.size(); }

  /// K = sum_m weights[m] K_m as a full n x n matrix; paths of weight 0 are skipped.
  /// O(n^2 * kernels on the paths in use).
  void combine(std::span<const double> weights, Executor& executor, std::span<float> K) const;

  /// forms[m] = sum_c u_c' K_m u_c for the paths with wanted[m]; others are not written. `u` has
  /// one vector of n entries per classifier. Rows at which all u_c are 0 cost nothing.
  void quadratic_forms(std::span<const std::span<const double>> u, const std::vector<bool>& wanted,
                       Executor& executor, std::span<double> forms) const;

 private:
  /// The tile of path m: a Gram matrix's own, or the product written to `scratch`.
  const float* tile_of(std::size_t path, std::size_t tile, std::vector<float>& scratch) const;

  std::size_t num_rows_ = 0;
  std::vector<const SymmetricMatrix*> kernels_;
  std::vector<std::vector<std::uint32_t>> paths_;
};

}  // namespace margrove
