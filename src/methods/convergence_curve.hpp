#pragma once
// The convergence of a training, from its progress reports.

#include <optional>
#include <utility>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/results.hpp"

namespace margrove {

/// Passes reports on and keeps the objective and the dual of each pass. Where a training has
/// earlier ones inside, as of folds, only the last one is kept. Of long ones every 2nd, 4th, ...
/// pass is kept.
class ConvergenceCurve {
 public:
  static constexpr std::size_t kMaxPoints = 400;

  /// `control` must outlive it.
  explicit ConvergenceCurve(RunControl& control)
      : recording_(control, [this, &control](const Progress& progress) {
          add(progress);
          return control.proceed(progress);
        }) {}

  /// For the training.
  RunControl& control() { return recording_; }
  /// The points of the last training, the last pass included.
  std::vector<FitReport::Point> points() const;

 private:
  void add(const Progress& progress);

  std::vector<FitReport::Point> kept_;
  std::optional<FitReport::Point> last_;
  int stride_ = 1;
  std::int64_t num_seen_ = 0;
  RunControl recording_;
};

}  // namespace margrove
