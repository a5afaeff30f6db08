#pragma once
// Progress reports, time limits and interruption of long work, through one callback and without
// global state.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

/// Why a solver returned, the less severe reasons first.
enum class Stop {
  converged,    // the relative gap is at most the tolerance
  epochs_done,  // a solver without a gap (stochastic subgradients) made all its passes
  settled,      // the same, but its last passes lowered the objective hardly any more
  stalled,      // no step lowers the objective any longer, but no gap proves the optimum
  pass_limit,
  diverged,  // the objective is not a finite number; a method then throws, as there is no model
  time_limit,
  interrupted,
};
template <>
inline constexpr auto kEnumNames<Stop> = std::array{
    EnumName{Stop::converged, "converged"},   EnumName{Stop::epochs_done, "epochs_done"},
    EnumName{Stop::settled, "settled"},       EnumName{Stop::stalled, "stalled"},
    EnumName{Stop::pass_limit, "pass_limit"}, EnumName{Stop::diverged, "diverged"},
    EnumName{Stop::time_limit, "time_limit"}, EnumName{Stop::interrupted, "interrupted"}};
std::string_view to_string(Stop stop);

/// A report of long work while it runs. NaN stands for "not known".
struct Progress {
  /// What a report counts. Those in passes and rounds are of the iterations of a training, and with
  /// their objectives they make the convergence curve of its model.
  enum class Unit { passes, rounds, labels, rows, steps, widths, runs, trials, bytes };

  std::string_view stage;  // "flat-svm", "reading", ...
  std::int64_t done = 0;   // in `unit`
  std::int64_t total = 0;  // in `unit`; 0: not known
  Unit unit = Unit::passes;
  double objective = std::numeric_limits<double>::quiet_NaN();
  double relative_gap = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;  // since the control was made; filled in by RunControl
};
template <>
inline constexpr auto kEnumNames<Progress::Unit> =
    std::array{EnumName{Progress::Unit::passes, "passes"},
               EnumName{Progress::Unit::rounds, "rounds"},
               EnumName{Progress::Unit::labels, "labels"},
               EnumName{Progress::Unit::rows, "rows"},
               EnumName{Progress::Unit::steps, "steps"},
               EnumName{Progress::Unit::widths, "widths"},
               EnumName{Progress::Unit::runs, "runs"},
               EnumName{Progress::Unit::trials, "trials"},
               EnumName{Progress::Unit::bytes, "bytes of answers"}};

/// Returns false to ask for an early end.
using ProgressCallback = std::function<bool(const Progress&)>;

/// Passed to everything that may take long. Thread-safe.
class RunControl {
 public:
  /// Seconds since a fixed point of time, never less than before.
  using Clock = double (*)();
  /// What the seconds are.
  enum class Time {
    wall,
    cpu,  // of the processor, of all threads together
  };

  /// Without reports and without a time limit.
  RunControl() = default;
  /// The time starts here. An infinite time limit means none. By the clock of Time::cpu a
  /// limit comes after the same work on a busy machine as on an idle one; a clock that advances by
  /// calls makes it the same on every machine, for tests.
  explicit RunControl(ProgressCallback callback,
                      double time_limit_seconds = std::numeric_limits<double>::infinity(),
                      Clock clock = &system_seconds);

  /// For work inside other work: ends when `parent` does or at its own time limit, and reports to
  /// its own callback, by the clock of `parent`, which must outlive it.
  RunControl(RunControl& parent, ProgressCallback callback,
             double time_limit_seconds = std::numeric_limits<double>::infinity());

  /// Reports to the callback. Returns false if the work must end, and from then on always. Calls of
  /// the callback are serialised.
  bool proceed(Progress progress);
  /// proceed() without a report, which is cheap enough for every few thousand steps.
  bool proceed();
  /// Makes proceed() return false from now on. May be called from any thread or signal handler.
  void interrupt() { stop_.store(Stop::interrupted, std::memory_order_relaxed); }
  /// Why proceed() returned false: interrupted or time_limit; `converged` if it has not.
  Stop stop_reason() const;
  /// Lets what must be held before it is understood, such as a line of a file, have an eighth of
  /// `bytes` at most. 0, as at first: an eighth of what the system can give.
  void limit_memory(double bytes) { memory_limit_ = bytes; }
  /// That limit, or the one of the nearest parent that has one.
  double memory_limit() const {
    return memory_limit_ > 0 || parent_ == nullptr ? memory_limit_ : parent_->memory_limit();
  }
  /// Keeps a sentence on what a limit left undone, for the warnings of the training that has this
  /// control.
  void note(std::string sentence);
  std::vector<std::string> notes() const;
  static Clock clock_of(Time time) { return time == Time::cpu ? &cpu_seconds : &system_seconds; }
  bool counts_cpu_seconds() const { return clock_ == &cpu_seconds; }
  double seconds() const;
  /// Seconds until the time limit of this control or of a parent, whichever is first: infinity if
  /// there is none, 0 if it has passed.
  double seconds_left() const;

 private:
  static double system_seconds();
  static double cpu_seconds();
  bool check_clock();

  Clock clock_ = &system_seconds;
  RunControl* parent_ = nullptr;
  ProgressCallback callback_;
  double time_limit_seconds_ = std::numeric_limits<double>::infinity();
  double memory_limit_ = 0;
  double start_ = clock_();
  std::atomic<Stop> stop_ = Stop::converged;
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
};

template <>
inline constexpr auto kEnumNames<RunControl::Time> =
    std::array{EnumName{RunControl::Time::wall, "wall"}, EnumName{RunControl::Time::cpu, "cpu"}};

}  // namespace margrove
