#include "eval/held_out.hpp"

#include "eval/tuning.hpp"

namespace margrove {
namespace {

constexpr std::uint64_t kSplitSeed = 0;

}  // namespace

Calibration calibrate_held_out(const Method& method, MethodRun& run, const TrainingSet& data,
                               double fraction, Executor& executor, RunControl& control) {
  require(data.labels != nullptr, "calibration: ", data.source,
          " has no rows with labels, but must have");
  const Split split = stratified_hold_out(*data.labels, fraction, kSplitSeed);
  const CsrMatrix X = select_rows(data.X, split.training);
  const LabelSets labels = select_rows(*data.labels, split.training);
  std::vector<double> weights;
  if (!data.row_weights.empty()) {
    for (const std::uint32_t i : split.training) weights.push_back(data.row_weights[i]);
  }
  TrainingSet part = data;
  part.X = X;
  part.labels = &labels;
  part.row_weights = weights;
  part.continuation = {};  // an earlier run has seen the rows that are held out
  const ModelParts model = train_model(method, run, part, {}, executor, control);
  const CsrMatrix held_out = select_rows(data.X, split.validation);
  return fit_calibration(model.rows(), model.hierarchy, held_out,
                         select_rows(*data.labels, split.validation), executor);
}

}  // namespace margrove
