#pragma once
// What the trials of an automatic choice are expected to take.

#include <cstddef>

#include "eval/candidates.hpp"

namespace margrove {

/// The training rows of a split, and their labels.
struct TrialSize {
  std::size_t rows = 0, labels = 0;
};

/// The time of a candidate on one split, from its trials on fewer rows.
class TrialCost {
 public:
  /// A trial took `seconds` on each split. Of trials of the same size the slowest one counts, of
  /// those of other sizes the largest one.
  void add(TrialSize size, double seconds);
  /// Whether there was a trial.
  bool is_known() const { return size_.rows > 0; }
  /// By the growth that the candidate names; 0 if not known.
  double expected(const CandidateRun& candidate, TrialSize size) const;

 private:
  TrialSize size_;
  double seconds_ = 0;
};

}  // namespace margrove
