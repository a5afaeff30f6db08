#include "eval/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "base/number_text.hpp"
#include "base/out_of_time.hpp"
#include "eval/evaluation.hpp"
#include "eval/metric_choice.hpp"
#include "methods/labelled_rows.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {
namespace {

/// One split, prepared once for all grid points.
struct PreparedSplit {
  PreparedRows training;
  LabelSets training_labels;  // of the raw rows
  Examples validation;
};

/// A metric on the validation rows; NaN where `control` asks to end.
double measured(std::string_view metric, const ModelParts& model, const PreparedSplit& split,
                Executor& executor, RunControl& control) {
  const Examples& validation = split.validation;
  const EvaluationOptions options{.metrics = {{std::string(metric)}}};
  EvaluatedRows rows = evaluated_rows(model, preprocess(model, validation, nullptr, executor),
                                      validation.labels, validation.codec, executor);
  set_training_rows(split.training_labels, validation.codec, rows);
  try {
    return evaluate_rows(model, rows, options, executor, &control).metrics.front().value;
  } catch (const OutOfTimeLimit&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

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

namespace {

constexpr std::string_view kDefaultGrid = "C=0.01,0.1,1,10,100";
constexpr int kMaxExtensions = 3;
constexpr int kDefaultFolds = 3;

std::optional<double> number_at(const GridPoint& point, const std::string& name) {
  for (const auto& [option, value] : point.values) {
    if (option == name) return read_number<double>(value);
  }
  return std::nullopt;
}

/// Whether labels are partial at some point of the grid.
bool takes_partial_labels(const OptionValues& fixed, std::span<const OptionValues> grid) {
  const auto is_given = [](const OptionValues& values) {
    return std::ranges::any_of(values, [](const auto& each) {
      return each.first == "partial_labels" && each.second == "true";
    });
  };
  return is_given(fixed) || std::ranges::any_of(grid, is_given);
}

}  // namespace

std::vector<OptionValues> grid_of(const TuneOptions& options, const Method& method,
                                  const OptionTable& known) {
  if (!options.grid.empty()) return parse_grid(options.grid);
  require<InvalidOption>(known.has("C"), "option grid is not given, but must be, because method ",
                         method.name, " has no option C, which is tuned by default");
  const std::string grid(kDefaultGrid);
  return parse_grid({&grid, 1});
}

std::vector<Split> make_splits(const LabelSets& labels, const TuneOptions& options) {
  require<InvalidOption>(options.folds == 0 || options.holdout == 0,
                         "options folds and holdout are both given, but only one can be used");
  if (options.holdout > 0) {
    return {stratified_hold_out(labels, options.holdout, options.split_seed)};
  }
  return stratified_folds(labels, options.folds == 0 ? kDefaultFolds : options.folds,
                          options.split_seed);
}

std::optional<double> best_number(const TuningResult& result, const std::string& name) {
  return number_at(result.points[result.best], name);
}

Place place_of_best(const TuningResult& result, const std::string& name) {
  const auto best = best_number(result, name);
  bool has_smaller = false, has_larger = false;
  for (const GridPoint& point : result.points) {
    const auto other = number_at(point, name);
    has_smaller |= best && other && *other < *best;
    has_larger |= best && other && *other > *best;
  }
  if (has_smaller == has_larger) return has_smaller ? Place::between : Place::alone;
  return has_smaller ? Place::largest : Place::smallest;
}

TuningResult search(
    std::span<const OptionValues> grid, bool is_default, const std::string& metric,
    const std::function<TuningResult(std::span<const OptionValues> points)>& measure) {
  TuningResult result = measure(grid);
  for (int step = 0; is_default && step < kMaxExtensions; ++step) {
    const Place place = place_of_best(result, "C");
    if (place != Place::smallest && place != Place::largest) break;
    constexpr double kFactor = 10;
    const double best = best_number(result, "C").value_or(1);
    const double next = place == Place::largest ? best * kFactor : best / kFactor;
    const std::vector<OptionValues> further{{{"C", fmt::format("{:g}", next)}}};
    const TuningResult more = measure(further);
    result.points.insert(place == Place::largest ? result.points.end() : result.points.begin(),
                         more.points.front());
    choose_best(result, metric);
  }
  return result;
}

void require_finished(const TuningResult& result, std::size_t num_splits, std::string_view search) {
  require<OutOfTimeLimit>(
      result.stop == Stop::converged, search, ": the time limit ended the search before all ",
      result.points.size() * num_splits, " runs were done; nothing was written");
}

void validate_on_known(std::span<Split> splits, const Examples& raw, const Hierarchy* hierarchy,
                       const OptionValues& fixed, std::span<const OptionValues> grid) {
  validate_on_labelled(splits, raw.labels);
  if (hierarchy != nullptr && takes_partial_labels(fixed, grid)) {
    validate_on_leaves(splits, raw.labels, raw.codec, *hierarchy, raw.source);
  }
}

TuningResult search_rows(const Method& method, const OptionValues& fixed, const Examples& raw,
                         const Hierarchy* hierarchy, const PreprocessingOptions& preprocessing,
                         std::span<const double> row_weights, const TuneOptions& options,
                         Executor& executor, RunControl& control) {
  const std::string metric = options.metric.empty() ? "micro_f1" : options.metric;
  const std::vector<OptionValues> grid = grid_of(options, method, method.start()->options());
  std::vector<Split> splits = make_splits(raw.labels, options);
  validate_on_known(splits, raw, hierarchy, fixed, grid);
  return search(grid, options.grid.empty(), metric, [&](std::span<const OptionValues> points) {
    TuningResult measured = tune(method, fixed, points, raw, hierarchy, preprocessing, splits,
                                 metric, executor, control, row_weights);
    require_finished(measured, splits.size());
    return measured;
  });
}

bool has_option(std::span<const OptionValues> grid, std::string_view name) {
  return !grid.empty() &&
         std::ranges::any_of(grid.front(), [&](const auto& each) { return each.first == name; });
}

PointOptions options_of_point(const OptionValues& point,
                              const PreprocessingOptions& preprocessing) {
  PointOptions options{{}, preprocessing};
  OptionTable table(options.preprocessing);
  for (const auto& [name, value] : point) {
    require<InvalidOption>(name != "terms",
                           "option grid gives terms, but a search for terms comes before the "
                           "grid; give option terms by itself");
    if (table.has(name)) {
      table.set(name, value);
    } else {
      options.of_method.emplace_back(name, value);
    }
  }
  // An encoder that was started before is the one of the name before.
  if (options.preprocessing.vectors != preprocessing.vectors) options.preprocessing.encoder = {};
  return options;
}

namespace {

/// The points of a grid that have the same preprocessing.
struct PointsOfRows {
  PreprocessingOptions preprocessing;
  std::vector<std::size_t> points;
};

/// In the order of the first point of each.
std::vector<PointsOfRows> by_preprocessing(std::span<const OptionValues> grid,
                                           const PreprocessingOptions& preprocessing) {
  std::vector<PointsOfRows> all;
  std::map<OptionValues, std::size_t> places;
  for (std::size_t p = 0; p < grid.size(); ++p) {
    PreprocessingOptions own = options_of_point(grid[p], preprocessing).preprocessing;
    const auto [at, is_new] = places.try_emplace(option_values(OptionTable(own)), all.size());
    if (is_new) all.push_back({std::move(own), {}});
    all[at->second].points.push_back(p);
  }
  return all;
}

/// Points that are trained one after the other, each from the state of the one before.
using PointPath = std::vector<std::size_t>;

/// Points that differ in C only are a path by ascending C where the method has warm starts; all
/// others are paths of their own. Does not depend on the order of the grid.
std::vector<PointPath> regularisation_paths(const Method& method, const OptionValues& fixed,
                                            std::span<const OptionValues> grid,
                                            const PointsOfRows& part) {
  struct PlaceOfPoint {
    double C;
    std::string text;  // "1" is before "1.0" in whatever order they are given
    std::size_t point;
    auto operator<=>(const PlaceOfPoint&) const = default;
  };
  std::map<OptionValues, std::vector<PlaceOfPoint>> places;
  for (const std::size_t p : part.points) {
    OptionValues others = options_of_point(grid[p], part.preprocessing).of_method;
    PlaceOfPoint place{0, "", p};
    std::erase_if(others, [&](const auto& option) {
      if (option.first != "C") return false;
      place.text = option.second;
      place.C = read_number<double>(option.second).value_or(0);
      return true;
    });
    std::ranges::sort(others);
    places[std::move(others)].push_back(std::move(place));
  }
  std::vector<PointPath> paths;
  for (auto& [others, path] : places) {
    const auto run = method.start();
    set_options(run->options(), joined(fixed, others));
    const bool is_path = has_warm_starts(method, run->options());
    std::ranges::sort(path);
    for (std::size_t k = 0; k < path.size(); ++k) {
      if (k == 0 || !is_path) paths.emplace_back();
      paths.back().push_back(path[k].point);
    }
  }
  return paths;
}

/// Calls measure(point, split, continuation, threads) for all points and splits, side by side with
/// one thread each; with all threads one after the other where threads would be idle otherwise.
template <class Measure>
void run_paths(std::span<const PointPath> paths, std::size_t num_splits, Executor& executor,
               const Measure& measure) {
  bool is_cold = true;
  for (const PointPath& path : paths) is_cold &= path.size() == 1;
  const auto run_one = [&](std::size_t index, Executor& threads) {
    const PointPath& path = paths[index / num_splits];
    std::shared_ptr<const FitState> state;
    for (const std::size_t p : path) {
      const Continuation continuation{.start = state.get(), .keep = p != path.back()};
      state = measure(p, index % num_splits, continuation, threads);
    }
  };
  const std::size_t num_runs = paths.size() * num_splits;
  const std::size_t fewest = is_cold ? 2 : static_cast<std::size_t>(executor.size());
  if (num_runs >= fewest) {
    executor.for_each(num_runs,
                      [&](std::size_t index, int) { run_one(index, Executor::serial()); });
    return;
  }
  for (std::size_t index = 0; index < num_runs; ++index) run_one(index, executor);
}

PreparedSplit prepared_split(const Examples& raw, const Split& split, const Hierarchy* hierarchy,
                             const PreprocessingOptions& preprocessing,
                             std::span<const double> row_weights, RunControl& control,
                             Executor& executor) {
  return {prepare_rows(select_rows(raw, split.training), hierarchy, preprocessing,
                       kept_weights(row_weights, split.training), &control, executor),
          select_rows(raw.labels, split.training), select_rows(raw, split.validation)};
}

}  // namespace

TuningResult tune(const Method& method, const OptionValues& fixed,
                  std::span<const OptionValues> grid, const Examples& raw,
                  const Hierarchy* hierarchy, const PreprocessingOptions& preprocessing,
                  std::span<const Split> splits, std::string_view metric, Executor& executor,
                  RunControl& control, std::span<const double> row_weights) {
  require_search_metric(metric);
  const auto options_at = [&](std::size_t p) {
    return joined(fixed, options_of_point(grid[p], preprocessing).of_method);
  };
  TuningResult result;
  for (std::size_t p = 0; p < grid.size(); ++p) {
    set_options(method.start()->options(), options_at(p));  // a wrong option is reported early
    result.points.push_back(
        {grid[p], std::vector<double>(splits.size(), std::numeric_limits<double>::quiet_NaN()), 0});
  }
  std::atomic<std::int64_t> done = 0;
  const auto report = [&] {
    return control.proceed(Progress{.stage = "tune",
                                    .done = done,
                                    .total = static_cast<std::int64_t>(grid.size() * splits.size()),
                                    .unit = Progress::Unit::runs});
  };
  for (const PointsOfRows& part : by_preprocessing(grid, preprocessing)) {
    std::vector<PreparedSplit> prepared(splits.size());
    executor.for_each(splits.size(), [&](std::size_t s, int) {
      prepared[s] = prepared_split(raw, splits[s], hierarchy, part.preprocessing, row_weights,
                                   control, executor);
    });
    // The state that it leaves, if it is to be kept.
    const auto measure = [&](std::size_t p, std::size_t s, const Continuation& continuation,
                             Executor& threads) -> std::shared_ptr<const FitState> {
      const PreparedSplit& split = prepared[s];
      if (!report()) return nullptr;
      const auto run = method.start();
      set_options(run->options(), options_at(p));
      RunControl inner(control, [&](const Progress&) { return report(); });
      TrainingSet data = split.training.training_set();
      data.continuation = continuation;
      try {
        const ModelParts model =
            train_model(method, *run, data, split.training.preprocessing, threads, inner);
        if (inner.stop_reason() != Stop::converged) return nullptr;
        const double score = measured(metric, model, split, threads, inner);
        if (std::isnan(score)) return nullptr;
        result.points[p].scores[s] = score;
        ++done;
        report();
        return model.state;
      } catch (const OutOfTimeLimit&) {  // result.stop says it
        return nullptr;
      }
    };
    run_paths(regularisation_paths(method, fixed, grid, part), splits.size(), executor, measure);
  }
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

}  // namespace margrove
