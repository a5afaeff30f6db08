#include "model/splits.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "base/time_share.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr LabelId kUnlabelled = ~LabelId{0};

/// The rows of each first label, shuffled; rows without labels are a group of their own.
std::vector<std::vector<std::uint32_t>> shuffled_strata(const LabelSets& labels,
                                                        std::uint64_t seed) {
  std::map<LabelId, std::vector<std::uint32_t>> groups;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    const auto set = labels[i];
    groups[set.empty() ? kUnlabelled : set.front()].push_back(static_cast<std::uint32_t>(i));
  }
  Random random(seed);
  std::vector<std::vector<std::uint32_t>> strata;
  for (auto& [label, rows] : groups) {
    random.shuffle(std::span(rows));
    strata.push_back(std::move(rows));
  }
  return strata;
}

/// The split whose validation rows are those with in_validation[row].
Split split_by(const std::vector<bool>& in_validation) {
  Split split;
  for (std::uint32_t i = 0; i < in_validation.size(); ++i) {
    (in_validation[i] ? split.validation : split.training).push_back(i);
  }
  return split;
}

void note_unfinished(std::size_t num_folds, std::size_t whole, std::string_view result,
                     RunControl& control) {
  if (whole == num_folds) return;
  const std::string which =
      whole == 0 ? concat("all ", num_folds) : concat(num_folds - whole, " of ", num_folds);
  control.note(concat("the time limit ended ", which, " folds of the cross-validation early or ",
                      "left them out, so that ", result, " may be far from the best"));
}

}  // namespace

std::vector<Split> stratified_folds(const LabelSets& labels, int num_folds, std::uint64_t seed) {
  const std::size_t rows = labels.num_rows();
  require<InvalidOption>(rows >= 2, "option folds is ", num_folds, ", but there is only ", rows,
                         " row to divide, and must be two");
  require<InvalidOption>(num_folds >= 2 && static_cast<std::size_t>(num_folds) <= rows,
                         "option folds is ", num_folds, ", but must be in [2, ", rows,
                         "], the number of rows");
  std::vector<int> fold_of_row(rows);
  int next = 0;
  for (const auto& stratum : shuffled_strata(labels, seed)) {
    for (const std::uint32_t i : stratum) {
      fold_of_row[i] = next;
      next = (next + 1) % num_folds;
    }
  }
  std::vector<Split> folds;
  for (int fold = 0; fold < num_folds; ++fold) {
    std::vector<bool> in_validation(rows);
    for (std::size_t i = 0; i < rows; ++i) in_validation[i] = fold_of_row[i] == fold;
    folds.push_back(split_by(in_validation));
  }
  return folds;
}

std::vector<Split> validation_folds(const LabelSets& labels, int num_folds, std::uint64_t seed) {
  const std::size_t folds = std::min(static_cast<std::size_t>(num_folds), labels.num_rows());
  return stratified_folds(labels, static_cast<int>(folds), seed);
}

void cross_validate(const LabelSets& labels, int num_folds, std::uint64_t seed,
                    std::string_view result, RunControl& control,
                    const std::function<void(const Split& split, RunControl& share)>& visit) {
  const std::vector<Split> folds = validation_folds(labels, num_folds, seed);
  std::size_t trainings_left = folds.size() + 1;
  std::size_t whole = 0;
  double longest_overrun = 0;  // of a fold beyond its share; that of the last training is like it
  for (const Split& split : folds) {
    const bool is_first = trainings_left == folds.size() + 1;
    const bool is_late = !control.proceed() || control.seconds_left() < 2 * longest_overrun;
    if (!is_first && is_late) break;
    const double seconds = control.seconds_left() / static_cast<double>(trainings_left--);
    RunControl share = time_share(control, seconds);
    visit(split, share);
    end_if_interrupted(control);
    const bool has_ended = share.stop_reason() != Stop::converged ||
                           control.stop_reason() != Stop::converged || !share.notes().empty();
    if (!has_ended) ++whole;
    longest_overrun = std::max(longest_overrun, share.seconds() - seconds);
  }
  note_unfinished(folds.size(), whole, result, control);
}

void note_end(Stop stop, RunControl& share) {
  if (stop == Stop::time_limit) share.note("the time limit ended the training of a fold");
}

Split stratified_hold_out(const LabelSets& labels, double fraction, std::uint64_t seed) {
  require<InvalidOption>(fraction > 0 && fraction < 1, "option holdout is ", fraction,
                         ", but must be between 0 and 1");
  std::vector<bool> in_validation(labels.num_rows(), false);
  bool any = false;
  for (const auto& stratum : shuffled_strata(labels, seed)) {
    const auto size = static_cast<std::size_t>(
        std::min(std::round(fraction * static_cast<double>(stratum.size())),
                 static_cast<double>(stratum.size()) - 1));
    for (std::size_t k = 0; k < size; ++k) in_validation[stratum[k]] = any = true;
  }
  require(any, "hold-out: no label has enough rows to hold out a share of ", fraction,
          "; use folds instead");
  return split_by(in_validation);
}

}  // namespace margrove
