#pragma once
// Splits of rows into training and validation rows.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/dataset.hpp"

namespace margrove {

/// Training and validation rows, both ascending.
struct Split {
  std::vector<std::uint32_t> training, validation;
};
/// Folds of a cross-validation, in which every row is validated once. They are stratified by the
/// row's first label: the rows of each label are shuffled and distributed over the folds in turn,
/// so that its numbers of rows in two folds differ by at most one. Determined by the seed. Throws
/// InvalidOption unless 2 <= num_folds <= rows.
std::vector<Split> stratified_folds(const LabelSets& labels, int num_folds, std::uint64_t seed);
/// The same with one fold per row if there are fewer rows than num_folds. There must be two rows.
std::vector<Split> validation_folds(const LabelSets& labels, int num_folds, std::uint64_t seed);
/// Calls visit(split, share) for each of the validation_folds(). `share` ends with `control` or
/// after an even share of the time left, of which the training on all rows that follows gets one
/// too. Folds that would begin after the time limit are left out, but for the first one. Where the
/// limit ended folds early or left them out, `control` gets a note of their number that names
/// `result`, what the folds are for. Throws OutOfTime if `control` is interrupted, because nothing
/// is trained then.
void cross_validate(const LabelSets& labels, int num_folds, std::uint64_t seed,
                    std::string_view result, RunControl& control,
                    const std::function<void(const Split& split, RunControl& share)>& visit);
/// For visit(): tells cross_validate() how the training of the fold ended, where parts of it have
/// shares of `share`, which then does not know.
void note_end(Stop stop, RunControl& share);
/// About `fraction` of every label's rows; a label with one row stays in training. Throws
/// InvalidOption unless 0 < fraction < 1, and InvalidInput if nothing would be held out.
Split stratified_hold_out(const LabelSets& labels, double fraction, std::uint64_t seed);

}  // namespace margrove
