#pragma once
// The plan of a training run, and the result of training.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fit_state.hpp"
#include "base/memory_estimate.hpp"
#include "linear/label_problems.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/results.hpp"
#include "model/predictor.hpp"

namespace margrove {

struct TrainResult {
  std::unique_ptr<Predictor> predictor;
  FitReport report;
  std::shared_ptr<const FitState> state;  // if the training set's continuation asks to keep it
  std::vector<std::pair<std::string, std::string>> settled_options;  // beside those of the plan
};

/// A training run before it starts. Solver, node weights, leaves and rows are decided, so that the
/// training and the estimate of its memory follow from the same decisions. Refers to the training
/// set's arrays, which must outlive it.
struct Plan {
  /// The memory of training beside the training set, including the plan and the model.
  MemoryEstimate memory;
  std::function<TrainResult(Executor&, RunControl&)> train;
  /// Where training consists of independent one-vs-rest problems: these problems, and what remains
  /// to be done with their results, which gives the same bits as train(). Otherwise both are empty.
  std::function<LabelProblems()> problems;
  std::function<TrainResult(const LabelFitSource&, Executor&, RunControl&)> finish;
  /// Options whose values the training set decides, such as C = auto, with these values.
  std::vector<std::pair<std::string, std::string>> settled_options;
  /// Whether train() uses the checkpoint of the training set's continuation.
  bool keeps_checkpoints = false;
};

/// A plan of the given decisions: train(settled, executor, control) carries it out.
template <class Settled, class Train>
Plan planned(MemoryEstimate memory, Settled settled, Train train) {
  auto kept = std::make_shared<const Settled>(std::move(settled));
  // Member by member: where the second one of a braced list throws, g++ 12 destroys the first
  // twice.
  Plan plan;
  plan.memory = std::move(memory);
  plan.train = [kept, train](Executor& executor, RunControl& control) {
    return train(*kept, executor, control);
  };
  return plan;
}

/// The same for a training that consists of independent problems: problems(settled) lists them, and
/// train(settled, source, executor, control) solves them where the source is empty.
template <class Settled, class Train, class Problems>
Plan planned(MemoryEstimate memory, Settled settled, Train train, Problems problems) {
  auto kept = std::make_shared<const Settled>(std::move(settled));
  Plan plan;
  plan.memory = std::move(memory);
  plan.train = [kept, train](Executor& executor, RunControl& control) {
    return train(*kept, LabelFitSource(), executor, control);
  };
  plan.problems = [kept, problems] { return problems(*kept); };
  plan.finish = [kept, train](const LabelFitSource& source, Executor& executor,
                              RunControl& control) {
    return train(*kept, source, executor, control);
  };
  return plan;
}

}  // namespace margrove
