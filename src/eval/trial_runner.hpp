#pragma once
// Trains single settings of methods on the rows of a stage and measures them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/row_influence.hpp"
#include "eval/trial_rows.hpp"

namespace margrove {

/// A setting on all splits of a stage.
struct TrialOutcome {
  /// On the validation rows of all splits: of their predicted sets together, but where the metric
  /// needs scores the mean over the splits, because scores of different models have no common
  /// scale.
  MeasuredMetric metric;
  ModelParts model;  // of the first split
};

/// A method and the preprocessing of its rows.
struct TrialSetting {
  std::unique_ptr<MethodRun> run;
  PreprocessingOptions preprocessing;
};
/// The values are options of the method or, as a scale of columns, of the preprocessing; the method
/// has the seed, too, where it takes one.
TrialSetting trial_setting(const Method& method, const OptionValues& values,
                           const PreprocessingOptions& preprocessing, std::uint64_t seed);

class TrialRunner {
 public:
  /// Refers to all its arguments but the seed.
  TrialRunner(const Examples& raw, const Hierarchy* hierarchy,
              const PreprocessingOptions& preprocessing, std::uint64_t seed, Executor& executor)
      : raw_(raw),
        hierarchy_(hierarchy),
        preprocessing_(preprocessing),
        seed_(seed),
        executor_(executor) {}

  /// A metric of searches.
  void set_metric(std::string metric) { metric_ = std::move(metric); }
  /// Trains on these splits from now on, to which the object refers.
  void begin_stage(const std::vector<Split>& splits);
  /// The prepared rows of the stage stay, so that begin_kept_stage() need not prepare them again.
  void keep_stage();
  void begin_kept_stage();
  /// The number of training rows of a split of the stage.
  std::size_t num_training_rows() const { return rows_->num_training_rows(); }
  /// Labels of those of the first split.
  std::size_t num_training_labels() const { return rows_->num_training_labels(); }

  /// The rows of the stage as the method takes them: later calls for it need not prepare them.
  /// Throws what is wrong with the rows or the preprocessing, and OutOfTimeLimit.
  void prepare(const Method& method, const OptionValues& values, RunControl& control) {
    splits_for(setting(method, values), control);
  }
  /// The scale of the columns that the preprocessing has chosen for the rows of a split.
  ColumnScale chosen_scale(const Method& method, RunControl& control) {
    return splits_for(setting(method, {}), control).front().training.preprocessing.column_scale;
  }
  /// One split trains with all threads; several are trained side by side with one thread each.
  /// Nothing if `share` ended it. Throws what train_model() throws.
  std::optional<TrialOutcome> run(const Method& method, const OptionValues& values,
                                  RunControl& share);
  /// What is decided before training, of all rows as far as the rows of a split tell.
  struct Outlook {
    MemoryEstimate memory;    // in proportion to that on the rows of a split
    std::optional<double> C;  // of methods with this option: the default for these rows
  };
  Outlook outlook(const Method& method, const OptionValues& values, RunControl& control);

 private:
  TrialSetting setting(const Method& method, const OptionValues& values) const {
    return trial_setting(method, values, preprocessing_, seed_);
  }
  std::vector<TrialSplit>& splits_for(const TrialSetting& setting, RunControl& control) {
    return rows_->prepared(setting.preprocessing, executor_, control);
  }
  void count_labels(const ModelParts& model);

  /// What a model says of the validation rows of its split.
  struct Answers {
    LabelSets predicted;       // unless the metric needs scores
    MeasuredMetric of_scores;  // if it does
  };
  Answers answers_of(const ModelParts& model, std::size_t split, const CsrMatrix& validation,
                     Executor& threads, RunControl& share) const;
  MeasuredMetric measure(const std::vector<std::optional<Answers>>& answers,
                         const ModelParts& model);

  const Examples& raw_;
  const Hierarchy* hierarchy_;
  const PreprocessingOptions& preprocessing_;
  std::uint64_t seed_;
  Executor& executor_;
  std::string metric_;
  std::optional<TrialRows> rows_;  // of the stage
  std::optional<TrialRows> kept_;
  std::optional<LabelSets> truth_;  // of the stage
  std::vector<bool> has_rows_;      // of each label of a model
};

}  // namespace margrove
