#pragma once
// Progress and Ctrl-C.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <string>
#include <utility>

#include "margrove/control.hpp"
#include "methods/training.hpp"

namespace margrove::python {

/// Reports to a Python callable and runs pending signal handlers. The first exception stops the
/// work and is kept for rethrow(). With false_ends, the answer False stops it without an error.
class Reporter {
 public:
  explicit Reporter(nanobind::object callback, bool false_ends = false)
      : callback_(std::move(callback)), false_ends_(false_ends) {}

  bool operator()(const Progress& p) {
    using namespace nanobind::literals;
    const nanobind::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      if (!callback_.is_none()) {
        const nanobind::object answer =
            callback_("stage"_a = std::string(p.stage), "done"_a = p.done, "total"_a = p.total,
                      "unit"_a = std::string(name_of(p.unit)), "objective"_a = p.objective,
                      "relative_gap"_a = p.relative_gap, "seconds"_a = p.seconds);
        if (false_ends_ && answer.ptr() == Py_False) return false;
      }
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
    return true;
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  /// What `work` returns. Where the callback's error ended it too early for that, it is thrown.
  template <class Work>
  auto train(const Work& work) const {
    try {
      return work();
    } catch (const OutOfTimeLimit&) {
      rethrow();
      throw;
    }
  }

 private:
  nanobind::object callback_;
  bool false_ends_;
  std::exception_ptr error_;
};

}  // namespace margrove::python
