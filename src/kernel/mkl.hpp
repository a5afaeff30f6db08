#pragma once
// Multiple kernel learning: classifiers and kernel weights are trained in alternation.
//
// Sum-product networks [SPN]: over the paths m of a network,
//   min_{beta >= 0, w, b}  sum_m ||w_m||^2 / (2 g_m(beta))
//                          + lambda sum_m sum_l sum_n beta^p / (N_m N_ml) + C sum_i hinge_i,
// one classifier for each class against the rest (one for two classes), with norms and losses
// summed over the classifiers. The problem is convex for p >= 1.
//
// l_p [Kloft2011], l_1 [Rakotomamonjy2008]: over single kernels, with d >= 0, ||d||_p <= 1,
//   min_{d, w, b}  sum_m ||w_m||^2 / (2 d_m) + C sum_i hinge_i.
//
// Both repeat [SPN, Algorithm 1]:
//
//   1    classifiers of K = sum_m weight_m K_m by their dual (Eq. 7; section 3.4)
//   2    ||w_m||^2 = weight_m^2 sum_c u_c'K_m u_c (Eq. 8 and 14)
//   3    weights for these norms, in closed form or by Newton in log beta (beta_step.hpp)
//
// We deviate as follows. Line 3 may be over-relaxed along log beta while that lowers the objective,
// because plain alternation is slow where a weight tends to zero. Paths of weight zero are deleted,
// but restored if the optimum needs them. The objective never rises by more than the rounding of K
// (1e-7 of it).
//
// For p >= 1 every alpha gives a lower bound: for any t in [0, 1],
//   D(t alpha) = t e'alpha - max_beta { t^2/2 sum_m g_m(beta) q_m - lambda sum_v c_v beta_v^p },
// q_m = sum_c u_c'K_m u_c. As g_m is concave and homogeneous, g_m(beta) <= sum_v beta_v
// dg_m(r)/dr_v for any r > 0, so that the maximum is at most a sum of one-dimensional ones.

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/network.hpp"
#include "kernel/path_kernels.hpp"
#include "kernel/svm_dual.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"

namespace margrove {

struct MklControl {
  SvmOptions svm;
  double gap_tolerance = 1e-3;  // relative duality gap, where there is one
  /// Relative change of the objective in a round, where there is no gap.
  double change_tolerance = 1e-5;
  int max_rounds = 500;
  double prune_tolerance = 1e-6;  // paths below this part of the total weight may be dropped
  bool over_relaxation = true;    // if false, plain alternation
};

struct MklFit {
  std::vector<double> weights;       // of the product nodes (SPN) or of the kernels
  std::vector<double> path_weights;  // count_m g_m: the combined kernel is their sum
  std::vector<SvmSolution> classifiers;
  double primal = 0;
  double dual = 0;          // NaN where some p < 1
  double relative_gap = 0;  // (primal - dual) / primal; NaN where some p < 1
  int rounds = 0;
  Stop stop = Stop::converged;
};

/// Labels of the rows, numbered from 0.
struct ClassLabels {
  std::span<const std::uint32_t> class_of;
  std::uint32_t num_classes = 2;
};

/// Learns beta of `network`, whose kernels' Gram matrices over the training rows are `kernels`, in
/// the network's order. p[v]: exponent of product node v. Throws InvalidInput for sizes that do not
/// fit. Memory: one n x n matrix, and one per worker for SVMs with shrinking.
MklFit fit_network(std::span<const SymmetricMatrix* const> kernels,
                   std::span<const NetworkPath> paths, std::span<const double> p, double lambda,
                   const ClassLabels& labels, const MklControl& control_options, Executor& executor,
                   RunControl& control);

/// l_p over the kernels, p >= 1.
MklFit fit_lp(std::span<const SymmetricMatrix* const> kernels, double p, const ClassLabels& labels,
              const MklControl& control_options, Executor& executor, RunControl& control);

/// The classifiers of the fixed kernel sum_k K_k / number of kernels.
MklFit fit_average(std::span<const SymmetricMatrix* const> kernels, const ClassLabels& labels,
                   const SvmOptions& options, Executor& executor, RunControl& control);

}  // namespace margrove
