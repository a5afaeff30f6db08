#include "eval/trial_runner.hpp"

#include <algorithm>

#include "eval/metric_choice.hpp"
#include "eval/tuning.hpp"

namespace margrove {

TrialSetting trial_setting(const Method& method, const OptionValues& values,
                           const PreprocessingOptions& preprocessing, std::uint64_t seed) {
  PointOptions options = options_of_point(values, preprocessing);
  TrialSetting setting{method.start(), {}};
  if (seed != 0 && setting.run->options().has("seed")) {
    options.of_method.emplace_back("seed", concat(seed));
  }
  set_options(setting.run->options(), options.of_method);
  setting.preprocessing = preprocessing_for(method, setting.run->options(), options.preprocessing);
  return setting;
}

void TrialRunner::begin_stage(const std::vector<Split>& splits) {
  rows_.emplace(raw_, hierarchy_, splits);
  truth_.reset();
}

void TrialRunner::keep_stage() { kept_.emplace(std::move(*rows_)); }

void TrialRunner::begin_kept_stage() {
  rows_.emplace(std::move(*kept_));
  kept_.reset();
  truth_.reset();
}

/// The true labels of the stage, and the labels with any row, so that metrics count the same labels
/// in all trials. All models number the labels alike.
void TrialRunner::count_labels(const ModelParts& model) {
  if (!truth_) truth_ = rows_->truth(model.labels);
  if (!has_rows_.empty()) return;
  const LabelSets sets = translate_labels(raw_.labels, raw_.codec, model.labels).labels;
  has_rows_.assign(model.labels.size(), false);
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    for (const LabelId label : sets[i]) has_rows_[label] = true;
  }
}

TrialRunner::Answers TrialRunner::answers_of(const ModelParts& model, std::size_t split,
                                             const CsrMatrix& validation, Executor& threads,
                                             RunControl& share) const {
  if (!needs_scores(metric_)) return {model.rows().predict(validation, threads), {}};
  EvaluatedRows rows =
      evaluated_rows(model, validation, rows_->validation_labels(split), raw_.codec, threads);
  set_training_rows(rows_->training_labels(split), raw_.codec, rows);
  return {{}, measure_metric(metric_, model, rows, threads, &share)};
}

MeasuredMetric TrialRunner::measure(const std::vector<std::optional<Answers>>& answers,
                                    const ModelParts& model) {
  if (needs_scores(metric_)) {
    std::vector<MeasuredMetric> parts;
    for (const auto& part : answers) parts.push_back(part->of_scores);
    return mean_over_rows(parts);
  }
  LabelSets all;
  for (const auto& part : answers) {
    for (std::size_t i = 0; i < part->predicted.num_rows(); ++i) all.append(part->predicted[i]);
  }
  count_labels(model);
  return measure_metric(metric_, *truth_, all, model.hierarchy, has_rows_);
}

std::optional<TrialOutcome> TrialRunner::run(const Method& method, const OptionValues& values,
                                             RunControl& share) {
  std::vector<TrialSplit>& splits = splits_for(setting(method, values), share);
  std::vector<std::optional<Answers>> answers(splits.size());
  std::optional<ModelParts> model;
  const auto train_one = [&](std::size_t s, Executor& threads) {
    if (!share.proceed()) return;
    const auto run = setting(method, values).run;
    ModelParts trained = train_model(method, *run, splits[s].training.training_set(),
                                     splits[s].training.preprocessing, threads, share);
    if (trained.report.stop == Stop::time_limit || !share.proceed()) return;
    Answers own = answers_of(trained, s, splits[s].validation_for(trained, share), threads, share);
    if (!share.proceed()) return;
    answers[s] = std::move(own);
    if (s == 0) model = std::move(trained);
  };
  if (splits.size() == 1) {
    train_one(0, executor_);
  } else {
    executor_.for_each(splits.size(),
                       [&](std::size_t s, int) { train_one(s, Executor::serial()); });
  }
  if (!std::ranges::all_of(answers, [](const auto& part) { return part.has_value(); })) {
    return std::nullopt;
  }
  MeasuredMetric metric = measure(answers, *model);
  return TrialOutcome{std::move(metric), std::move(*model)};
}

TrialRunner::Outlook TrialRunner::outlook(const Method& method, const OptionValues& values,
                                          RunControl& control) {
  const TrialSetting own = setting(method, values);
  const TrialSplit& split = splits_for(own, control).front();
  const Plan plan =
      plan_training(method, *own.run, split.training.training_set(), executor_, control);
  Outlook found;
  found.memory =
      plan.memory.times(static_cast<double>(raw_.num_rows()) /
                        static_cast<double>(std::max<std::size_t>(num_training_rows(), 1)));
  for (const auto& [name, value] : option_values(own.run->options(), plan.settled_options)) {
    if (name == "C") found.C = detail::parse_number(name, value);
  }
  return found;
}

}  // namespace margrove
