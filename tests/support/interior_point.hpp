#pragma once
// A dense primal-dual interior-point method for small convex programmes, as a reference in tests.

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/csr_operations.hpp"

namespace margrove::testing {

/// min sum_n |x_n|^rho subject to A x = b and G x >= h, from a positive start; rho > 1. If rho !=
/// 2, G x >= h must contain x >= 0, so that x stays positive.
struct PowerProgram {
  double rho = 2;
  Eigen::MatrixXd A;
  Eigen::VectorXd b;
  Eigen::MatrixXd G;
  Eigen::VectorXd h;
};

inline Eigen::VectorXd solve_interior_point(const PowerProgram& p, Eigen::VectorXd x) {
  const Eigen::Index n = x.size(), m = p.A.rows(), k = p.G.rows();
  Eigen::VectorXd y = Eigen::VectorXd::Zero(m);
  Eigen::VectorXd s = (p.G * x - p.h).cwiseMax(0.1), z = Eigen::VectorXd::Ones(k);
  const auto longest_step = [](const Eigen::VectorXd& v, const Eigen::VectorXd& d) {
    double step = 1.0;
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      if (d[i] < 0) step = std::min(step, -0.99 * v[i] / d[i]);
    }
    return step;
  };
  for (int iteration = 0; iteration < 300; ++iteration) {
    const Eigen::ArrayXd xp = x.array().max(1e-300);
    const Eigen::VectorXd gradient = p.rho * xp.pow(p.rho - 1);
    const Eigen::VectorXd curvature = p.rho * (p.rho - 1) * xp.pow(p.rho - 2);
    const double centre = s.dot(z) / static_cast<double>(k);
    const double target = 0.2 * centre;
    const Eigen::VectorXd r_dual = gradient - p.A.transpose() * y - p.G.transpose() * z;
    const Eigen::VectorXd r_primal = p.A * x - p.b;
    const Eigen::VectorXd r_slack = p.G * x - p.h - s;
    const double residual = std::max({r_dual.cwiseAbs().maxCoeff(), r_slack.cwiseAbs().maxCoeff(),
                                      m ? r_primal.cwiseAbs().maxCoeff() : 0.0, centre});
    if (residual < 1e-13) break;
    // ds = G dx + r_slack; z ds + s dz = target - s z.
    const Eigen::VectorXd ratio = z.cwiseQuotient(s);
    const Eigen::VectorXd push =
        (Eigen::VectorXd::Constant(k, target) - s.cwiseProduct(z)).cwiseQuotient(s) -
        ratio.cwiseProduct(r_slack);
    Eigen::MatrixXd kkt = Eigen::MatrixXd::Zero(n + m, n + m);
    kkt.topLeftCorner(n, n) = p.G.transpose() * ratio.asDiagonal() * p.G;
    kkt.topLeftCorner(n, n).diagonal() += curvature;
    kkt.topRightCorner(n, m) = -p.A.transpose();
    kkt.bottomLeftCorner(m, n) = p.A;
    Eigen::VectorXd right(n + m);
    right.head(n) = -r_dual + p.G.transpose() * push;
    right.tail(m) = -r_primal;
    const Eigen::VectorXd step = kkt.fullPivLu().solve(right);
    const Eigen::VectorXd dx = step.head(n), dy = step.tail(m);
    const Eigen::VectorXd ds = p.G * dx + r_slack;
    const Eigen::VectorXd dz = push + ratio.cwiseProduct(r_slack) - ratio.cwiseProduct(ds);
    const double length = std::min({longest_step(s, ds), longest_step(z, dz), 1.0});
    x += length * dx;
    y += length * dy;
    s += length * ds;
    z += length * dz;
  }
  return x;
}

}  // namespace margrove::testing
