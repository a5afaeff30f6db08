#pragma once
// Norms between the trace norm and the max norm. Each is a maximum of trace norms,
//   ||U||_s   = max over distributions mu on rows      of || diag(mu)^1/2 U ||_*
//   ||U||_max = max over mu on rows and nu on columns  of || diag(mu)^1/2 U diag(nu)^1/2 ||_*
// and the singular vectors at any mu give a factorisation, hence an upper bound.

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <span>

#include "data/csr_operations.hpp"
#include "hierarchy/shared_norm.hpp"
#include "margrove/node_weights.hpp"

namespace margrove::testing {

/// A dense matrix, stored by rows.
struct DenseView {
  std::span<const double> values;
  std::size_t num_rows = 0;
  std::size_t num_columns = 0;
};

/// lower <= the norm <= upper.
struct NormBounds {
  double lower = 0;
  double upper = 0;
};

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

inline Matrix to_matrix(const DenseView& U) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(U.values.data(), static_cast<Eigen::Index>(U.num_rows),
                                    static_cast<Eigen::Index>(U.num_columns));
}

struct Factors {
  Matrix A, W;  // A W^T = U on the support of the distributions
  double trace_norm;
};

// With M = diag(mu)^1/2 U diag(nu)^1/2 = P S Q^T: A = diag(mu)^-1/2 P S^1/2, and W alike.
inline Factors factor(const Matrix& U, const Vector& mu, const Vector& nu) {
  const Matrix M = mu.cwiseSqrt().asDiagonal() * U * nu.cwiseSqrt().asDiagonal();
  const Eigen::JacobiSVD<Matrix> svd(M, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Vector root = svd.singularValues().cwiseSqrt();
  const auto inverse_root = [](const Vector& v) -> Vector {
    return v.unaryExpr([](double x) { return x > 0 ? 1.0 / std::sqrt(x) : 0.0; });
  };
  return {inverse_root(mu).asDiagonal() * svd.matrixU() * root.asDiagonal(),
          inverse_root(nu).asDiagonal() * svd.matrixV() * root.asDiagonal(),
          svd.singularValues().sum()};
}

inline Vector uniform_on_nonzero(const Vector& squares) {
  Vector mu = squares.unaryExpr([](double x) { return x > 0 ? 1.0 : 0.0; });
  return mu / mu.sum();
}

// mu_i <- mu_i ||A_i||^2 / sum: the fixed points have equal row norms on their support.
inline void move_mass(Vector& mu, const Vector& squared_rows) {
  mu = mu.cwiseProduct(squared_rows);
  mu /= mu.sum();
}

inline double frobenius_norm(const DenseView& U) { return to_matrix(U).norm(); }

inline double trace_norm(const DenseView& U) {
  const Matrix M = to_matrix(U);
  if (M.size() == 0) return 0;
  return Eigen::JacobiSVD<Matrix>(M).singularValues().sum();
}

/// ||U||_s = min over A V = U of ||A||_{2->inf} ||V||_F. An SVD per iteration.
inline NormBounds shared_norm(const DenseView& view, const SharedNormOptions& options) {
  validate(options);
  const Matrix U = to_matrix(view);
  NormBounds bounds;
  if (U.size() == 0 || U.norm() == 0) return bounds;
  bounds.upper = U.norm();
  Vector mu = uniform_on_nonzero(U.rowwise().squaredNorm());
  const Vector ones = Vector::Ones(U.cols());
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    const Factors f = factor(U, mu, ones);
    const Vector squared_rows = f.A.rowwise().squaredNorm();
    bounds.lower = std::max(bounds.lower, f.trace_norm);
    bounds.upper = std::min(bounds.upper, std::sqrt(squared_rows.maxCoeff()) * f.W.norm());
    if (bounds.lower >= (1 - options.gap_tolerance) * bounds.upper) break;
    move_mass(mu, squared_rows);
  }
  return bounds;
}

