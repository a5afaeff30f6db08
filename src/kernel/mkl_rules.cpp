#include "kernel/mkl_rules.hpp"

#include <algorithm>
#include <cmath>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr int kReferenceSteps = 60;
constexpr double kLongestFall = 1e5;  // in logarithms; generous, as directions may be steep
constexpr double kLongestRise = 10.0;
constexpr double kRestoredPart = 1e-3;  // of the mean positive weight
constexpr double kViolation = 1e-6;     // relative, below which a zero weight stays

/// max over t in [0, high] of a concave function.
template <class Function>
double concave_maximum(double high, const Function& function) {
  double low = 0;
  for (int step = 0; step < 100; ++step) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    if (function(left) < function(right)) {
      low = left;
    } else {
      high = right;
    }
  }
  return std::max(function(low), function(high));
}

/// log of the mean of the positive weights.
double log_mean_positive(std::span<const double> logs) {
  double sum = 0;
  double count = 0;
  for (const double each : logs) {
    if (each == kLogOfZero) continue;
    sum += std::exp(each);
    count += 1;
  }
  return count > 0 ? std::log(sum / count) : 0.0;
}

}  // namespace

// Networks ---------------------------------------------------------------------------------------

NetworkRule::NetworkRule(std::span<const NetworkPath> paths, std::span<const double> p,
                         double lambda)
    : paths_(paths), p_(p.begin(), p.end()), penalties_(node_penalties(paths, p.size(), lambda)) {}

std::vector<double> NetworkRule::initial() const {
  double total = 0;
  for (const auto& path : paths_) total += path.count;
  return std::vector<double>(p_.size(), -std::log(total));
}

double NetworkRule::log_weight(std::size_t path, std::span<const double> logs) const {
  double sum = 0;
  for (const auto& factor : paths_[path].factors) sum += factor.exponent * logs[factor.product];
  return sum;
}

std::vector<double> NetworkRule::path_weights(std::span<const double> logs) const {
  std::vector<double> weights(paths_.size());
  for (std::size_t m = 0; m < paths_.size(); ++m) {
    weights[m] = paths_[m].count * std::exp(log_weight(m, logs));
  }
  return weights;
}

double NetworkRule::penalty(std::span<const double> logs) const {
  double sum = 0;
  for (std::size_t v = 0; v < p_.size(); ++v) sum += penalties_[v] * std::exp(p_[v] * logs[v]);
  return sum;
}

std::vector<double> NetworkRule::optimum(std::span<const double> logs,
                                         std::span<const double> q) const {
  BetaProblem problem{paths_, std::vector<double>(paths_.size(), 0.0), penalties_, p_};
  for (std::size_t m = 0; m < paths_.size(); ++m) {
    const double weight = std::exp(log_weight(m, logs));  // ||w_m||^2 = g_m^2 q_m
    problem.path_terms[m] = paths_[m].count * weight * weight * q[m] / 2;
  }
  std::vector<double> start(p_.size());
  for (std::size_t v = 0; v < p_.size(); ++v) start[v] = std::exp(logs[v]);
  std::vector<double> result = beta_newton(problem, start).beta;
  for (double& each : result) each = each > 0 ? std::log(each) : kLogOfZero;
  return result;
}

std::vector<double> NetworkRule::heaviest_paths(std::span<const double> path_weights) const {
  std::vector<double> heaviest(p_.size(), 0.0);
  for (std::size_t m = 0; m < paths_.size(); ++m) {
    for (const auto& factor : paths_[m].factors) {
      heaviest[factor.product] = std::max(heaviest[factor.product], path_weights[m]);
    }
  }
  return heaviest;
}

bool NetworkRule::has_bound() const {
  return std::all_of(p_.begin(), p_.end(), [](double p) { return p >= 1; });
}

std::vector<double> NetworkRule::slopes(std::span<const double> logs,
                                        std::span<const double> q) const {
  std::vector<double> slopes(p_.size(), 0.0);
  for (std::size_t m = 0; m < paths_.size(); ++m) {
    if (q[m] <= 0) continue;
    const double log_g = log_weight(m, logs);
    for (const auto& factor : paths_[m].factors) {
      slopes[factor.product] +=
          paths_[m].count * q[m] / 2 * factor.exponent * std::exp(log_g - logs[factor.product]);
    }
  }
  return slopes;
}

std::vector<double> NetworkRule::reference(std::span<const double> logs,
                                           std::span<const double> q) const {
  std::vector<double> r(logs.begin(), logs.end());
  std::vector<std::size_t> zeros;
  const double small = log_mean_positive(logs) + std::log(kRestoredPart);
  for (std::size_t v = 0; v < r.size(); ++v) {
    if (r[v] != kLogOfZero) continue;
    zeros.push_back(v);
    r[v] = small;
  }
  for (int step = 0; step < kReferenceSteps && !zeros.empty(); ++step) {
    const auto slope = slopes(r, q);
    for (const std::size_t v : zeros) {  // c p r^p = r slope
      if (slope[v] <= 0) continue;
      const double next = (r[v] + std::log(slope[v] / (p_[v] * penalties_[v]))) / p_[v];
      r[v] = std::clamp(next, small - kLongestFall, small + kLongestRise);
    }
  }
  return r;
}

