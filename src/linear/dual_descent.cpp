#include "linear/dual_descent.hpp"

#include <algorithm>
#include <cmath>

#include "linear/binary_solvers.hpp"

namespace margrove::detail {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

void DualDescent::start(std::span<DualRow> rows) {
  rows_ = rows;
  active_.clear();
  for (std::uint32_t k = 0; k < rows_.size(); ++k) {
    DualRow& row = rows_[k];
    row.a = std::clamp(row.a, 0.0, upper(row));
    if (row.a > 0) add_scaled(row.a * row.sign, X_.row(row.row), v_, tail_);
    active_.push_back({k, squared_norms_[row.row] + ridge(row)});
  }
  reset_shrinking();
}

void DualDescent::clear() {
  for (const DualRow& row : rows_) {
    for (const FeatureId j : X_.row(row.row).columns) v_[j] = 0.0;
  }
}

void DualDescent::reset_shrinking() {
  num_active_ = active_.size();
  shrink_above_ = kInfinity;
  shrink_below_ = -kInfinity;
}

bool DualDescent::descend(double violation_tolerance, std::int64_t max_steps, Random& random,
                          RunControl& control) {
  reset_shrinking();
  const std::int64_t last = steps_ + max_steps;
  while (steps_ < last && control.proceed()) {
    pass(random);
    if (largest_ - smallest_ > violation_tolerance) {
      shrink_above_ = largest_ > 0 ? largest_ : kInfinity;
      shrink_below_ = smallest_ < 0 ? smallest_ : -kInfinity;
    } else if (num_active_ == active_.size()) {
      return true;
    } else {
      reset_shrinking();  // check the coordinates left out
    }
  }
  return false;
}

void DualDescent::pass(Random& random) {
  largest_ = -kInfinity;
  smallest_ = kInfinity;
  random.shuffle(std::span(active_).first(num_active_));
  steps_ += std::max<std::int64_t>(1, static_cast<std::int64_t>(num_active_));
  for (std::size_t k = 0; k < num_active_; ++k) {
    if (!step(active_[k])) std::swap(active_[k--], active_[--num_active_]);
  }
  if (largest_ < smallest_) largest_ = smallest_ = 0;  // all coordinates were left out
}

/// One coordinate; false if it can be left out for now.
bool DualDescent::step(const Coordinate& coordinate) {
  DualRow& row = rows_[coordinate.index];
  const SparseRow x = X_.row(row.row);
  const double before = row.a;
  const double G = row.sign * (row.prior_score + dot(x, v_, tail_)) - 1.0 + ridge(row) * before;
  double projected = G;
  if (before <= 0) {
    if (G > shrink_above_) return false;
    projected = std::min(G, 0.0);
  } else if (before >= upper(row)) {
    if (G < shrink_below_) return false;
    projected = std::max(G, 0.0);
  }
  largest_ = std::max(largest_, projected);
  smallest_ = std::min(smallest_, projected);
  if (std::abs(projected) < 1e-14) return true;
  if (coordinate.diagonal > 0) {
    row.a = std::clamp(before - G / coordinate.diagonal, 0.0, upper(row));
  } else {
    row.a = G < 0 ? upper(row) : 0.0;  // an empty row of a hinge
  }
  add_scaled((row.a - before) * row.sign, x, v_, tail_);
  return true;
}

DualState DualDescent::evaluate() const {
  DualState state;
  for (const DualRow& row : rows_) {
    const double score = row.prior_score + dot(X_.row(row.row), v_, tail_);
    const double violation = std::max(0.0, 1.0 - row.sign * score);
    state.primal += row.cost * (squared_ ? violation * violation : violation);
    state.dual += row.a * (1.0 - row.sign * row.prior_score) - 0.5 * ridge(row) * row.a * row.a;
    // |v|^2 = sum_i a_i y_i v.x_i needs no pass over the columns.
    state.half_norm += 0.5 * row.a * row.sign * (score - row.prior_score);
  }
  state.primal += state.half_norm;
  state.dual -= state.half_norm;
  return state;
}

}  // namespace margrove::detail
