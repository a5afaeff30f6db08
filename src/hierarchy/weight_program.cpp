// Primal  min sum_n alpha_n^rho / rho,  low <= K alpha <= high, alpha >= 0.
// Dual    max sum_i (low_i if x_i >= 0, high_i if x_i < 0) x_i - sum_n max(mu_n, 0)^q / q,
//         mu = K^T x, 1/rho + 1/q = 1; at the optimum alpha_n = max(mu_n, 0)^(q - 1).
// Rows of K: path sums of the leaves, then alpha_child - alpha_parent of the edges (high =
// infinity, hence x >= 0 there).

#include "hierarchy/weight_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "hierarchy/path_operator.hpp"
#include "hierarchy/weight_paths.hpp"
#include "numerics/conjugate_gradients.hpp"

namespace margrove::detail {
namespace {

using Vector = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class DualNewton {
 public:
  DualNewton(const LabelGraph& graph, const WeightProgram& program);
  WeightSolution run(double tolerance, int max_steps, RunControl& control);

 private:
  void multiply(const Vector& a, Vector& rows);              // rows = K a
  void multiply_transposed(const Vector& x, Vector& nodes);  // nodes = K^T x
  double evaluate(const Vector& x);                          // the dual; sets mu_ and alpha_
  void differentiate();                                      // sets slope_, free_ and residual_
  void find_direction();
  bool line_search(double value);
  void scale_to_best();

  double low(std::size_t i) const { return i < num_leaves_ ? 1.0 : 0.0; }
  double high(std::size_t i) const { return i < num_leaves_ ? program_.longest : kInfinity; }
  bool has_kink(std::size_t i) const { return low(i) < high(i); }

  WeightProgram program_;
  double q_;
  PathOperator paths_;
  std::size_t num_leaves_, num_rows_;
  std::vector<LabelEdge> edges_;
  Vector x_, mu_, alpha_, curvature_, slope_, diagonal_, direction_, trial_, scratch_, leaf_part_;
  std::vector<char> free_;
  double residual_ = 0;
};

DualNewton::DualNewton(const LabelGraph& graph, const WeightProgram& program)
    : program_(program),
      q_(program.rho / (program.rho - 1)),
      paths_(graph),
      num_leaves_(graph.leaves().size()) {
  if (program.directional) {
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      for (const NodeId c : graph.children(n)) edges_.push_back({n, c});
    }
  }
  num_rows_ = num_leaves_ + edges_.size();
  x_.assign(num_rows_, 0.0);
  std::fill_n(x_.begin(), num_leaves_, 1.0 / static_cast<double>(num_leaves_));
  mu_.resize(graph.num_nodes());
  alpha_.resize(graph.num_nodes());
  curvature_.resize(graph.num_nodes());
  for (Vector* v : {&slope_, &diagonal_, &direction_, &trial_}) v->assign(num_rows_, 0.0);
  free_.assign(num_rows_, 1);
}

void DualNewton::multiply(const Vector& a, Vector& rows) {
  paths_.path_sums(a, std::span(rows).first(num_leaves_), scratch_);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    rows[num_leaves_ + e] = a[edges_[e].child] - a[edges_[e].parent];
  }
}

void DualNewton::multiply_transposed(const Vector& x, Vector& nodes) {
  paths_.leaf_totals(std::span(x).first(num_leaves_), nodes);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    nodes[edges_[e].child] += x[num_leaves_ + e];
    nodes[edges_[e].parent] -= x[num_leaves_ + e];
  }
}

double DualNewton::evaluate(const Vector& x) {
  multiply_transposed(x, mu_);
  double value = 0;
  for (std::size_t i = 0; i < num_leaves_; ++i) value += (x[i] >= 0 ? 1.0 : high(i)) * x[i];
  for (std::size_t n = 0; n < mu_.size(); ++n) {
    const double mu = std::max(mu_[n], 0.0);
    alpha_[n] = q_ == 2 ? mu : std::pow(mu, q_ - 1);
    value -= mu * alpha_[n] / q_;
  }
  return value;
}

// The dual is the sum of a linear and a homogeneous term, so the best multiple of x has a closed
// form.
void DualNewton::scale_to_best() {
  evaluate(x_);
  double linear = 0;
  for (std::size_t i = 0; i < num_leaves_; ++i) linear += (x_[i] >= 0 ? 1.0 : high(i)) * x_[i];
  double power = 0;
  for (std::size_t n = 0; n < mu_.size(); ++n) power += std::max(mu_[n], 0.0) * alpha_[n];
  if (linear <= 0 || power <= 0) return;
  const double scale = std::pow(linear / power, 1 / (q_ - 1));
  for (double& x : x_) x *= scale;
}