double NetworkRule::lower_bound(std::span<const double> logs, double sum_alpha,
                                std::span<const double> q) const {
  const auto slope = slopes(reference(logs, q), q);
  double longest = 1.0;
  for (std::size_t v = 0; v < p_.size(); ++v) {
    if (p_[v] == 1 && slope[v] > penalties_[v]) {
      longest = std::min(longest, std::sqrt(penalties_[v] / slope[v]));
    }
  }
  return concave_maximum(longest, [&](double t) {
    double bound = t * sum_alpha;
    for (std::size_t v = 0; v < p_.size(); ++v) {
      const double p = p_[v];
      if (p == 1 || slope[v] <= 0) continue;
      // max_beta a beta - c beta^p
      const double a = t * t * slope[v];
      bound -= a * std::pow(a / (p * penalties_[v]), 1 / (p - 1)) * (1 - 1 / p);
    }
    return bound;
  });
}

bool NetworkRule::restore(std::vector<double>& logs, std::span<const double> q) const {
  if (!has_bound()) return false;
  const auto r = reference(logs, q);
  const auto slope = slopes(r, q);
  const double small = log_mean_positive(logs) + std::log(kRestoredPart);
  bool any = false;
  for (std::size_t v = 0; v < p_.size(); ++v) {
    if (logs[v] != kLogOfZero || slope[v] <= 0) continue;
    const double marginal = penalties_[v] * p_[v] * std::exp((p_[v] - 1) * r[v]);
    // For p > 1 every weight is positive at the optimum.
    if (p_[v] == 1 && slope[v] <= marginal * (1 + kViolation)) continue;
    logs[v] = std::min(r[v], small);
    any = true;
  }
  return any;
}

// l_p --------------------------------------------------------------------------------------------

std::vector<double> LpRule::initial() const {
  std::vector<double> logs(num_kernels_, 0.0);
  normalise(logs);
  return logs;
}

std::vector<double> LpRule::path_weights(std::span<const double> logs) const {
  std::vector<double> weights(logs.size());
  for (std::size_t m = 0; m < logs.size(); ++m) weights[m] = std::exp(logs[m]);
  return weights;
}

void LpRule::normalise(std::vector<double>& logs) const {  // ||d||_p = 1
  const double highest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double each : logs) sum += std::exp(p_ * (each - highest));
  const double log_norm = highest + std::log(sum) / p_;
  for (double& each : logs) each -= log_norm;
}

std::vector<double> LpRule::optimum(std::span<const double> logs, std::span<const double> q) const {
  // d_m = ||w_m||^{2/(p+1)} / (sum ||w||^{2p/(p+1)})^{1/p}
  std::vector<double> result(logs.size(), kLogOfZero);
  for (std::size_t m = 0; m < logs.size(); ++m) {
    if (q[m] > 0) result[m] = (2 * logs[m] + std::log(q[m])) / (p_ + 1);
  }
  if (*std::max_element(result.begin(), result.end()) == kLogOfZero) {
    return {logs.begin(), logs.end()};  // all norms are zero, and all weights are optimal
  }
  normalise(result);
  return result;
}

double LpRule::lower_bound(std::span<const double>, double sum_alpha,
                           std::span<const double> q) const {
  // max over d of sum d_m q_m is the dual norm of q
  const double highest = *std::max_element(q.begin(), q.end());
  double norm = highest;
  if (p_ > 1 && highest > 0) {
    const double conjugate = p_ / (p_ - 1);
    double sum = 0;
    for (const double each : q) sum += std::pow(each / highest, conjugate);
    norm = highest * std::pow(sum, 1 / conjugate);
  }
  const double t = norm > 0 ? std::min(1.0, sum_alpha / norm) : 1.0;
  return t * sum_alpha - t * t * norm / 2;
}

bool LpRule::restore(std::vector<double>& logs, std::span<const double> q) const {
  double used = 0;  // sum d_m q_m; at the optimum q_m = used for p = 1 and d_m > 0
  for (std::size_t m = 0; m < logs.size(); ++m) used += std::exp(logs[m]) * q[m];
  const double small = log_mean_positive(logs) + std::log(kRestoredPart);
  bool any = false;
  for (std::size_t m = 0; m < logs.size(); ++m) {
    if (logs[m] != kLogOfZero || q[m] <= 0) continue;
    if (p_ == 1 && q[m] <= used * (1 + kViolation)) continue;
    logs[m] = small;
    any = true;
  }
  if (any) normalise(logs);
  return any;
}

}  // namespace margrove
