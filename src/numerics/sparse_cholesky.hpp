#pragma once
// Sparse Cholesky factorisation, and an elimination order that keeps the factors sparse.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/row_lists.hpp"

namespace margrove::detail {

/// The upper half of a symmetric matrix by columns, rows ascending, the diagonal included.
using SymmetricPattern = LongRowLists;

/// The place of each row in an order of approximate minimum degree (Eigen's).
std::vector<std::uint32_t> minimum_degree_positions(const SymmetricPattern& pattern);

/// A = L L' by supernodes: columns of L with the same rows below them are kept as a dense block,
/// which is computed from the blocks before it [NgPeyton1993]. The caller chooses the order of
/// rows. Eigen's factorisation, which has no blocks, takes three times as long on the systems of
/// large hierarchies.
class SparseCholesky {
 public:
  /// Whether a block may hold a few zeros besides the entries of L.
  enum class Blocks { with_zeros, exact };
  /// One column of L, from the diagonal down.
  struct Column {
    std::span<const std::uint32_t> rows;
    std::span<const double> values;
  };

  /// False if the factor has more than `most_entries` entries; then nothing else may be called.
  /// Keeps a copy of the pattern. O(entries of L).
  bool analyze(const SymmetricPattern& pattern, std::size_t most_entries,
               Blocks blocks = Blocks::with_zeros);
  /// Factorises the matrix with these values of the pattern's entries. False if it is not positive
  /// definite in floating point.
  bool factorize(std::span<const double> values);
  /// x = A^-1 x.
  void solve(std::span<double> x) const;
  std::size_t size() const { return size_; }
  /// Column k of L. Its rows are known from analyze() on.
  Column column(std::uint32_t k) const;

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
  void find_blocks(std::span<const std::size_t> counts, std::span<const std::uint32_t> parent,
                   Blocks blocks);
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

/// One entry of a symmetric matrix; both triangles are listed, and entries that repeat are summed.
struct SymmetricEntry {
  std::uint32_t row;
  std::uint32_t column;
  double value;
};

/// The factors of a matrix that is given by its entries, after reordering.
struct OrderedCholesky {
  std::vector<std::uint32_t> position;  // of each row in the order of elimination
  SparseCholesky factors;               // of the reordered matrix; blocks without zeros
  /// x = matrix^-1 x, in the matrix's own order.
  void solve(std::span<double> x) const;
};

/// Factorises the matrix of `size` rows that is the sum of the entries. Returns nothing if the
/// elimination needs more than `most_work` multiplications or the matrix is not positive definite
/// in floating point.
std::optional<OrderedCholesky> factorise(std::size_t size, std::span<const SymmetricEntry> entries,
                                         double most_work);

}  // namespace margrove::detail
