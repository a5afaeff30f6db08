#include "margrove/eval/tuning.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "margrove/base/random.hpp"

namespace margrove {
namespace {

constexpr LabelId kUnlabelled = ~LabelId{0};

/// The rows of each first label, shuffled; rows without labels are a group of their own.
std::vector<std::vector<std::uint32_t>> shuffled_strata(const LabelSets& labels,
                                                        std::uint64_t seed) {
  std::map<LabelId, std::vector<std::uint32_t>> groups;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    const auto set = labels[i];
    groups[set.empty() ? kUnlabelled : set.front()].push_back(static_cast<std::uint32_t>(i));
  }
  Random random(seed);
  std::vector<std::vector<std::uint32_t>> strata;
  for (auto& [label, rows] : groups) {
    random.shuffle(std::span(rows));
    strata.push_back(std::move(rows));
  }
  return strata;
}

/// The split whose validation rows are those with in_validation[row].
Split split_by(const std::vector<bool>& in_validation) {
  Split split;
  for (std::uint32_t i = 0; i < in_validation.size(); ++i) {
    (in_validation[i] ? split.validation : split.training).push_back(i);
  }
  return split;
}

double value_of(const Metrics& metrics, std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [metric, value] : named_values(metrics)) {
    if (metric == name) return value;
    known.emplace_back(metric);
  }
  throw InvalidOption(
      concat("metric is '", name, "', but must be one of ", detail::join(known, ", ")));
}

/// One split, prepared once for all grid points.
struct PreparedSplit {
  PreparedRows training;
  RawRows validation;
};

OptionValues joined(const OptionValues& fixed, const OptionValues& point) {
  OptionValues all = fixed;
  all.insert(all.end(), point.begin(), point.end());
  return all;
}

}  // namespace

std::vector<Split> stratified_folds(const LabelSets& labels, int num_folds, std::uint64_t seed) {
  const std::size_t rows = labels.num_rows();
  require<InvalidOption>(num_folds >= 2 && static_cast<std::size_t>(num_folds) <= rows,
                         "option folds is ", num_folds, ", but must be in [2, ", rows,
                         "], the number of rows");
  std::vector<int> fold_of_row(rows);
  int next = 0;
  for (const auto& stratum : shuffled_strata(labels, seed)) {
    for (const std::uint32_t i : stratum) {
      fold_of_row[i] = next;
      next = (next + 1) % num_folds;
    }
  }
  std::vector<Split> folds;
  for (int fold = 0; fold < num_folds; ++fold) {
    std::vector<bool> in_validation(rows);
    for (std::size_t i = 0; i < rows; ++i) in_validation[i] = fold_of_row[i] == fold;
    folds.push_back(split_by(in_validation));
  }
  return folds;
}

Split stratified_hold_out(const LabelSets& labels, double fraction, std::uint64_t seed) {
  require<InvalidOption>(fraction > 0 && fraction < 1, "option holdout is ", fraction,
                         ", but must be between 0 and 1");
  std::vector<bool> in_validation(labels.num_rows(), false);
  bool any = false;
  for (const auto& stratum : shuffled_strata(labels, seed)) {
    const auto size = static_cast<std::size_t>(
        std::min(std::round(fraction * static_cast<double>(stratum.size())),
                 static_cast<double>(stratum.size()) - 1));
    for (std::size_t k = 0; k < size; ++k) in_validation[stratum[k]] = any = true;
  }
  require(any, "hold-out: no label has enough rows to hold out a share of ", fraction,
          "; use folds instead");
  return split_by(in_validation);
}

std::vector<OptionValues> parse_grid(std::span<const std::string> texts) {
  std::vector<OptionValues> grid{{}};
  std::set<std::string> names;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    require<InvalidOption>(equals != std::string::npos && equals > 0 && equals + 1 < text.size(),
                           "option grid is '", text, "', but must be name=value,value,...");
    std::string name = text.substr(0, equals);
    std::replace(name.begin(), name.end(), '-', '_');
    require<InvalidOption>(names.insert(name).second, "option grid gives ", name, " twice");
    std::vector<OptionValues> extended;
    for (const OptionValues& point : grid) {
      for (std::size_t begin = equals + 1; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        require<InvalidOption>(end > begin, "option grid is '", text, "', but a value is empty");
        extended.push_back(point);
        extended.back().emplace_back(name, text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    grid = std::move(extended);
  }
  return grid;
}

TuningResult tune(const Method& method, const OptionValues& fixed,
                  std::span<const OptionValues> grid, const RawRows& raw,
                  const Hierarchy* hierarchy, const PreprocessingOptions& preprocessing,
                  std::span<const Split> splits, std::string_view metric, Executor& executor,
                  RunControl& control) {
  value_of(Metrics{}, metric);
  for (const OptionValues& point : grid) {  // a wrong option shows before hours of training
    const auto run = method.start();
    set_options(run->options(), joined(fixed, point));
  }
  TuningResult result;
  for (const OptionValues& point : grid) {
    result.points.push_back(
        {point, std::vector<double>(splits.size(), std::numeric_limits<double>::quiet_NaN()), 0});
  }
  std::vector<PreparedSplit> prepared(splits.size());
  executor.for_each(splits.size(), [&](std::size_t s, int) {
    prepared[s].training =
        prepare_rows(select_rows(raw, splits[s].training), hierarchy, preprocessing);
    prepared[s].validation = select_rows(raw, splits[s].validation);
  });
  std::atomic<std::int64_t> done = 0;
  const std::size_t num_runs = grid.size() * splits.size();
  const auto report = [&] {
    return control.proceed(Progress{.stage = "tune",
                                    .done = done,
                                    .total = static_cast<std::int64_t>(num_runs),
                                    .unit = "runs"});
  };
  executor.for_each(num_runs, [&](std::size_t index, int) {
    const std::size_t p = index / splits.size(), s = index % splits.size();
    const PreparedSplit& split = prepared[s];
    if (!report()) return;
    const auto run = method.start();
    set_options(run->options(), joined(fixed, grid[p]));
    Executor one(1);
    RunControl inner(control, [&](const Progress&) { return report(); });
    const Model model = train_model(method, *run, split.training.training_set(),
                                    split.training.preprocessing, one, inner);
    if (inner.stop_reason() != Stop::converged) return;
    result.points[p].scores[s] =
        value_of(evaluate_model(model, split.validation, one).metrics, metric);
    ++done;
    report();
  });
  result.stop = control.stop_reason();
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    GridPoint& point = result.points[p];
    for (const double score : point.scores) {
      point.mean += score / static_cast<double>(point.scores.size());
    }
    const double best = result.points[result.best].mean;
    if (point.mean > best || (std::isnan(best) && !std::isnan(point.mean))) result.best = p;
  }
  return result;
}

Evaluation evaluate_model(const Model& model, const RawRows& raw, Executor& executor) {
  const TranslatedLabels truth = translate_labels(raw.labels, raw.codec, model.labels);
  const CsrMatrix X = preprocess(model.preprocessing, raw);
  const LabelSets predicted = model.rows().predict(X, executor);
  std::vector<bool> in_training;
  for (const std::uint32_t rows : model.training_rows) in_training.push_back(rows > 0);
  return {compute_metrics(truth.labels, predicted, model.hierarchy, in_training),
          truth.num_unknown_labels, truth.num_rows_with_unknown};
}

}  // namespace margrove
