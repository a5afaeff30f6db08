#include "numerics/minimum_degree.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

namespace margrove::detail {

std::vector<std::uint32_t> minimum_degree_positions(const SymmetricPattern& pattern) {
  std::vector<std::uint32_t> positions(pattern.size());
  if (positions.empty()) return positions;
  using Sparse = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  const std::vector<int> starts(pattern.starts.begin(), pattern.starts.end());
  const std::vector<int> rows(pattern.rows.begin(), pattern.rows.end());
  const std::vector<double> values(rows.size(), 1.0);
  const auto size = static_cast<int>(pattern.size());
  const Sparse upper = Eigen::Map<const Sparse>(size, size, starts.back(), starts.data(),
                                                rows.data(), values.data());
  Sparse symmetric;
  symmetric = upper.selfadjointView<Eigen::Upper>();
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;  // place -> row
  Eigen::AMDOrdering<int>()(symmetric, order);
  for (std::uint32_t k = 0; k < positions.size(); ++k) {
    positions[static_cast<std::size_t>(order.indices()[static_cast<int>(k)])] = k;
  }
  return positions;
}

}  // namespace margrove::detail
