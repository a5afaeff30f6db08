#include "eval/trial_runner.hpp"

#include <algorithm>

namespace margrove {

std::unique_ptr<MethodRun> start_run(const Method& method, OptionValues values,
                                     std::uint64_t seed) {
  auto run = method.start();
  if (seed != 0 && run->options().has("seed")) values.emplace_back("seed", concat(seed));
  set_options(run->options(), values);
  return run;
}

void TrialRunner::begin_stage(const std::vector<Split>& splits) {
  rows_.emplace(raw_, hierarchy_, splits);
  truth_.reset();
}

std::vector<TrialSplit>& TrialRunner::splits_for(const Method& method, MethodRun& run,
                                                 RunControl& control) {
  return rows_->prepared(preprocessing_for(method, run.options(), preprocessing_), executor_,
                         control);
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

std::optional<TrialOutcome> TrialRunner::run(const Method& method, const OptionValues& values,
                                             RunControl& share) {
  std::vector<TrialSplit>& splits = splits_for(method, *start_run(method, values, seed_), share);
  std::vector<std::optional<LabelSets>> predicted(splits.size());
  std::vector<double> seconds(splits.size(), 0.0);
  std::optional<ModelParts> model;
  const auto train_one = [&](std::size_t s, Executor& threads) {
    if (!share.proceed()) return;
    const double before = share.seconds();
    const auto run = start_run(method, values, seed_);
    ModelParts trained = train_model(method, *run, splits[s].training.training_set(),
                                     splits[s].training.preprocessing, threads, share);
    if (trained.report.stop == Stop::time_limit || !share.proceed()) return;
    LabelSets labels = trained.rows().predict(splits[s].validation_for(trained, share), threads);
    if (!share.proceed()) return;
    predicted[s] = std::move(labels);
    seconds[s] = share.seconds() - before;
    if (s == 0) model = std::move(trained);
  };
  if (splits.size() == 1) {
    train_one(0, executor_);
  } else {
    executor_.for_each(splits.size(),
                       [&](std::size_t s, int) { train_one(s, Executor::serial()); });
  }
  LabelSets all;
  for (const auto& part : predicted) {
    if (!part) return std::nullopt;
    for (std::size_t i = 0; i < part->num_rows(); ++i) all.append((*part)[i]);
  }
  count_labels(*model);
  return TrialOutcome{measure_metric(metric_, *truth_, all, model->hierarchy, has_rows_),
                      *std::ranges::max_element(seconds), std::move(*model)};
}

MemoryEstimate TrialRunner::memory_on_all_rows(const Method& method, const OptionValues& values,
                                               RunControl& control) {
  const auto run = start_run(method, values, seed_);
  const TrialSplit& split = splits_for(method, *run, control).front();
  const Plan plan = plan_training(method, *run, split.training.training_set(), executor_, control);
  return plan.memory.times(static_cast<double>(raw_.num_rows()) /
                           static_cast<double>(std::max<std::size_t>(num_training_rows(), 1)));
}

}  // namespace margrove
