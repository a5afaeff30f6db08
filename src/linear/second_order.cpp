#include "linear/second_order.hpp"

#include <algorithm>
#include <cmath>

#include "linear/binary_solvers.hpp"
#include "linear/free_intercept.hpp"
#include "linear/second_order_label.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kMaxColumns = 1000;  // of the systems
constexpr double kDenseShare = 0.25;       // of the cells; passes over sparser rows are cheap
constexpr int kFewestPasses = 100;
constexpr int kPassesPerColumn = 3;  // of coordinate descent, as long as some 25 systems
constexpr Eigen::Index kBlock = 64;  // rows that are added to the system together

}  // namespace

int passes_before_second_order(std::size_t num_rows, std::size_t num_used_columns,
                               std::size_t num_nonzeros, int max_passes) {
  const double cells = static_cast<double>(num_rows) * static_cast<double>(num_used_columns);
  if (num_used_columns > kMaxColumns || cells == 0 ||
      static_cast<double>(num_nonzeros) < kDenseShare * cells) {
    return 0;
  }
  const int passes = kPassesPerColumn * static_cast<int>(num_used_columns);
  return std::clamp(passes, kFewestPasses, std::max(kFewestPasses, max_passes / 2));
}

double second_order_bytes(std::size_t num_rows, std::size_t num_columns) {
  const auto rows = static_cast<double>(num_rows);
  const auto columns = static_cast<double>(num_columns);
  return 8.0 * (2 * columns * columns + kBlock * columns + 8 * columns + 20 * rows);
}

LabelRows::LabelRows(const BlockProblem& problem, const LaneInput& input)
    : X_(problem.X), intercept_(problem.free_intercept) {
  std::vector<bool> is_positive(X_.num_rows(), false);
  for (const std::uint32_t i : input.positives) is_positive[i] = true;
  for (std::uint32_t i = 0; i < X_.num_rows(); ++i) {
    if (problem.costs[i] <= 0) continue;
    rows_.push_back(i);
    signs_.push_back(is_positive[i] ? 1.0 : -1.0);
    costs_.push_back(problem.costs[i]);
    if (intercept_ == 0) continue;
    const double square = problem.squared_norms[i] - intercept_ * intercept_;
    norms_.push_back(std::sqrt(std::max(0.0, square)));
  }
}

void LabelRows::margins(std::span<const double> v, std::span<double> m) const {
  for (std::size_t k = 0; k < size(); ++k) m[k] = signs_[k] * dot(x(k), v);
}

void LabelRows::combine(std::span<const double> a, std::span<double> v) const {
  std::fill(v.begin(), v.end(), 0.0);
  for (std::size_t k = 0; k < size(); ++k) {
    if (a[k] != 0) add_scaled(a[k] * signs_[k], x(k), v);
  }
}

double LabelRows::half_norm(std::span<const double> v) const {
  double sum = 0;
  for (const double each : v.first(num_regularised())) sum += 0.5 * each * each;
  return sum;
}

double LabelRows::balancing_gap(std::span<const double> a, std::span<const double> losses,
                                double residual) const {
  if (intercept_ == 0) return 0.0;
  DualSides sides;
  for (std::size_t k = 0; k < size(); ++k) {
    DualSide& side = signs_[k] > 0 ? sides.positive : sides.negative;
    side.duals += a[k];
    side.losses += losses[k];
    side.norms += a[k] * norms_[k];
  }
  Balancing balancing;
  balancing.add(sides);
  return balancing.gap(residual);
}

CurvatureSystem::CurvatureSystem(const LabelRows& rows)
    : rows_(rows),
      H_(static_cast<Eigen::Index>(rows.num_columns()),
         static_cast<Eigen::Index>(rows.num_columns())),
      block_(static_cast<Eigen::Index>(rows.num_columns()), kBlock) {}

bool CurvatureSystem::factorise(std::span<const double> theta) {
  H_.setIdentity();
  if (rows_.intercept() != 0) H_(H_.rows() - 1, H_.cols() - 1) = 0.0;
  Eigen::Index filled = 0;
  const auto add_block = [&] {
    H_.selfadjointView<Eigen::Lower>().rankUpdate(block_.leftCols(filled));
    filled = 0;
  };
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    if (theta[k] <= 0) continue;
    auto column = block_.col(filled++);
    column.setZero();
    const double root = std::sqrt(theta[k]);
    const SparseRow x = rows_.x(k);
    for (std::size_t m = 0; m < x.size(); ++m) column[x.columns[m]] = root * x.values[m];
    if (filled == kBlock) add_block();
  }
  if (filled > 0) add_block();
  factor_.compute(H_);
  return factor_.info() == Eigen::Success;
}

std::vector<double> CurvatureSystem::solve(std::span<const double> r) const {
  std::vector<double> d(r.begin(), r.end());
  Eigen::Map<Eigen::VectorXd> in_place(d.data(), static_cast<Eigen::Index>(d.size()));
  factor_.solveInPlace(in_place);
  return d;
}

double BestWeights::objective(std::span<const double> v) const {
  std::vector<double> m(rows_.size());
  rows_.margins(v, m);
  double sum = rows_.half_norm(v);
  return visit_point_loss(problem_.loss, [&](auto loss) {
    for (std::size_t k = 0; k < m.size(); ++k) sum += rows_.cost(k) * loss.value(m[k]);
    return sum;
  });
}

bool BestWeights::offer(std::span<const double> v, double dual) {
  std::vector<double> rounded(v.size());
  for (std::size_t j = 0; j < v.size(); ++j) rounded[j] = static_cast<float>(v[j]);
  const double primal = objective(rounded);
  BinaryFit& fit = output_.fit;
  if (std::isfinite(primal) && !(fit.primal <= primal)) {
    fit.primal = primal;
    output_.weights = {};
    for (FeatureId j = 0; j < rounded.size(); ++j) {
      if (rounded[j] == 0) continue;
      output_.weights.features.push_back(j);
      output_.weights.values.push_back(static_cast<float>(rounded[j]));
    }
  }
  if (std::isfinite(dual) && !(fit.dual >= dual)) fit.dual = dual;
  return fit.primal - fit.dual <= problem_.tolerance * fit.primal;
}

bool BestWeights::may_go_on(RunControl& control) {
  BinaryFit& fit = output_.fit;
  if (fit.passes >= problem_.max_passes) {
    fit.stop = Stop::pass_limit;
    return false;
  }
  if (!control.proceed()) {
    fit.stop = control.stop_reason();
    return false;
  }
  ++fit.passes;
  return true;
}

void solve_second_order(const BlockProblem& problem, const LaneInput& input, RunControl& control,
                        LaneOutput& output) {
  const LabelRows rows(problem, input);
  output.fit.stop = Stop::converged;
  BestWeights best(rows, problem, output);
  visit_point_loss(problem.loss, [&]<class Loss>(Loss) {
    if constexpr (Loss::kSmooth) {
      solve_dense_newton<Loss>(rows, best, control);
    } else {
      solve_interior_point(rows, best, control, output.duals);
    }
  });
}

}  // namespace margrove::detail