void DualNewton::differentiate() {
  multiply(alpha_, slope_);
  residual_ = 0;
  for (std::size_t i = 0; i < num_rows_; ++i) {
    const double from_low = low(i) - slope_[i], from_high = high(i) - slope_[i];
    if (x_[i] > 0 || !has_kink(i)) {
      slope_[i] = from_low;
    } else if (x_[i] < 0) {
      slope_[i] = from_high;
    } else {
      slope_[i] = from_low > 0 ? from_low : std::min(from_high, 0.0);
    }
    free_[i] = x_[i] != 0 || slope_[i] != 0;
    residual_ = std::max(residual_, std::fabs(slope_[i]));
  }
}

// Conjugate gradients for (K H K^T + small) d = slope on the free rows, H = f*''(mu).
void DualNewton::find_direction() {
  constexpr double kSmall = 1e-12;
  double largest = 0;
  for (std::size_t n = 0; n < mu_.size(); ++n) {
    curvature_[n] = mu_[n] > 0 ? (q_ - 1) * std::pow(mu_[n], q_ - 2) : 0.0;
    if (q_ < 2) curvature_[n] = std::min(curvature_[n], 1e8);
    largest = std::max(largest, curvature_[n]);
  }
  multiply(curvature_, diagonal_);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    diagonal_[num_leaves_ + e] = curvature_[edges_[e].child] + curvature_[edges_[e].parent];
  }
  for (double& d : diagonal_) d += kSmall * largest;
  Vector residual(num_rows_, 0.0), nodes(mu_.size());
  for (std::size_t i = 0; i < num_rows_; ++i) {
    if (free_[i]) residual[i] = slope_[i];
  }
  const double norm = std::sqrt(squared_norm(residual));
  const auto times = [&](const Vector& p, Vector& product) {
    multiply_transposed(p, nodes);
    for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n] *= curvature_[n];
    multiply(nodes, product);
    for (std::size_t i = 0; i < num_rows_; ++i) {
      product[i] = free_[i] ? product[i] + kSmall * largest * p[i] : 0.0;
    }
  };
  conjugate_gradients(times, diagonal_, norm * std::clamp(norm, 1e-10, 0.05), 400, residual,
                      direction_);
}

// Halves the step until the dual rises enough; multipliers with a kink stop at 0.
bool DualNewton::line_search(double value) {
  for (double length = 1; length > 1e-14; length /= 2) {
    double expected = 0;
    for (std::size_t i = 0; i < num_rows_; ++i) {
      double moved = x_[i] + length * direction_[i];
      if (has_kink(i)) {
        const bool positive = x_[i] > 0 || (x_[i] == 0 && slope_[i] > 0);
        moved = positive ? std::max(moved, 0.0) : std::min(moved, 0.0);
      }
      trial_[i] = moved;
      expected += slope_[i] * (moved - x_[i]);
    }
    if (evaluate(trial_) >= value + 1e-4 * expected && expected > 0) {
      x_.swap(trial_);
      return true;
    }
  }
  return false;
}

WeightSolution DualNewton::run(double tolerance, int max_steps, RunControl& control) {
  WeightSolution best;
  best.kkt_residual = kInfinity;
  best.stop = Stop::pass_limit;
  scale_to_best();
  int stalled = 0;
  for (int step = 0; step < max_steps; ++step) {
    const double value = evaluate(x_);
    differentiate();
    best.iterations = step;
    if (residual_ < best.kkt_residual) {
      best.kkt_residual = residual_;
      best.alpha = alpha_;
      stalled = 0;
    } else if (++stalled > 50) {
      break;  // rounding
    }
    if (residual_ <= tolerance) {
      best.stop = Stop::converged;
      break;
    }
    if (!control.proceed({.stage = "node weights",
                          .done = step,
                          .unit = Progress::Unit::steps,
                          .objective = value})) {
      best.stop = control.stop_reason();
      break;
    }
    find_direction();
    if (!line_search(value)) {
      // The values are equal up to rounding; a full step may still lower the residual.
      if (residual_ > 1e-6) break;
      for (std::size_t i = 0; i < num_rows_; ++i) {
        if (has_kink(i) && x_[i] == 0) continue;
        const double moved = x_[i] + direction_[i];
        x_[i] = has_kink(i) && moved * x_[i] < 0 ? 0.0 : moved;
      }
    }
  }
  return best;
}

}  // namespace

WeightSolution solve_by_dual_newton(const LabelGraph& graph, const WeightProgram& program,
                                    double tolerance, int max_steps, RunControl& control) {
  if (graph.num_nodes() == 0) return {};
  return DualNewton(graph, program).run(tolerance, max_steps, control);
}

WeightSolution solve_weight_program(const LabelGraph& graph, const WeightProgram& program,
                                    double tolerance, int max_steps, RunControl& control) {
  auto interior = solve_by_interior_points(graph, program, tolerance, max_steps, control);
  if (interior && interior->stop != Stop::pass_limit) return *std::move(interior);
  auto solution = solve_by_dual_newton(graph, program, tolerance, max_steps, control);
  const bool is_better = !interior || solution.kkt_residual <= interior->kkt_residual;
  return is_better ? std::move(solution) : *std::move(interior);
}

}  // namespace margrove::detail
