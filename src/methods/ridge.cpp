#include "methods/ridge.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/csr_operations.hpp"

namespace margrove::detail {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

// With Z standardised, its rows times the roots of their weights, and Z^T Z = V diag(e) V^T, the
// columns of A = Z V are orthogonal. For every strength s the coefficients are A^T t / (e + s), the
// leverage of row i is v_i / sum v + sum_j A_ij^2 / (e_j + s), and its leave-one-out error is its
// error divided by 1 - leverage.
RidgeFit ridge_regression(std::span<const double> features, std::size_t width,
                          std::span<const double> targets, std::span<const double> weights) {
  const auto rows = static_cast<Eigen::Index>(targets.size());
  const auto columns = static_cast<Eigen::Index>(width);
  RowMajor Z = Eigen::Map<const RowMajor>(features.data(), rows, columns);
  const Eigen::Map<const Eigen::VectorXd> t(targets.data(), rows);
  Eigen::VectorXd v = Eigen::VectorXd::Ones(rows);
  if (!weights.empty()) v = Eigen::Map<const Eigen::VectorXd>(weights.data(), rows);
  const Eigen::VectorXd root = v.cwiseSqrt();
  const double count = v.sum();
  const double mean_target = v.cwiseProduct(t).sum() / count;
  const Eigen::VectorXd centred = root.cwiseProduct((t.array() - mean_target).matrix());
  const Eigen::RowVectorXd mean = (Z.array().colwise() * v.array()).colwise().sum() / count;
  Z.rowwise() -= mean;
  Z.array().colwise() *= root.array();
  Eigen::RowVectorXd scale = (Z.colwise().squaredNorm() / count).cwiseSqrt();
  for (double& s : scale) s = s > 0 ? s : 1.0;
  Z = Z.array().rowwise() / scale.array();

  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(Z.transpose() * Z);
  const Eigen::VectorXd e = eigen.eigenvalues().cwiseMax(0.0);
  const RowMajor A = Z * eigen.eigenvectors();
  const Eigen::VectorXd projected = A.transpose() * centred;

  Eigen::VectorXd best_coefficients = Eigen::VectorXd::Zero(columns);
  Eigen::VectorXd best_errors;
  double best = std::numeric_limits<double>::infinity();
  for (double strength = 1e-6 * count; strength <= 10.5 * count; strength *= 10) {
    const Eigen::VectorXd inverse = (e.array() + strength).inverse();
    const Eigen::VectorXd coefficients = projected.cwiseProduct(inverse);
    Eigen::VectorXd errors = centred - A * coefficients;
    for (Eigen::Index i = 0; i < rows; ++i) {
      const double leverage = v[i] / count + A.row(i).cwiseAbs2().dot(inverse.transpose());
      errors[i] /= std::max(1 - leverage, 1e-3);
    }
    if (errors.squaredNorm() >= best) continue;
    best = errors.squaredNorm();
    best_coefficients = coefficients;
    best_errors = errors;
  }
  const Eigen::VectorXd c =
      (eigen.eigenvectors() * best_coefficients).cwiseQuotient(scale.transpose());
  RidgeFit fit;
  fit.coefficients.assign(c.begin(), c.end());
  fit.intercept = mean_target - mean.dot(c);
  for (Eigen::Index i = 0; i < rows; ++i) {
    fit.left_out.push_back(root[i] > 0 ? t[i] - best_errors[i] / root[i] : t[i]);
  }
  return fit;
}

}  // namespace margrove::detail
