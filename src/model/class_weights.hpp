#pragma once
// Weights of classes: factors of the weights of the rows with a label.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "margrove/dataset.hpp"

namespace margrove {

/// n / (k n_l) for each label l of `num_labels`, where n_l is the weight of its rows, k the number
/// of labels with n_l > 0 and n the sum of n_l: the rows of all k labels then weigh the same
/// together, and all rows n. 1 for labels without rows. Throws as weigh_by_class(). O(rows).
std::vector<double> balanced_class_weights(const LabelSets& labels, std::size_t num_labels,
                                           std::span<const double> row_weights,
                                           const std::string& source);

/// The weight of each row (row_weights; empty: all 1) times that of its label; rows without a label
/// keep theirs. Throws InvalidInput for another number of row weights than rows, for a class weight
/// that is not a number >= 0, and naming `source` for a row with several labels, because one weight
/// cannot stand for several classes. O(rows).
std::vector<double> weigh_by_class(const LabelSets& labels, std::span<const double> class_weights,
                                   std::span<const double> row_weights, const std::string& source);

}  // namespace margrove
