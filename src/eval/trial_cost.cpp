#include "eval/trial_cost.hpp"

#include <algorithm>
#include <cmath>

namespace margrove {

void TrialCost::add(TrialSize size, double seconds) {
  if (size.rows < size_.rows) return;
  seconds_ = size.rows == size_.rows ? std::max(seconds_, seconds) : seconds;
  size_ = size;
}

double TrialCost::expected(const CandidateRun& candidate, TrialSize size) const {
  if (!is_known()) return 0;
  const auto growth = [](std::size_t from, std::size_t to, double power) {
    const auto at_least_one = [](std::size_t n) {
      return static_cast<double>(std::max<std::size_t>(n, 1));
    };
    return std::pow(at_least_one(to) / at_least_one(from), power);
  };
  const auto below = [&](std::size_t rows) { return std::min(rows, candidate.rows_of_growth); };
  const auto above = [&](std::size_t rows) { return std::max(rows, candidate.rows_of_growth); };
  return seconds_ * growth(below(size_.rows), below(size.rows), candidate.growth_in_rows) *
         growth(above(size_.rows), above(size.rows), 1) *
         growth(size_.labels, size.labels, candidate.growth_in_labels);
}

}  // namespace margrove