/// ||U||_max = min over A W^T = U of ||A||_{2->inf} ||W||_{2->inf}. An SVD per iteration.
inline NormBounds max_norm(const DenseView& view, const SharedNormOptions& options) {
  validate(options);
  const Matrix U = to_matrix(view);
  NormBounds bounds;
  if (U.size() == 0 || U.norm() == 0) return bounds;
  // U = I U and U = U I.
  bounds.upper = std::sqrt(
      std::min(U.rowwise().squaredNorm().maxCoeff(), U.colwise().squaredNorm().maxCoeff()));
  bounds.lower = U.cwiseAbs().maxCoeff();
  Vector mu = uniform_on_nonzero(U.rowwise().squaredNorm());
  Vector nu = uniform_on_nonzero(U.colwise().squaredNorm());
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    const Factors f = factor(U, mu, nu);
    const Vector squared_rows = f.A.rowwise().squaredNorm();
    const Vector squared_columns = f.W.rowwise().squaredNorm();
    bounds.lower = std::max(bounds.lower, f.trace_norm);
    bounds.upper =
        std::min(bounds.upper, std::sqrt(squared_rows.maxCoeff() * squared_columns.maxCoeff()));
    if (bounds.lower >= (1 - options.gap_tolerance) * bounds.upper) break;
    move_mass(mu, squared_rows);
    move_mass(nu, squared_columns);
  }
  return bounds;
}

// ||U||_{s,G}: like ||U||_s with factors V_n at the nodes of G and A_{ln} = a_n for n in A(l), else
// 0; row k of U belongs to graph.leaves()[k].
// Its square is the minimum of tr(U^T K^-1 U) over alpha with path sums of at most 1, where
// K = B diag(alpha) B^T is the label kernel. At given alpha the factors are U_n = alpha_n (B^T Z)_n
// with Z = K^-1 U, and Z gives the lower bound
// ||U||^2 >= <Z, U>^2 / max_alpha sum_n alpha_n ||(B^T Z)_n||^2.
inline NormBounds structured_shared_norm(const DenseView& view, const LabelGraph& graph,
                                         const SharedNormOptions& options) {
  validate(options);
  const Matrix U = to_matrix(view);
  NormBounds bounds;
  if (U.size() == 0 || U.norm() == 0) return bounds;
  bounds.upper = U.norm();  // by alpha = 1 on leaves, 0 elsewhere
  Matrix B = Matrix::Zero(U.rows(), graph.num_nodes());
  for (Eigen::Index k = 0; k < U.rows(); ++k) {
    for (const NodeId n : graph.ancestors(graph.leaves()[static_cast<std::size_t>(k)])) B(k, n) = 1;
  }
  const SharedNormStep step(graph);
  const auto start = node_weights(graph, {.name = "maxmin"}).alpha;
  Vector alpha = Eigen::Map<const Vector>(start.data(), static_cast<Eigen::Index>(start.size()));
  for (int iteration = 0; iteration < options.max_iterations; ++iteration) {
    const Matrix K = B * alpha.asDiagonal() * B.transpose();
    const Matrix Z = K.completeOrthogonalDecomposition().solve(U);
    const Vector gradient = (B.transpose() * Z).rowwise().squaredNorm();
    const double inner = Z.cwiseProduct(U).sum();
    if ((K * Z - U).norm() <= 1e-9 * U.norm()) {
      bounds.upper = std::min(bounds.upper, std::sqrt(inner));
    }
    const std::span<const double> squares(gradient.data(), start.size());
    const double most = step.largest_weighted_sum(squares).value;
    bounds.lower = std::max(bounds.lower, inner / std::sqrt(most));
    if (bounds.lower >= (1 - options.gap_tolerance) * bounds.upper) break;
    const Vector norms = alpha.cwiseAbs2().cwiseProduct(gradient);
    SharedNormOptions inner_options = options;
    inner_options.gap_tolerance = options.gap_tolerance / 10;
    const auto next = step.weights({norms.data(), start.size()}, inner_options).alpha;
    for (Eigen::Index n = 0; n < alpha.size(); ++n) {
      // A weight of exactly 0 would stay 0.
      alpha[n] = std::max(next[static_cast<std::size_t>(n)], 1e-12);
    }
  }
  return bounds;
}

}  // namespace margrove::testing
