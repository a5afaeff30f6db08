#include "eval/held_out.hpp"

#include "base/out_of_time.hpp"
#include "eval/tuning.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {
namespace {

constexpr std::uint64_t kSplitSeed = 0;

Calibration calibrate(const Method& method, MethodRun& run, const TrainingSet& data,
                      double fraction, Executor& executor, RunControl& control) {
  const Split split = stratified_hold_out(*data.labels, fraction, kSplitSeed);
  const CsrMatrix X = select_rows(data.X, split.training);
  const LabelSets labels = select_rows(*data.labels, split.training);
  const std::vector<double> weights = kept_weights(data.row_weights, split.training);
  TrainingSet part = data;
  part.X = X;
  part.labels = &labels;
  part.row_weights = weights;
  part.continuation = {};  // an earlier run has seen the rows that are held out
  const ModelParts model = train_model(method, run, part, {}, executor, control);
  const CsrMatrix held_out = select_rows(data.X, split.validation);
  const LabelSets truth = select_rows(*data.labels, split.validation);
  const std::vector<double> held_out_weights = kept_weights(data.row_weights, split.validation);
  return fit_calibration(model.rows(), model.hierarchy, {held_out, truth, held_out_weights},
                         executor, control);
}

}  // namespace

std::optional<Calibration> calibrate_held_out(const Method& method, MethodRun& run,
                                              const TrainingSet& data, double fraction,
                                              Executor& executor, RunControl& control) {
  require(data.labels != nullptr, "calibration: ", data.source,
          " has no rows with labels, but must have");
  try {
    return calibrate(method, run, data, fraction, executor, control);
  } catch (const OutOfTime&) {
    return std::nullopt;
  } catch (const OutOfTimeLimit&) {
    return std::nullopt;
  }
}

void calibrate_held_out(ModelParts& model, const Method& method, MethodRun& run,
                        const TrainingSet& data, double fraction, Executor& executor,
                        RunControl& control) {
  if (control.stop_reason() != Stop::interrupted) {
    model.calibration = calibrate_held_out(method, run, data, fraction, executor, control);
  }
  if (!model.calibration) model.report.warnings.emplace_back(why_not_calibrated(control));
}

std::string_view why_not_calibrated(const RunControl& control) {
  return control.stop_reason() == Stop::interrupted
             ? "an interruption came before calibration, which the model lacks"
             : "the time limit came before calibration, which the model lacks";
}

}  // namespace margrove
