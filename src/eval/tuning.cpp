#include "eval/tuning.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <set>

#include "eval/metric_choice.hpp"
#include "eval/named_metrics.hpp"

namespace margrove {
namespace {

double value_of(const Metrics& metrics, std::string_view name) {
  require_metric(name);
  const auto values = named_values(metrics);
  return std::ranges::find(values, name, [](const auto& each) { return each.first; })->second;
}

/// One split, prepared once for all grid points.
struct PreparedSplit {
  PreparedRows training;
  RawRows validation;
};

}  // namespace

void validate_on_leaves(std::span<Split> splits, const LabelSets& labels, const LabelCodec& codec,
                        const Hierarchy& hierarchy, const std::string& source) {
  std::vector<bool> is_inner(codec.size(), false);
  for (const Hierarchy::Edge& edge : hierarchy.edges) {
    const auto label = codec.find(hierarchy.codec.name(edge.parent));
    if (label) is_inner[*label] = true;
  }
  for (Split& split : splits) {
    std::erase_if(split.validation, [&](std::uint32_t row) {
      return std::ranges::any_of(labels[row], [&](LabelId label) { return is_inner[label]; });
    });
    require(!split.validation.empty(), source, ": a part of the rows to measure on has none whose ",
            "label is a leaf, but must have one where option partial_labels is given");
  }
}

namespace {

OptionValues joined(const OptionValues& fixed, const OptionValues& point) {
  OptionValues all = fixed;
  all.insert(all.end(), point.begin(), point.end());
  return all;
}

}  // namespace

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
  require_metric(metric);
  for (const OptionValues& point : grid) {  // reports a wrong option before hours of training
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
        prepare_rows(select_rows(raw, splits[s].training), hierarchy, preprocessing, {}, &control);
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
    const ModelParts model = train_model(method, *run, split.training.training_set(),
                                         split.training.preprocessing, one, inner);
    if (inner.stop_reason() != Stop::converged) return;
    result.points[p].scores[s] =
        value_of(evaluate_model(model, split.validation, one).metrics, metric);
    ++done;
    report();
  });
  result.stop = control.stop_reason();
  choose_best(result, metric);
  return result;
}

void choose_best(TuningResult& result, std::string_view metric) {
  result.best = 0;
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    GridPoint& point = result.points[p];
    point.mean = 0;
    for (const double score : point.scores) {
      point.mean += score / static_cast<double>(point.scores.size());
    }
    const double best = result.points[result.best].mean;
    const bool is_better = is_loss(metric) ? point.mean < best : point.mean > best;
    if (is_better || (std::isnan(best) && !std::isnan(point.mean))) result.best = p;
  }
}

Evaluation evaluate_model(const ModelParts& model, const RawRows& raw, Executor& executor) {
  const TranslatedLabels truth = translate_labels(raw.labels, raw.codec, model.labels);
  const CsrMatrix X = preprocess(model, raw);
  const LabelSets predicted = model.rows().predict(X, executor);
  return {compute_metrics(truth.labels, predicted, model.hierarchy, model.in_training()),
          truth.num_unknown_labels, truth.num_rows_with_unknown};
}

}  // namespace margrove
