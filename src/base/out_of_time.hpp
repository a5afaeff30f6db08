#pragma once
// How work without reports of its own, such as one search of an oracle, ends at the time limit.

#include <exception>

#include "margrove/control.hpp"

namespace margrove {

/// Thrown out of a search whose answer nobody can wait for. Solvers catch it and return what they
/// had before.
class OutOfTime : public std::exception {
 public:
  const char* what() const noexcept override { return "the time is up"; }
};

inline void end_if_out_of_time(RunControl* control) {
  if (control != nullptr && !control->proceed()) throw OutOfTime{};
}

/// Hands the control to workspaces that have a place for one: their oracles take long.
template <class Workspaces>
void watch(Workspaces& workspaces, RunControl& control) {
  for (auto& workspace : workspaces) {
    if constexpr (requires { workspace.control = &control; }) workspace.control = &control;
  }
}

}  // namespace margrove
