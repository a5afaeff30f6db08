#pragma once
// An order of elimination that keeps sparse factors sparse.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace margrove::detail {

/// The upper half of a symmetric matrix by columns, rows ascending, the diagonal included.
struct SymmetricPattern {
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> rows;
  std::size_t size() const { return starts.size() - 1; }
};

/// The place of each row in an order of approximate minimum degree (Eigen's).
std::vector<std::uint32_t> minimum_degree_positions(const SymmetricPattern& pattern);

}  // namespace margrove::detail
