#pragma once
// The rows on which the methods of an automatic choice, or terms, are trained and measured.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "methods/training.hpp"
#include "model/splits.hpp"

namespace margrove {

/// Folds of a cross-validation where rows are few or most labels have one row, otherwise a single
/// split that holds out a fifth of each label's rows. Rows whose label is missing are not validated
/// on. Throws InvalidInput if there are fewer than two rows.
std::vector<Split> trial_splits(const LabelSets& labels, std::uint64_t seed);

/// The splits of each stage of successive halving, the last ones with all training rows. An earlier
/// stage has about a quarter of the next one's training rows of each label, at least one. There is
/// a single stage where a quarter would be fewer than 1,000 rows, or four per label.
std::vector<std::vector<Split>> trial_stages(const LabelSets& labels, std::size_t num_labels,
                                             std::uint64_t seed);

/// The same with earlier stages for a search in limited time, whose first answers must come soon:
/// the first split only, where there are several of many rows, and before it a probe, that is a
/// sample that tells what the methods take. Without a probe where rows are few.
struct TrialStages {
  std::vector<std::vector<Split>> all;
  bool has_probe = false;  // the first one
};
TrialStages trial_stages_in_limited_time(const LabelSets& labels, std::size_t num_labels,
                                         std::uint64_t seed);

/// One split, preprocessed with what its training rows say.
struct TrialSplit {
  PreparedRows training;
  Examples raw_validation;
  CsrMatrix validation;
  bool has_validation = false;  // whether `validation` is made: by the first model of the split

  /// The validation rows as `model`, a model of this split, takes them. Throws OutOfTimeLimit.
  const CsrMatrix& validation_for(const ModelParts& model, RunControl& control);
};

/// The splits of one stage, preprocessed for methods at their first use. Methods may need different
/// preprocessing (preprocessing_for).
class TrialRows {
 public:
  /// Refers to its arguments.
  TrialRows(const Examples& raw, const Hierarchy* hierarchy, const std::vector<Split>& splits)
      : raw_(raw), hierarchy_(hierarchy), splits_(splits) {}

  /// Throws OutOfTimeLimit where the control asks to end.
  std::vector<TrialSplit>& prepared(const PreprocessingOptions& options, Executor& executor,
                                    RunControl& control);
  std::size_t num_splits() const { return splits_.size(); }
  /// Training rows of a split, rounded down if splits differ.
  std::size_t num_training_rows() const;
  /// Labels of the training rows of the first split.
  std::size_t num_training_labels() const;
  /// The labels of a split, whose numbers are those of the raw rows.
  LabelSets training_labels(std::size_t split) const;
  LabelSets validation_labels(std::size_t split) const;
  /// The true labels of all validation rows, split after split, in the numbers of `codec`.
  LabelSets truth(const LabelCodec& codec) const;

 private:
  using Key = std::pair<ColumnScale, bool>;  // what preprocessing_for() decides
  const Examples& raw_;
  const Hierarchy* hierarchy_;
  const std::vector<Split>& splits_;
  std::map<Key, std::vector<TrialSplit>> prepared_;
};

}  // namespace margrove
