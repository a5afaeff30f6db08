// What follows the search of an automatic choice: its reason, and the training on all rows.

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <optional>
#include <sstream>

#include "eval/automatic_choice.hpp"
#include "eval/trial_runner.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

std::string with_four_decimals(double value) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(4) << value;
  return text.str();
}

std::string difference_text(const CandidateResult& result) {
  return concat(with_four_decimals(std::abs(result.difference)), ", with a standard error of ",
                with_four_decimals(result.standard_error));
}

/// A training that the time limit has ended so near to the optimum is as good as any.
constexpr double kSmallGap = 0.1;

/// Whether a model of all rows, which the time limit has ended, is to be preferred to the one of
/// the search: a few passes over all rows say more than the optimum on less than half of them.
bool is_preferred(const ModelParts& model, std::size_t num_rows, std::size_t rows_of_search) {
  return model.report.relative_gap <= kSmallGap || 2 * rows_of_search < num_rows;
}

/// The model of the chosen candidate, trained on all rows; none if the time limit ended it and it
/// is not preferred. Throws as train_chosen().
std::optional<ModelParts> trained_on_all_rows(const AutomaticChoice& choice, Examples raw,
                                              const Hierarchy* hierarchy,
                                              const PreprocessingOptions& preprocessing,
                                              const AutomaticOptions& options, double memory_limit,
                                              Executor& executor, RunControl& control) {
  const CandidateResult& chosen = choice.chosen();
  const Method& method = find_method(chosen.method);
  const TrialSetting setting = trial_setting(method, chosen.options, preprocessing, options.seed);
  if (!control.proceed()) return std::nullopt;
  try {
    const PreparedRows prepared =
        prepare_rows(std::move(raw), hierarchy, setting.preprocessing, {}, &control);
    const TrainingSet data = prepared.training_set();
    const Plan plan = plan_training(method, *setting.run, data, executor, control);
    require_trainable(plan, *setting.run, data, memory_limit);
    ModelParts model =
        train_model(method, *setting.run, plan, data, prepared.preprocessing, executor, control);
    const bool has_ended = control.proceed() && model.report.stop != Stop::time_limit;
    if (has_ended) return model;
    if (control.stop_reason() == Stop::interrupted) return std::nullopt;
    if (is_preferred(model, data.X.num_rows(), choice.model_rows)) return model;
    return std::nullopt;
  } catch (const OutOfTimeLimit&) {
    return std::nullopt;
  }
}

}  // namespace

std::string CandidateResult::name() const { return named_with_options(method, options); }

std::string reason_of(const AutomaticChoice& choice) {
  const CandidateResult& chosen = choice.chosen();
  const auto is_other = [&](const CandidateResult& each) {
    return &each != &chosen && each.stage == chosen.stage &&
           (each.verdict == Verdict::tied || each.verdict == Verdict::worse);
  };
  const auto last = std::ranges::max(choice.candidates, {}, &CandidateResult::stage).stage;
  if (chosen.stage < last) {
    return concat(chosen.name(), " has the best ", choice.metric, " of those measured on ",
                  chosen.num_rows, " rows, and the time did not suffice to measure it further");
  }
  const auto next = std::ranges::find_if(choice.candidates, is_other);  // the best of the others
  if (next == choice.candidates.end())
    return concat(chosen.name(), " has the best ", choice.metric);
  if (chosen.difference == 0) {
    return concat(chosen.name(), " has the best ", choice.metric, "; that of ", next->name(),
                  ", the next, differs by ", difference_text(*next));
  }
  constexpr double kRounding = 1e-9;
  if (std::abs(chosen.difference) > (1 + kRounding) * chosen.standard_error) {
    return concat(chosen.name(), " has the best ", choice.metric,
                  " of those that the time is expected to suffice for; that of ", next->name(),
                  ", the best one, differs by ", difference_text(chosen));
  }
  return concat(chosen.name(), " is the simplest within one standard error of the best, ",
                next->name(), ": ", choice.metric, " differs by ", difference_text(chosen));
}

ModelParts train_chosen(AutomaticChoice& choice, Examples raw, const Hierarchy* hierarchy,
                        const PreprocessingOptions& preprocessing, const AutomaticOptions& options,
                        double memory_limit, Executor& executor, RunControl& control) {
  const std::size_t num_rows = raw.num_rows();
  if (auto all = trained_on_all_rows(choice, std::move(raw), hierarchy, preprocessing, options,
                                     memory_limit, executor, control)) {
    return std::move(*all);
  }
  ModelParts model = std::move(*choice.model);
  choice.model.reset();
  const bool is_interrupted = control.stop_reason() == Stop::interrupted;
  model.report.warnings.push_back(
      concat(is_interrupted ? "an interruption" : "the time limit", " ended the work before ",
             choice.chosen().name(), " was trained on all ", num_rows,
             " rows; the model is the best of the ", "search, ", model.method, ", trained on ",
             choice.model_rows, " rows"));
  return model;
}

}  // namespace margrove
