#pragma once
// Gram matrices of many kernels over the same training rows.

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "kernel/kernel_function.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"

namespace margrove {

/// The lower triangle of an n x n matrix in square, row-major tiles of kTile rows; tiles on the
/// diagonal are complete. It takes half the memory of a full matrix, and every tile is contiguous.
class SymmetricMatrix {
 public:
  static constexpr std::size_t kTile = 64;
  struct Tile {
    std::size_t row, num_rows;
    std::size_t column, num_columns;  // column <= row
    bool on_diagonal() const { return row == column; }
  };

  SymmetricMatrix() = default;
  explicit SymmetricMatrix(std::size_t size);

  std::size_t size() const { return size_; }
  static std::size_t num_tiles(std::size_t size);
  static Tile tile_at(std::size_t size, std::size_t tile);
  static std::size_t num_bytes(std::size_t size);
  std::size_t num_tiles() const { return num_tiles(size_); }
  Tile tile(std::size_t t) const { return tile_at(size_, t); }
  std::span<float> values(std::size_t t);
  std::span<const float> values(std::size_t t) const;
  float at(std::size_t i, std::size_t j) const;

 private:
  std::size_t offset(const Tile& tile) const;
  std::size_t size_ = 0;
  std::vector<float> values_;
};

/// The unit of the kernel's width on these rows: the median distance over the pairs of at most 1000
/// evenly spaced rows, 1 if it is 0. Throws OutOfTime where `control`, which may be null, asks to
/// end.
double median_distance(KernelType type, const CsrView& X, RunControl* control = nullptr);

/// The memory that gram_matrices() takes for rows of X as arrays, one per thread.
double pair_scratch_memory(const CsrView& X, int num_threads);

/// The memory of training with `num_kernels` kernels over the rows of X, beside X: the Gram
/// matrices, the combined matrix, the classifiers' working copies (one per thread) and vectors.
MemoryEstimate kernel_training_memory(const CsrView& X, std::size_t num_kernels,
                                      std::size_t num_classifiers, int num_threads);

struct GramMatrix {
  FittedKernel kernel;
  SymmetricMatrix K;  // centred and scaled as kernel.spec says
  /// Centred kernels: the mean of each row of the scaled, uncentred K. It turns sum_i u_i K(x_i, .)
  /// with sum u = 0 into the uncentred kernel plus the constant -u.row_means.
  std::vector<float> row_means;
};

/// One matrix for each kernel. Kernels share columns and distances, and tiles are computed in
/// parallel, with the same bits for any number of threads. Medians are those of median_distance().
/// Throws as check_kernel() and cross_kernels(), and InvalidInput if a kernel to be scaled to its
/// trace is zero on all rows, and OutOfTime. O(num_kernels n^2 + n^2 d) for each distinct set of
/// columns.
std::vector<GramMatrix> gram_matrices(std::span<const KernelSpec> kernels, const CsrView& X,
                                      Executor& executor, RunControl& control);

}  // namespace margrove
