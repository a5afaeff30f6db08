#pragma once
// What a run of a method decides before it trains, and what comes out of training.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fit_state.hpp"
#include "base/memory_estimate.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/model.hpp"
#include "model/predictor.hpp"

namespace margrove {

struct TrainResult {
  std::unique_ptr<Predictor> predictor;
  FitReport report;
  std::shared_ptr<const FitState> state;  // if the training set asked for it
};

/// A run that is ready to start: solver, node weights, leaves and rows are settled, and training
/// and the estimate of its memory follow from the same decisions. Refers to the training set's
/// arrays, which must outlive it.
struct Plan {
  /// Of training beyond the training set, the plan itself and the model included.
  MemoryEstimate memory;
  std::function<TrainResult(Executor&, RunControl&)> train;
};

/// A plan from what it has settled: train(settled, executor, control) carries it out.
template <class Settled, class Train>
Plan planned(MemoryEstimate memory, Settled settled, Train train) {
  auto kept = std::make_shared<const Settled>(std::move(settled));
  return {std::move(memory), [kept, train](Executor& executor, RunControl& control) {
            return train(*kept, executor, control);
          }};
}

}  // namespace margrove
