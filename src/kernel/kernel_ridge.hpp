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
/// the strengths that are left are not tried, and a fit without any is that of the mean.
KernelRidgeFit fit_ridge_path(const SymmetricMatrix& K, const RidgeTargets& targets,
                              std::span<const double> strengths, Executor& executor,
                              RunControl& control);
/// Coefficients at given strengths, one for each column, without left-out scores. Throws as
/// fit_ridge_path(). O(n^3) for each distinct strength and O(n^2 columns). Where `control` ends it
/// early, the columns that are left have kMeanOnly, or it throws OutOfTime.
KernelRidgeFit fit_ridge(const SymmetricMatrix& K, const RidgeTargets& targets,
                         std::span<const double> strengths, Executor& executor,
                         RunControl& control);

/// Predicts each column from the scores of all columns (curds and whey, [Breiman1997]): a row's
/// scores less their means, s, become W^T s, where W minimises
/// sum_i ||y_i - m - W^T s_i||^2 + strength ||W - I||^2 over the left-out scores s_i.
/// O(rows columns^2 + columns^3). The same bits for any executor. Both steps throw OutOfTime and
/// then change nothing.
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

/// The left-out scores of all pairs of a row and a column.
ScoreThresholds left_out_thresholds(const KernelRidgeFit& fit, const RidgeTargets& targets);

/// K becomes the mean of itself and the others, which are of its size.
void average_with(SymmetricMatrix& K, std::span<const SymmetricMatrix* const> others);

}  // namespace margrove
