#pragma once
// Rows set apart from those a model is trained on.

#include <cstdint>
#include <functional>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/dataset.hpp"

namespace margrove {

/// Rows to train on and rows to measure on, both ascending.
struct Split {
  std::vector<std::uint32_t> training, validation;
};
/// Every row is validated once. Stratified by the row's first label: the rows of each label are
/// shuffled and dealt out one fold after the other, so that the numbers of rows a label has in two
/// folds differ by at most one. Deterministic from the seed. Throws InvalidOption unless 2 <=
/// num_folds <= rows.
std::vector<Split> stratified_folds(const LabelSets& labels, int num_folds, std::uint64_t seed);
/// Calls visit(split, share) for each of num_folds stratified folds, or for one per row if there
/// are fewer rows, of which there must be two. `share` ends with `control` or after an even share
/// of the time left; one more share is for the training on all rows that follows.
void cross_validate(const LabelSets& labels, int num_folds, std::uint64_t seed, RunControl& control,
                    const std::function<void(const Split& split, RunControl& share)>& visit);
/// About `fraction` of every label's rows; a label with one row stays in training. Throws
/// InvalidOption unless 0 < fraction < 1, and InvalidInput if nothing would be held out.
Split stratified_hold_out(const LabelSets& labels, double fraction, std::uint64_t seed);

}  // namespace margrove
