#pragma once
// Kernel ridge regression for more rows than a kernel matrix of all pairs can have (Nystroem's
// method, [Williams2001]): its functions are sums over m landmarks z, some of the rows.
//
// With K the mean of the kernels, c_l the mean of K(z_l, .) over the n rows, C_il = K(z_l, x_i) -
// c_l, and y a 0/1 target with mean y_m,
//   f(x) = y_m + sum_l b_l (K(z_l, x) - c_l),
//   b = argmin ||y - y_m - C b||^2 / 2 + lambda b^T (K_zz + jitter I) b / 2,
// the solution of (C^T C + lambda (K_zz + jitter I)) b = C^T y. With all rows as landmarks and
// without jitter, these are the functions of fit_ridge().

#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "kernel/kernel_function.hpp"
#include "kernel/kernel_ridge.hpp"

namespace margrove {

struct LandmarkRidgeFit {
  KernelRidgeFit fit;                // coefficients b: [column * landmarks + l]; no left-out scores
  std::vector<double> column_means;  // c, one of each landmark
  RidgeGap gap;                      // of all columns
};

/// One fit for each column of the targets, with the strengths given. The same bits for any
/// executor. Throws InvalidInput if rounding leaves a system indefinite, and OutOfTime.
/// O(n m^2 + m^3 distinct strengths + m^2 columns).
LandmarkRidgeFit fit_landmark_ridge(std::span<const FittedKernel> kernels, const CsrView& X,
                                    const CsrMatrix& landmarks, const RidgeTargets& targets,
                                    std::span<const double> strengths, Executor& executor,
                                    RunControl& control);
/// What fit_landmark_ridge() takes beside its arguments, and the fit.
MemoryEstimate landmark_ridge_memory(std::size_t num_kernels, const CsrView& X,
                                     std::size_t num_landmarks, std::size_t num_columns,
                                     int num_threads);

}  // namespace margrove
