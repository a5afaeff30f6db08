#include "methods/convergence_curve.hpp"

#include <cmath>

namespace margrove {

void ConvergenceCurve::add(const Progress& progress) {
  // Reports in other units are those of trainings with parts of their own, such as labels.
  const bool is_pass =
      progress.unit == Progress::Unit::passes || progress.unit == Progress::Unit::rounds;
  if (!is_pass || !std::isfinite(progress.objective)) return;
  const auto pass = static_cast<int>(progress.done);
  if (last_ && pass <= last_->pass) {  // another training begins
    kept_.clear();
    stride_ = 1;
    num_seen_ = 0;
  }
  last_ =
      FitReport::Point{pass, progress.objective, progress.objective * (1 - progress.relative_gap)};
  if (num_seen_++ % stride_ != 0) return;
  if (kept_.size() == kMaxPoints) {
    for (std::size_t k = 0; 2 * k < kMaxPoints; ++k) kept_[k] = kept_[2 * k];
    kept_.resize(kMaxPoints / 2);
    stride_ *= 2;
  }
  kept_.push_back(*last_);
}

std::vector<FitReport::Point> ConvergenceCurve::points() const {
  std::vector<FitReport::Point> points = kept_;
  if (last_ && points.back().pass < last_->pass) points.push_back(*last_);
  return points;
}

}  // namespace margrove
