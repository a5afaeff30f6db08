#pragma once
// The loss weight C.

#include "margrove/point_loss_kind.hpp"
#include "model/training_set.hpp"

namespace margrove {

/// C, which must be a number, or 1 / (2 lambda) if there is lambda and it is given.
template <class Options>
double loss_weight(const Options& options) {
  if constexpr (requires { options.lambda; }) {
    if (options.lambda > 0) return 1 / (2 * options.lambda);
  }
  if constexpr (requires { options.C.has_value(); }) {
    return options.C.value();
  } else {
    return options.C;
  }
}

/// The numbers k of a method.
struct LossWeightRule {
  double of_scaled_columns;
  double of_other_rows;
  /// Of other rows with one label each: where a label has fewer rows than this on average, k is
  /// larger by the factor that is missing, as if it had at least ten. 0: k stays.
  double enough_rows_per_label = 0;
};
/// Rows such as texts share few columns with each other: each has a score nearly of its own, and
/// C |x|^2 must be about 1 lest it is learned by heart. Many rows share a few scaled columns.
/// Logistic loss is small only where margins are large, and needs larger weights than hinge loss,
/// which is 0 beyond a margin of 1. Where labels are rare, the few rows of one must outweigh all
/// others by logistic losses, which many far rows have, too.
inline constexpr LossWeightRule kHingeWeight{30, 1};
inline constexpr LossWeightRule kSquaredHingeWeight{10, 1};
inline constexpr LossWeightRule kLogisticWeight{100, 10, 200};
/// Of methods whose scores are sums along paths, or whose losses compare labels.
inline constexpr LossWeightRule kPathHingeWeight{10, 1};
/// Of hsvm, where a node has as much of a score as the leaf: texts take more.
inline constexpr LossWeightRule kEqualNodesWeight{10, 3};
/// Where path sums are 1, siblings differ by a part of them only, so that their weights are held
/// back more than those of a flat machine.
inline constexpr LossWeightRule kNormalizedPathWeight{10, 2};
/// Rare labels share rows with those beside them, and training takes long where C is large.
inline constexpr LossWeightRule kPathLogisticWeight{30, 10, 100};
/// Of one loss for each row, not for each row and label.
inline constexpr LossWeightRule kSoftmaxWeight{10, 10, 200};

inline LossWeightRule weight_of_hinge(PointLossKind loss) {
  return loss == PointLossKind::hinge ? kHingeWeight : kSquaredHingeWeight;
}

/// The number to three digits, so that what is 10 but for rounding is 10. It must be > 0.
double to_three_digits(double number);

/// k / (mean of |x_i|^2), to three digits, where rows and the rows of labels count by their
/// weights; with scaled columns k / (number of columns), the same if each has a deviation of 1. At
/// least 1 where columns are not scaled, because the longest ones may hide the others. Kernel
/// features have the k of scaled columns. O(nonzeros + labels).
double automatic_loss_weight(const TrainingSet& data, LossWeightRule rule);

}  // namespace margrove
