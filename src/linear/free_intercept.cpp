#include "linear/free_intercept.hpp"

#include <algorithm>

namespace margrove::detail {
namespace {

/// The shift at which the row's loss begins or ends.
double breakpoint(const ScoredRow& row) { return (row.positive ? 1.0 : -1.0) - row.score; }

bool is_before(const ScoredRow& a, const ScoredRow& b) { return breakpoint(a) < breakpoint(b); }

double sum_of_costs(std::span<const ScoredRow> rows) {
  double sum = 0;
  for (const ScoredRow& row : rows) sum += row.cost;
  return sum;
}

/// The derivative of the sum of the losses rises by a row's cost at its breakpoint, from minus the
/// costs of the positives. Its zero is a weighted quantile.
double best_hinge_shift(std::span<ScoredRow> rows, double own) {
  double before = 0;
  std::size_t first = 0, last = rows.size();
  while (last - first > 1) {
    const std::size_t middle = first + (last - first) / 2;
    std::nth_element(rows.begin() + first, rows.begin() + middle, rows.begin() + last, is_before);
    const double lower = sum_of_costs(rows.subspan(first, middle - first));
    if (before + lower >= own * (1 - 1e-9)) {
      last = middle;
    } else {
      before += lower;
      first = middle;
    }
  }
  const double at = breakpoint(rows[first]);
  const bool is_flat = before + rows[first].cost <= own * (1 + 1e-9);
  if (!is_flat || last == rows.size()) return at;
  return 0.5 * (at + breakpoint(*std::min_element(rows.begin() + last, rows.end(), is_before)));
}

double best_squared_hinge_shift(std::span<const ScoredRow> rows) {
  double low = breakpoint(*std::min_element(rows.begin(), rows.end(), is_before));
  double high = breakpoint(*std::max_element(rows.begin(), rows.end(), is_before));
  double shift = std::clamp(0.0, low, high);
  constexpr int kMaxSteps = 100;
  for (int step = 0; step < kMaxSteps; ++step) {
    double slope = 0, curvature = 0;
    for (const ScoredRow& row : rows) {
      const double y = row.positive ? 1.0 : -1.0;
      const double violation = 1.0 - y * (row.score + shift);
      if (violation <= 0) continue;
      slope -= 2 * row.cost * y * violation;
      curvature += 2 * row.cost;
    }
    if (slope == 0 || curvature == 0) break;
    (slope < 0 ? low : high) = shift;
    double next = shift - slope / curvature;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (std::abs(next - shift) <= 1e-12 * (1 + std::abs(shift))) break;
    shift = next;
  }
  return shift;
}

}  // namespace

double one_sided_score(PointLossKind loss) {
  return loss == PointLossKind::logistic ? -30.0 : -1.001;
}

void Balancing::add(const DualSides& sides, double path_sum) {
  const bool own = sides.positive.duals > sides.negative.duals;
  const DualSide& larger = own ? sides.positive : sides.negative;
  const DualSide& smaller = own ? sides.negative : sides.positive;
  if (larger.duals <= 0) return;
  const double share = 1.0 - std::max(0.0, smaller.duals) / larger.duals;
  losses += share * larger.losses;
  move += share * std::sqrt(path_sum) * larger.norms;
}

std::vector<float> norms_without(std::span<const double> squared_norms, double intercept) {
  std::vector<float> norms;
  for (const double square : squared_norms) {
    norms.push_back(static_cast<float>(std::sqrt(std::max(0.0, square - intercept * intercept))));
  }
  return norms;
}

void add_to_all(const Lanes& step, std::span<Lanes> rows) {
  for (Lanes& row : rows) {
    for (std::size_t l = 0; l < kLanes; ++l) row.at[l] += step.at[l];
  }
}

double best_shift(PointLossKind loss, std::span<ScoredRow> rows) {
  double own = 0, others = 0;
  for (const ScoredRow& row : rows) (row.positive ? own : others) += row.cost;
  if (own == 0) return breakpoint(*std::min_element(rows.begin(), rows.end(), is_before));
  if (others == 0) return breakpoint(*std::max_element(rows.begin(), rows.end(), is_before));
  return loss == PointLossKind::hinge ? best_hinge_shift(rows, own)
                                      : best_squared_hinge_shift(rows);
}

}  // namespace margrove::detail
