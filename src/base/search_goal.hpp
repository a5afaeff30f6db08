#pragma once
// How near to a maximum a search must come.

#include <algorithm>
#include <limits>

namespace margrove {

/// A search that found an answer worth v and knows that none is worth more than u may end once
/// u - v <= max(slack, share * (v - floor)). With slack and share 0 the answer is a best one.
struct SearchGoal {
  double slack = 0.0;
  double share = 0.0;                                       // in [0, 1)
  double floor = -std::numeric_limits<double>::infinity();  // what is at hand; used with share only
  bool in_haste = false;  // end anyway where it gets expensive; u - v is then what it is
  double patience = 1;    // times the usual work, after which a search may end short of the goal

  static SearchGoal haste() {
    return {.slack = std::numeric_limits<double>::infinity(), .in_haste = true};
  }
  /// Only a best answer will do.
  bool is_exact() const { return !(slack > 0 || share > 0 || in_haste); }
  double allowance(double value) const {
    return share > 0 ? std::max(slack, share * (value - floor)) : slack;
  }
};

}  // namespace margrove
