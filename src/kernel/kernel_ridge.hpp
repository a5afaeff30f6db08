#pragma once
// Kernel ridge regression of many 0/1 targets at once, each with a strength of its own.
//
// For a target y with mean m, the centred kernel matrix K of n rows and M = (K + lambda I)^-1,
//   alpha = M (y - m),   f = m + K alpha,
// and the score of row i in a fit without it is, in closed form,
//   y_i - lambda alpha_i / (lambda M_ii - 1/n).
// The mean acts as an intercept that is not regularised. Matrices are float32, as K is.

#include <limits>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "kernel/gram.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "numerics/score_thresholds.hpp"

namespace margrove {

/// Row i has target 1 in the columns ones[i].
struct RidgeTargets {
  LabelSets ones;
  std::uint32_t num_columns = 0;
  /// The rows of each column; ascending.
  std::vector<std::vector<std::uint32_t>> rows_of_columns() const;
};

/// The strength of a fit whose scores are the mean.
inline constexpr double kMeanOnly = std::numeric_limits<double>::infinity();

struct KernelRidgeFit {
  std::vector<double> strengths;    // of each column
  std::vector<double> means;        // of each column
  std::vector<float> coefficients;  // alpha: [column * rows + i]; sums to 0 in each column
  std::vector<float> left_out;      // scores by fits without the row; the same layout
};

/// The fit whose scores are the means; without left-out scores.
KernelRidgeFit mean_fit(const RidgeTargets& targets);
/// One fit for each column, with the strength whose left-out scores have the smallest square error.
/// K must be centred. Throws InvalidInput if K + strength I is not positive definite in float32.
/// O((n^3 + n^2 columns) strengths). The same bits for any executor. `control` may end it early:
/// each column then has the best one of the strengths that it was solved with, at least the mean.
KernelRidgeFit fit_ridge_path(const SymmetricMatrix& K, const RidgeTargets& targets,
                              std::span<const double> strengths, Executor& executor,
                              RunControl& control);
/// Coefficients at given strengths, one for each column, without left-out scores. Throws as
/// fit_ridge_path(), and OutOfTime. O(n^3) for each distinct strength and O(n^2 columns).
KernelRidgeFit fit_ridge(const SymmetricMatrix& K, const RidgeTargets& targets,
                         std::span<const double> strengths, Executor& executor,
                         RunControl& control);

/// Objectives of the regressions, summed over the columns. With the centred targets y of a column
/// and its strength lambda,
///   primal  min  ||y - K a||^2 / 2 + lambda a^T K a / 2
///   dual    max  lambda a^T y - lambda a^T (K + lambda I) a / 2,
/// and at any a they differ by half the squared residual ||y - (K + lambda I) a||^2 of the system.
struct RidgeGap {
  double primal = 0;
  double dual = 0;
  double relative() const { return primal == dual ? 0.0 : (primal - dual) / primal; }
};
/// The coefficients must be those of fit_ridge() or fit_ridge_path(), before they are combined.
/// Throws OutOfTime. O(n^2 columns).
RidgeGap ridge_gap(const SymmetricMatrix& K, const RidgeTargets& targets, const KernelRidgeFit& fit,
                   Executor& executor, RunControl& control);

/// Predicts each column from the scores of all columns (curds and whey, [Breiman1997]): a row's
/// scores less their means, s, become W^T s, where W minimises
/// sum_i ||y_i - m - W^T s_i||^2 + strength ||W - I||^2 over the left-out scores s_i.
/// Both functions throw OutOfTime. O(rows columns^2 + columns^3).
class ColumnCombination {
 public:
  ColumnCombination(const KernelRidgeFit& fit, const RidgeTargets& targets, double strength,
                    Executor& executor, RunControl& control);
  /// Changes the coefficients of a fit of these columns on any rows.
  void apply(KernelRidgeFit& fit, Executor& executor, RunControl& control) const;

 private:
  std::size_t num_columns_;
  std::vector<float> W_;  // column-major
};

/// The left-out scores of all pairs of a row and a column. Throws OutOfTime.
ScoreThresholds left_out_thresholds(const KernelRidgeFit& fit, const RidgeTargets& targets,
                                    RunControl& control);

/// K becomes the mean of itself and the others, which are of its size.
void average_with(SymmetricMatrix& K, std::span<const SymmetricMatrix* const> others);

}  // namespace margrove
