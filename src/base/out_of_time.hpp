#pragma once
// How work that returns no stop reason, such as one search of an oracle, ends at the time limit.

#include <exception>
#include <string_view>

#include "margrove/control.hpp"
#include "margrove/errors.hpp"

namespace margrove {

/// The time limit ended the work before there was anything to give back.
class OutOfTimeLimit : public Error {
 public:
  using Error::Error;
};

/// Thrown out of a search when the time limit has passed or the run is interrupted. Solvers catch
/// it and return the weights that they had before.
class OutOfTime : public std::exception {
 public:
  const char* what() const noexcept override { return "the time is up"; }
};

inline bool is_cut_short(Stop stop) {
  return stop == Stop::time_limit || stop == Stop::interrupted;
}

inline void end_if_out_of_time(RunControl* control) {
  if (control != nullptr && !control->proceed()) throw OutOfTime{};
}

/// For work whose result is of use only with what follows it. At a time limit, which leaves a share
/// of the time to what follows, the work so far does.
inline void end_if_interrupted(const RunControl& control) {
  if (control.stop_reason() == Stop::interrupted) throw OutOfTime{};
}

/// What work() returns. Its end by the control becomes OutOfTimeLimit; the message begins with
/// `source` and says that `what` was ended.
template <class Work>
auto done_in_time(std::string_view source, std::string_view what, const RunControl* control,
                  const Work& work) {
  try {
    return work();
  } catch (const OutOfTime&) {
    const bool is_interrupted = control->stop_reason() == Stop::interrupted;
    throw OutOfTimeLimit(concat(source, ": ", is_interrupted ? "an interruption" : "the time limit",
                                " ended ", what, "; nothing is trained"));
  }
}

/// Passes the control to workspaces that have a member for it, because their oracles may take long.
template <class Workspaces>
void watch(Workspaces& workspaces, RunControl& control) {
  for (auto& workspace : workspaces) {
    if constexpr (requires { workspace.control = &control; }) workspace.control = &control;
  }
}

}  // namespace margrove
