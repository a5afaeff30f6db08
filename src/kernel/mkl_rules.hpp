#pragma once
// The parts of multiple kernel learning (mkl.hpp) that depend on the regulariser of the weights.

#include <limits>
#include <span>
#include <vector>

#include "kernel/beta_step.hpp"
#include "kernel/network.hpp"

namespace margrove {

constexpr double kLogOfZero = -std::numeric_limits<double>::infinity();  // of a zero weight

/// Weights are kept as logarithms, one per variable.
class WeightRule {
 public:
  virtual ~WeightRule() = default;
  /// The logarithms at the start.
  virtual std::vector<double> initial() const = 0;
  /// count_m g_m of every path.
  virtual std::vector<double> path_weights(std::span<const double> logs) const = 0;
  /// The term of the weights in the objective.
  virtual double penalty(std::span<const double> logs) const = 0;
  /// Line 3 of mkl.hpp: the best weights for the norms ||w_m||^2 of q_m and the present weights.
  virtual std::vector<double> optimum(std::span<const double> logs,
                                      std::span<const double> q) const = 0;
  /// Makes the logarithms feasible after an unconstrained change.
  virtual void normalise(std::vector<double>& logs) const = 0;
  /// Whether an optimum may have this variable at zero (p <= 1).
  virtual bool may_be_zero(std::size_t variable) const = 0;
  /// The largest weight of the paths of every variable.
  virtual std::vector<double> heaviest_paths(std::span<const double> path_weights) const = 0;
  /// Zeroes the variables v that may be zero and have condition(v). False if there are none.
  template <class Condition>
  bool set_zero(std::vector<double>& logs, const Condition& condition) const {
    bool any = false;
    for (std::size_t v = 0; v < logs.size(); ++v) {
      if (!may_be_zero(v) || logs[v] == kLogOfZero || !condition(v)) continue;
      logs[v] = kLogOfZero;
      any = true;
    }
    if (any) normalise(logs);
    return any;
  }

  virtual bool has_bound() const = 0;
  /// A lower bound of the objective's minimum from one feasible alpha of all classifiers.
  virtual double lower_bound(std::span<const double> logs, double sum_alpha,
                             std::span<const double> q) const = 0;
  /// Gives a small weight to variables at zero that would lower the objective if they were
  /// positive. False if there are none.
  virtual bool restore(std::vector<double>& logs, std::span<const double> q) const = 0;
};

class NetworkRule final : public WeightRule {
 public:
  NetworkRule(std::span<const NetworkPath> paths, std::span<const double> p, double lambda);
  std::vector<double> initial() const override;
  std::vector<double> path_weights(std::span<const double> logs) const override;
  double penalty(std::span<const double> logs) const override;
  std::vector<double> optimum(std::span<const double> logs,
                              std::span<const double> q) const override;
  void normalise(std::vector<double>&) const override {}
  std::vector<double> heaviest_paths(std::span<const double> path_weights) const override;
  bool may_be_zero(std::size_t variable) const override { return p_[variable] <= 1; }
  bool has_bound() const override;
  double lower_bound(std::span<const double> logs, double sum_alpha,
                     std::span<const double> q) const override;
  bool restore(std::vector<double>& logs, std::span<const double> q) const override;

 private:
  /// log g_m(e^logs).
  double log_weight(std::size_t path, std::span<const double> logs) const;
  /// Positive reference weights r: the present ones, and where these are zero the fixed point of
  /// dH/dr = 0 for H = 1/2 sum g_m(r) q_m - sum c_v r_v^p, found by multiplicative steps.
  std::vector<double> reference(std::span<const double> logs, std::span<const double> q) const;
  /// d/dr_v of 1/2 sum_m count_m q_m g_m(r), at r = e^logs.
  std::vector<double> slopes(std::span<const double> logs, std::span<const double> q) const;

  std::span<const NetworkPath> paths_;
  std::vector<double> p_;
  std::vector<double> penalties_;  // lambda c_v
};

class LpRule final : public WeightRule {
 public:
  LpRule(std::size_t num_kernels, double p) : num_kernels_(num_kernels), p_(p) {}
  std::vector<double> initial() const override;
  std::vector<double> path_weights(std::span<const double> logs) const override;
  double penalty(std::span<const double>) const override { return 0; }
  std::vector<double> optimum(std::span<const double> logs,
                              std::span<const double> q) const override;
  void normalise(std::vector<double>& logs) const override;
  std::vector<double> heaviest_paths(std::span<const double> path_weights) const override {
    return {path_weights.begin(), path_weights.end()};
  }
  bool may_be_zero(std::size_t) const override { return p_ <= 1; }
  bool has_bound() const override { return true; }
  double lower_bound(std::span<const double> logs, double sum_alpha,
                     std::span<const double> q) const override;
  bool restore(std::vector<double>& logs, std::span<const double> q) const override;

 private:
  std::size_t num_kernels_;
  double p_;
};

}  // namespace margrove
