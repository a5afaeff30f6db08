#pragma once
// How long work may go on after its control has ended it.

#include <atomic>
#include <limits>

#include "margrove/control.hpp"

namespace margrove {

/// For what closes a run, such as its certificate: goes on for a moment after the control has ended
/// it, so that a short run under a time limit still has a gap.
class ClosingTime {
 public:
  static constexpr double kSeconds = 0.05;

  explicit ClosingTime(RunControl& control) : control_(control) {}
  /// False once the control has said no for kSeconds; its first no that counts is the one to this
  /// object. Thread-safe.
  bool proceed() {
    if (control_.proceed()) return true;
    const double now = control_.seconds();
    double ended = std::numeric_limits<double>::infinity();
    if (ended_.compare_exchange_strong(ended, now)) return true;
    return now - ended < kSeconds;
  }

 private:
  RunControl& control_;
  std::atomic<double> ended_ = std::numeric_limits<double>::infinity();
};

}  // namespace margrove
