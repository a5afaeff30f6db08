#pragma once
// The support vector machine for a kernel that is given as a matrix.
//
// Primal  min_{f,b} 1/2 ||f||^2 + C sum_i max(0, 1 - y_i (f(x_i) + b))
// Dual    max_u  y'u - 1/2 u'Ku    s.t.  0 <= y_i u_i <= C,  sum_i u_i = 0
//
// with u_i = y_i alpha_i, f(x) = sum_i u_i K(x_i, x). The equality constraint belongs to the
// intercept b, which is not regularised. Written in u, the quadratic form has no labels, and the
// gradient of the negated dual is G = Ku - y.
//
// Sequential minimal optimisation [FanChenLin2005]: the pair (i, j) is the most violating i and the
// j with the largest second-order gain; variables at a bound that cannot move are removed
// (shrinking), and the rest of K is copied into a smaller matrix so that rows stay contiguous.

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"

namespace margrove {

struct SvmOptions {
  double C = 1.0;
  double tolerance = 1e-3;  // of max G over the u_i that may fall - min G over those that may rise
  std::int64_t max_iterations = 100'000'000;  // steps on pairs of variables
  bool shrinking = true;                      // remove variables at a bound that cannot move

  /// No front end shows these options.
  static auto fields() {
    using O = SvmOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_iterations", &O::max_iterations, at_least(1), {}),
    };
  }
};

struct SvmSolution {
  std::vector<double> u;  // y_i alpha_i
  double bias = 0;
  double dual = 0;
  double primal = 0;        // at (f, bias); primal - dual bounds the error of both
  double sum_alpha = 0;     // y'u
  double squared_norm = 0;  // u'Ku
  std::int64_t iterations = 0;
  Stop stop = Stop::converged;
};

/// K: n x n, row-major, symmetric, positive semidefinite up to rounding; y[i] is +1 or -1. `start`
/// is empty or a feasible u of the same n (a former solution). Throws InvalidInput on sizes, labels
/// or an infeasible start. Ends as `stalled` where a million iterations neither lower the violation
/// or the gap nor raise the dual by what would lead to the optimum. Memory at most another n x n
/// float32 while shrunk. With one class only, u = 0 and b = y.
SvmSolution solve_svm_dual(std::span<const float> K, std::span<const std::int8_t> y,
                           const SvmOptions& options, RunControl& control,
                           std::span<const double> start = {});

/// One against the rest: one SVM for each class over the same K, classes in parallel.
/// class_of[i] < num_classes. For num_classes == 2 there is one SVM only, whose positive class
/// is 1. `starts` is empty or has one start per SVM.
std::vector<SvmSolution> solve_one_vs_rest(std::span<const float> K,
                                           std::span<const std::uint32_t> class_of,
                                           std::uint32_t num_classes, const SvmOptions& options,
                                           Executor& executor, RunControl& control,
                                           std::span<const SvmSolution> starts = {});

}  // namespace margrove
