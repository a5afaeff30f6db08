#pragma once
// Sparse Cholesky factors for many matrices of one pattern.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/minimum_degree.hpp"

namespace margrove::detail {

/// A = L L', column blocks ("supernodes") of L with the same rows below them kept as dense
/// matrices; each is computed from the blocks before it [NgPeyton1993]. The order of rows is the
/// caller's. Eigen's factors, which have no blocks, take three times as long on the systems of
/// large hierarchies.
class SparseCholesky {
 public:
  /// False if the factor has more than `most_entries` entries: nothing else may be called. Keeps a
  /// copy of the pattern. Cost: as many steps as L has entries.
  bool analyze(const SymmetricPattern& pattern, std::size_t most_entries);
  /// Values of the pattern's entries. False if the matrix is not positive definite in floating
  /// point.
  bool factorize(std::span<const double> values);
  /// x = A^-1 x.
  void solve(std::span<double> x) const;

 private:
  struct Block {
    std::uint32_t begin = 0, end = 0;  // columns
    std::size_t first_row = 0;         // of rows_; the block's own columns come first
    std::size_t num_rows = 0;
    std::size_t first_value = 0;  // of values_, by columns
    std::size_t width() const { return end - begin; }
  };

  std::vector<std::size_t> count_columns(const SymmetricPattern& pattern,
                                         std::vector<std::uint32_t>& parent,
                                         std::size_t most_entries) const;
  void find_blocks(std::span<const std::size_t> counts, std::span<const std::uint32_t> parent);
  void list_rows();
  void subtract(const Block& from, std::size_t first, const Block& block);
  bool factorize_block(const Block& block);

  std::size_t size_ = 0;
  std::vector<std::size_t> starts_;       // entries of the lower half by columns:
  std::vector<std::uint32_t> entry_row_;  // row,
  std::vector<std::size_t> entry_;        // place among the pattern's entries
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> block_of_, rows_;
  std::vector<double> values_, work_;
  std::vector<std::uint32_t> place_;  // row -> place in the present block
};

}  // namespace margrove::detail
