#pragma once
// How accurate a search for a maximum must be.

#include <algorithm>
#include <limits>

#include "margrove/control.hpp"

namespace margrove {

enum class Accuracy {
  heuristic,    // a good answer; the search ends where it gets expensive, whatever its bound
  approximate,  // an answer with a fair share of the possible gain, or as `exact`
  exact,        // an answer that is proven to be within a gap of the best one
};

/// A search that found an answer worth v and knows that none is worth more than u may end once
/// u - v <= allowed_gap(v). With the default goal the answer is a best one.
struct SearchGoal {
  Accuracy accuracy = Accuracy::exact;
  double gap = 0.0;  // not for heuristic searches
  // Approximate searches may also end once u - v is at most this share, in [0, 1), of v - floor,
  // the gain over what is known already.
  double gain_share = 0.0;
  double floor = -std::numeric_limits<double>::infinity();
  // Factor of the number of branches after which a search may end without having met the goal.
  double branch_limit_factor = 1.0;
  // If it asks to end, a search returns the best answer so far.
  RunControl* control = nullptr;

  static SearchGoal heuristic() { return {.accuracy = Accuracy::heuristic}; }
  bool is_out_of_time() const { return control != nullptr && !control->proceed(); }
  bool is_heuristic() const { return accuracy == Accuracy::heuristic; }
  /// Whether only a best answer meets the goal.
  bool needs_best() const {
    return !is_heuristic() && !(gap > 0 || (accuracy == Accuracy::approximate && gain_share > 0));
  }
  double allowed_gap(double value) const {
    if (is_heuristic()) return std::numeric_limits<double>::infinity();
    if (accuracy == Accuracy::exact || !(gain_share > 0)) return gap;
    return std::max(gap, gain_share * (value - floor));
  }
};

}  // namespace margrove
