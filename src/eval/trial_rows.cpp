#include "eval/trial_rows.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "methods/labelled_rows.hpp"

namespace margrove {
namespace {

constexpr std::size_t kFewRows = 3000;  // validated by folds, so that all of them count
constexpr int kFoldsOfFewRows = 5;
constexpr int kFoldsOfRareLabels = 3;
constexpr double kHeldOut = 0.2;
constexpr double kLeastHeldOut = 0.1;  // of all rows: less where labels have one or two rows
constexpr std::size_t kShrink = 4;
constexpr std::size_t kFewestSampled = 1000;
constexpr std::size_t kFewestSampledPerLabel = 4;
constexpr std::size_t kFewestOfFirstSplit = 500;
constexpr std::size_t kFewestProbed = 100, kMostProbed = 1000;
constexpr std::size_t kShrinkOfProbe = 8;
constexpr double kMaxSampled = 0.6;  // a larger share of the next stage's rows saves nothing

/// About 1 / kShrink of the rows of each label, at least one.
std::vector<std::uint32_t> sample_of(const std::vector<std::uint32_t>& rows,
                                     const LabelSets& labels, std::uint64_t seed) {
  const double left_out = 1 - 1.0 / static_cast<double>(kShrink);
  const Split split = stratified_hold_out(select_rows(labels, rows), left_out, seed);
  std::vector<std::uint32_t> sample;
  for (const std::uint32_t i : split.training) sample.push_back(rows[i]);
  return sample;
}

void keep_sample(std::vector<std::uint32_t>& rows, std::size_t size, Random& random) {
  random.shuffle(std::span(rows));
  rows.resize(size);
  std::ranges::sort(rows);
}

/// The same share of the training and of the validation rows, at random.
Split probe_of(Split split, std::uint64_t seed) {
  const std::size_t n = split.training.size(), m = split.validation.size();
  const std::size_t size = std::clamp(n / kShrinkOfProbe, kFewestProbed, kMostProbed);
  Random random(seed);
  keep_sample(split.training, size, random);
  keep_sample(split.validation, std::max<std::size_t>(m * size / n, 1), random);
  return split;
}

bool can_shrink(std::size_t num_rows, std::size_t num_labels) {
  return num_rows / kShrink >= std::max(kFewestSampled, kFewestSampledPerLabel * num_labels);
}

std::vector<Split> splits_of_all_rows(const LabelSets& labels, std::uint64_t seed) {
  const std::size_t n = labels.num_rows();
  require(n >= 2, "a choice on held-out rows: there are ", n, " rows, but must be at least 2");
  if (n < kFewRows) return validation_folds(labels, kFoldsOfFewRows, seed);
  try {
    Split split = stratified_hold_out(labels, kHeldOut, seed);
    if (static_cast<double>(split.validation.size()) >= kLeastHeldOut * static_cast<double>(n)) {
      return {std::move(split)};
    }
  } catch (const InvalidInput&) {
    // No label has rows to hold out; a label with two rows gives none either.
    return validation_folds(labels, kFoldsOfRareLabels, seed);
  }
  return validation_folds(labels, kFoldsOfRareLabels, seed);
}

}  // namespace

std::vector<Split> trial_splits(const LabelSets& labels, std::uint64_t seed) {
  std::vector<Split> splits = splits_of_all_rows(labels, seed);
  validate_on_labelled(splits, labels);
  return splits;
}

std::vector<std::vector<Split>> trial_stages(const LabelSets& labels, std::size_t num_labels,
                                             std::uint64_t seed) {
  std::vector<std::vector<Split>> stages{trial_splits(labels, seed)};
  while (can_shrink(stages.back().front().training.size(), num_labels)) {
    std::vector<Split> smaller = stages.back();
    for (Split& split : smaller) split.training = sample_of(split.training, labels, seed);
    const auto share = static_cast<double>(smaller.front().training.size()) /
                       static_cast<double>(stages.back().front().training.size());
    if (share > kMaxSampled) break;
    stages.push_back(std::move(smaller));
  }
  std::ranges::reverse(stages);
  return stages;
}

TrialStages trial_stages_in_limited_time(const LabelSets& labels, std::size_t num_labels,
                                         std::uint64_t seed) {
  TrialStages stages{trial_stages(labels, num_labels, seed)};
  const auto first = [&] { return stages.all.front().front(); };
  if (stages.all.front().size() > 1 && first().training.size() >= kFewestOfFirstSplit) {
    stages.all.insert(stages.all.begin(), std::vector<Split>{first()});
  }
  if (first().training.size() >= 2 * kFewestProbed) {
    stages.all.insert(stages.all.begin(), std::vector<Split>{probe_of(first(), seed)});
    stages.has_probe = true;
  }
  return stages;
}

const CsrMatrix& TrialSplit::validation_for(const ModelParts& model, RunControl& control) {
  if (!has_validation) {
    validation = preprocess(model, raw_validation, &control);
    raw_validation = {};
    has_validation = true;
  }
  return validation;
}

std::vector<TrialSplit>& TrialRows::prepared(const PreprocessingOptions& options,
                                             Executor& executor, RunControl& control) {
  const Key key{options.scale, options.selects_columns};
  if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
  std::vector<TrialSplit> found(splits_.size());
  executor.for_each(splits_.size(), [&](std::size_t s, int) {
    found[s].training =
        prepare_rows(select_rows(raw_, splits_[s].training), hierarchy_, options, {}, &control);
    found[s].raw_validation = select_rows(raw_, splits_[s].validation);
  });
  return prepared_[key] = std::move(found);
}

std::size_t TrialRows::num_training_rows() const {
  std::size_t rows = 0;
  for (const Split& split : splits_) rows += split.training.size();
  return rows / splits_.size();
}

std::size_t TrialRows::num_training_labels() const {
  std::set<LabelId> labels;
  for (const std::uint32_t i : splits_.front().training) {
    labels.insert(raw_.labels[i].begin(), raw_.labels[i].end());
  }
  return labels.size();
}

LabelSets TrialRows::training_labels(std::size_t split) const {
  return select_rows(raw_.labels, splits_[split].training);
}

LabelSets TrialRows::validation_labels(std::size_t split) const {
  return select_rows(raw_.labels, splits_[split].validation);
}

LabelSets TrialRows::truth(const LabelCodec& codec) const {
  LabelSets truth;
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    const LabelSets own = translate_labels(validation_labels(s), raw_.codec, codec).labels;
    for (std::size_t i = 0; i < own.num_rows(); ++i) truth.append(own[i]);
  }
  return truth;
}

}  // namespace margrove
