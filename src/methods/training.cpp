#include "methods/training.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/out_of_time.hpp"
#include "methods/convergence_curve.hpp"
#include "methods/labelled_rows.hpp"
#include "model/decision_options.hpp"
#include "model/feature_name.hpp"
#include "model/finite_scores.hpp"

namespace margrove {

namespace {

/// Fewer rows than the folds by default are no error: then each row is a fold.
/// What comes before training, and may end there.
template <class Work>
auto naming_the_end(const TrainingSet& data, const RunControl& control, const Work& work) {
  try {
    return work();
  } catch (const OutOfTime&) {
    const bool is_interrupted = control.stop_reason() == Stop::interrupted;
    throw OutOfTimeLimit(concat(data.source, ": ",
                                is_interrupted ? "an interruption" : "the time limit",
                                " ended what comes before training, so there is no model"));
  }
}

void require_rows_of_folds(const OptionTable& options, const TrainingSet& data) {
  constexpr std::size_t kDefaultFolds = DecisionOptions{}.folds;
  if (!options.has("decision_folds")) return;
  const std::size_t rows = data.examples != nullptr ? data.examples->size() : data.X.num_rows();
  const double folds = detail::parse_number("decision_folds", options.get("decision_folds"));
  require<InvalidOption>(folds <= static_cast<double>(std::max(rows, kDefaultFolds)),
                         "option decision_folds is ", options.get("decision_folds"),
                         ", but must be at most ", rows, ", the number of rows to train on");
}

}  // namespace

void require_trainable(const Plan& plan, MethodRun& run, const TrainingSet& data,
                       double limit_gigabytes) {
  require_rows_of_folds(run.options(), data);
  const std::string obstacle = memory_obstacle(plan.memory, limit_gigabytes);
  require(obstacle.empty(), data.source, ": ", obstacle,
          "; drop rare features (min_document_frequency) or raise memory_limit; the parts are ",
          plan.memory.to_text());
}

Plan plan_training(const Method& method, MethodRun& run, const TrainingSet& data,
                   Executor& executor, RunControl& control) {
  require<InvalidOption>(data.hierarchy != nullptr || !needs_hierarchy(method, run.options()),
                         "method ", method.name, " needs a hierarchy, but none is given");
  require<InvalidOption>(data.start == nullptr || method.takes_start,
                         "option start is given, but method ", method.name,
                         " does not offer it; structured does");
  require_kernel_features(method, data.kernel_features != nullptr);
  if (data.labels != nullptr) {
    require_empty_sets(method, run.options(), data.labels->unlabelled());
  }
  return naming_the_end(data, control,
                        [&] { return plan_labelled_rows(run, data, executor, control); });
}

std::string column_name(FeatureId column, const TrainingSet& data,
                        const Preprocessing& preprocessing) {
  if (data.kernel_features != nullptr) return concat("kernel feature ", column + 1);
  const std::vector<FeatureId>& selected = preprocessing.columns;
  return feature_name(selected.empty() ? column : selected[column], data.records, preprocessing,
                      data.views);
}

namespace {

/// A column whose largest absolute value is this multiple of the median column's makes solvers
/// slow.
constexpr float kLargeColumn = 1000;

/// Names a column that makes the problem ill-conditioned; empty if there is none.
std::string large_column(const TrainingSet& data, const Preprocessing& preprocessing) {
  const CsrView& X = data.X;
  std::vector<float> largest(X.num_columns(), 0.0F);
  for (std::size_t k = 0; k < X.columns().size(); ++k) {
    float& value = largest[X.columns()[k]];
    value = std::max(value, std::abs(X.values()[k]));
  }
  std::vector<float> used;
  for (const float value : largest) {
    if (value > 0) used.push_back(value);
  }
  if (used.empty()) return {};
  const auto median = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::nth_element(used.begin(), median, used.end());
  const auto column = std::max_element(largest.begin(), largest.end());
  if (*column < kLargeColumn * *median) return {};
  const auto index = static_cast<FeatureId>(column - largest.begin());
  return concat("; values of ", column_name(index, data, preprocessing), " reach ", *column,
                ", those of most features ", *median, ": scale the columns");
}

/// Says how far training came.
std::string end_by_time(const FitReport& report, double tolerance) {
  std::string text = concat("the time limit ended training after ", report.passes,
                            report.passes == 1 ? " pass" : " passes");
  if (!std::isfinite(report.relative_gap)) {
    text += ", before its distance from the optimum was known";
  } else if (std::isfinite(tolerance)) {
    text +=
        concat(", at a relative gap of ", report.relative_gap, " for a tolerance of ", tolerance);
  }
  return text + "; the model has the best weights so far";
}

/// For every method, only a relative gap of no more than the tolerance, up or down, is convergence.
/// Any other end of training becomes a warning.
void settle_stop(FitReport& report, const OptionTable& options, const TrainingSet& data,
                 const Preprocessing& preprocessing) {
  require<OutOfTimeLimit>(report.stop != Stop::time_limit || report.passes > 0, data.source,
                          ": the time limit ended training before the end of the first pass; "
                          "there is no model");
  if (!is_cut_short(report.stop) && !std::isfinite(report.primal)) {
    throw InvalidInput(concat(data.source,
                              ": training diverged: the objective is not a finite number",
                              large_column(data, preprocessing)));
  }
  double tolerance = std::numeric_limits<double>::infinity();  // of methods in closed form
  if (options.has("tolerance")) {
    tolerance = detail::parse_number("tolerance", options.get("tolerance"));
    // A dual value far above the objective shows rounding, and no optimum.
    if (report.stop == Stop::converged && !(std::abs(report.relative_gap) <= tolerance)) {
      report.stop = Stop::stalled;
    }
  }
  if (report.stop == Stop::converged || report.stop == Stop::interrupted) return;
  const std::string column = large_column(data, preprocessing);
  if (report.stop == Stop::stalled && report.relative_gap > tolerance) {
    report.warnings.push_back(concat("lack of progress ended training at a relative gap of ",
                                     report.relative_gap, ", above the tolerance", column));
  } else if (report.stop == Stop::stalled && report.relative_gap < -tolerance) {
    report.warnings.push_back(concat("rounding leaves the objective ", -report.relative_gap,
                                     " below its bound, more than the tolerance", column));
  } else if (report.stop == Stop::time_limit) {
    report.warnings.push_back(concat(end_by_time(report, tolerance), column));
  } else if (report.stop == Stop::pass_limit) {
    report.warnings.push_back(concat(options.has("max_rounds") ? "max_rounds" : "max_passes",
                                     " ended training before the tolerance was reached", column));
  } else if (!column.empty()) {  // no gap shows how far from the optimum training ended
    report.warnings.push_back(concat("training may have ended far from the optimum", column));
  }
}

TrainResult trained(const Plan& plan, const TrainingSet& data, Executor& executor,
                    RunControl& control) {
  try {
    return naming_the_end(data, control, [&] { return plan.train(executor, control); });
  } catch (const NonFiniteScores&) {  // its number is not that of the file
    throw InvalidInput(concat(data.source, ": a row is held out: ", NonFiniteScores::kReason));
  }
}

}  // namespace

ModelParts train_examples(const Method& method, MethodRun& run, const ExampleSource& source,
                          const ModelParts* start, double memory_limit_gigabytes,
                          Executor& executor, RunControl& control) {
  const auto examples =
      method.read_examples ? method.read_examples({source}, run.options(), &control) : nullptr;
  require<InvalidOption>(examples != nullptr, "method ", method.name,
                         " with these options takes rows");
  TrainingSet data;
  data.examples = examples.get();
  data.source = source.name();
  data.start = start;
  const Plan plan = plan_training(method, run, data, executor, control);
  require_trainable(plan, run, data, memory_limit_gigabytes);
  return train_model(method, run, plan, data, {}, executor, control);
}

ModelParts train_model(const Method& method, MethodRun& run, const TrainingSet& data,
                       const Preprocessing& preprocessing, Executor& executor,
                       RunControl& control) {
  return train_model(method, run, plan_training(method, run, data, executor, control), data,
                     preprocessing, executor, control);
}

ModelParts train_model(const Method& method, MethodRun& run, const Plan& plan,
                       const TrainingSet& data, const Preprocessing& preprocessing,
                       Executor& executor, RunControl& control) {
  ConvergenceCurve curve(control);
  TrainResult result = trained(plan, data, executor, curve.control());
  // Methods with rounds of trainings give the curve of the rounds.
  if (result.report.curve.empty()) result.report.curve = curve.points();
  const std::vector<std::string> notes = curve.control().notes();
  result.report.warnings.insert(result.report.warnings.end(), notes.begin(), notes.end());
  result.report.warnings.insert(result.report.warnings.begin(), data.warnings.begin(),
                                data.warnings.end());
  settle_stop(result.report, run.options(), data, preprocessing);
  ModelParts model;
  model.method = method.name;
  OptionValues settled = plan.settled_options;
  std::ranges::move(result.settled_options, std::back_inserter(settled));
  model.options = option_values(run.options(), settled);
  model.labels = data.codec != nullptr ? *data.codec : data.examples->codec();
  const auto num_labels = static_cast<std::uint32_t>(model.labels.size());
  model.has_hierarchy = data.hierarchy != nullptr;
  model.hierarchy = model.has_hierarchy ? *data.hierarchy : LabelGraph::flat(num_labels);
  model.training_rows.assign(num_labels, 0);
  if (data.labels != nullptr) {
    for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
      for (const LabelId label : (*data.labels)[i]) ++model.training_rows[label];
    }
  }
  model.preprocessing = preprocessing;
  model.label_names.assign(data.label_names.begin(), data.label_names.end());
  if (data.records != nullptr) model.records = *data.records;
  if (data.kernel_features != nullptr) model.kernel_features = *data.kernel_features;
  model.views.assign(data.views.begin(), data.views.end());
  model.report = std::move(result.report);
  model.predictor = std::move(result.predictor);
  model.state = std::move(result.state);
  return model;
}

}  // namespace margrove
