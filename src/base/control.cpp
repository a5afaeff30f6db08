#include "margrove/control.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace margrove {

std::string_view to_string(Stop stop) { return name_of(stop); }

double RunControl::system_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double RunControl::cpu_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

RunControl::RunControl(ProgressCallback callback, double time_limit_seconds, Clock clock)
    : clock_(clock), callback_(std::move(callback)), time_limit_seconds_(time_limit_seconds) {}

RunControl::RunControl(RunControl& parent, ProgressCallback callback, double time_limit_seconds)
    : clock_(parent.clock_),
      parent_(&parent),
      callback_(std::move(callback)),
      time_limit_seconds_(time_limit_seconds) {}

double RunControl::seconds() const { return clock_() - start_; }

double RunControl::seconds_left() const {
  const bool has_limit = time_limit_seconds_ < std::numeric_limits<double>::infinity();
  const double own =
      has_limit ? std::max(time_limit_seconds_ - seconds(), 0.0) : time_limit_seconds_;
  return parent_ == nullptr ? own : std::min(own, parent_->seconds_left());
}

void RunControl::note(std::string sentence) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(std::move(sentence));
}

std::vector<std::string> RunControl::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

Stop RunControl::stop_reason() const { return stop_.load(std::memory_order_relaxed); }

bool RunControl::check_clock() {
  if (stop_reason() != Stop::converged) return false;
  if (parent_ != nullptr && !parent_->check_clock()) {
    stop_.store(parent_->stop_reason(), std::memory_order_relaxed);
    return false;
  }
  // Solvers call this often; the clock is read only where there is a time limit.
  if (time_limit_seconds_ < std::numeric_limits<double>::infinity() &&
      seconds() >= time_limit_seconds_) {
    stop_.store(Stop::time_limit, std::memory_order_relaxed);
    return false;
  }
  return true;
}

bool RunControl::proceed() { return check_clock(); }

bool RunControl::proceed(Progress progress) {
  if (!check_clock()) return false;
  if (!callback_) return true;
  const std::lock_guard lock(mutex_);
  if (stop_reason() != Stop::converged) return false;
  progress.seconds = seconds();
  if (callback_(progress)) return true;
  // A callback that asks the parent says no when the parent's time is up, which is no interruption.
  const Stop of_parent = parent_ != nullptr ? parent_->stop_reason() : Stop::converged;
  stop_.store(of_parent != Stop::converged ? of_parent : Stop::interrupted,
              std::memory_order_relaxed);
  return false;
}

}  // namespace margrove
