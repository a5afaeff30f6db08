#pragma once
// Sparse L D L' factors whose pattern is part of the answer: what walks L entry by entry needs it.
// Where only systems are solved, and large ones, sparse_cholesky.hpp is three times as fast.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace margrove::detail {

/// One entry of a symmetric matrix; both triangles are listed, and what repeats is summed.
struct SymmetricEntry {
  std::uint32_t row;
  std::uint32_t column;
  double value;
};

/// L D L' of a positive definite matrix, L unit lower triangular, after reordering to little fill.
struct SparseLdl {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::vector<std::uint32_t> position;  // of each row in the order of elimination
  std::vector<std::size_t> begin;       // column n of L is [begin[n], begin[n + 1])
  std::vector<std::uint32_t> rows;      // ascending within a column
  std::vector<double> lower;
  std::vector<double> pivots;
  /// The entry of L that the elimination of n changes through each pair of its rows a > b: pairs
  /// in the order a outer, b inner, for all n in turn.
  std::vector<std::uint32_t> updates;

  std::size_t size() const { return pivots.size(); }
  /// x = matrix^-1 x, x by position.
  void solve(std::span<double> x) const;
};

/// The matrix whose entries are summed up in `entries`, of `size` rows. Nothing where the
/// elimination would need more than `most_work` multiplications, or meets a pivot
/// <= 0.
std::optional<SparseLdl> factorise(std::size_t size, std::span<const SymmetricEntry> entries,
                                   double most_work);

}  // namespace margrove::detail
