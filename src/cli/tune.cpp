// margrove tune

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>

#include "base/atomic_file.hpp"
#include "base/number_text.hpp"
#include "cli/training.hpp"
#include "cli/verbs.hpp"
#include "eval/example_tuning.hpp"
#include "eval/tuning.hpp"
#include "methods/labelled_rows.hpp"

namespace margrove::cli {
namespace {

struct TuneOptions {
  int folds = 0;
  double holdout = 0;
  std::string metric;
  std::uint64_t split_seed = 0;
  static auto fields() {
    return std::tuple{
        field("folds", &TuneOptions::folds, at_least(0),
              "number of folds of a cross-validation; 0: 3 unless holdout is given"),
        field("holdout", &TuneOptions::holdout, between(0, 1),
              "instead of folds: share of each label's rows for validation"),
        field("metric", &TuneOptions::metric, Choices{},
              "metric to choose by; empty: micro_f1, of sentences token_accuracy, of trees las"),
        field("split_seed", &TuneOptions::split_seed, at_least(0), "seed of the split of the rows"),
    };
  }
};

constexpr int kDefaultFolds = 3;

std::vector<Split> make_splits(const LabelSets& labels, const TuneOptions& options) {
  require<InvalidOption>(options.folds == 0 || options.holdout == 0,
                         "options folds and holdout are both given, but only one can be used");
  if (options.holdout > 0) {
    return {stratified_hold_out(labels, options.holdout, options.split_seed)};
  }
  return stratified_folds(labels, options.folds == 0 ? kDefaultFolds : options.folds,
                          options.split_seed);
}

void print_grid(const TuningResult& result, std::string_view metric) {
  for (const auto& [name, value] : result.points.front().values) std::cout << name << "\t";
  std::cout << metric << "\n";
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    const GridPoint& point = result.points[p];
    for (const auto& [name, value] : point.values) std::cout << value << "\t";
    std::cout << fmt::format("{:.4f}", point.mean);
    if (point.scores.size() > 1) {
      std::cout << " (";
      for (std::size_t s = 0; s < point.scores.size(); ++s) {
        std::cout << fmt::format("{}{:.4f}", s == 0 ? "" : " ", point.scores[s]);
      }
      std::cout << ")";
    }
    std::cout << (p == result.best ? " *\n" : "\n");
  }
}

/// The grid where none is given, which is extended towards better values.
const std::string kDefaultGrid = "C=0.01,0.1,1,10,100";
constexpr int kMostExtensions = 3;

/// The number of an option at a point; none if it is not of the grid, or no number.
std::optional<double> number_at(const GridPoint& point, const std::string& name) {
  for (const auto& [option, value] : point.values) {
    if (option == name) return read_number<double>(value);
  }
  return std::nullopt;
}

/// Where the best value of an option stands among those that were tried.
enum class Place { alone, smallest, between, largest };
Place place_of_best(const TuningResult& result, const std::string& name) {
  const auto best = number_at(result.points[result.best], name);
  bool has_smaller = false, has_larger = false;
  for (const GridPoint& point : result.points) {
    const auto other = number_at(point, name);
    has_smaller |= best && other && *other < *best;
    has_larger |= best && other && *other > *best;
  }
  if (has_smaller == has_larger) return has_smaller ? Place::between : Place::alone;
  return has_smaller ? Place::largest : Place::smallest;
}

void warn_of_edges(const TuningResult& result) {
  for (const std::string name : {"C", "lambda"}) {
    const Place place = place_of_best(result, name);
    if (place != Place::smallest && place != Place::largest) continue;
    const bool is_smallest = place == Place::smallest;
    warn(fmt::format("the best {}, {:g}, is the {} that was tried; {} ones may be better", name,
                     *number_at(result.points[result.best], name),
                     is_smallest ? "smallest" : "largest", is_smallest ? "smaller" : "larger"));
  }
}

class Tune final : public Command {
 public:
  Tune(CLI::App& app, const std::vector<std::string>& arguments) {
    arguments_.declare(app, arguments);
    app.add_option("--grid", grid_,
                   "values to try, for example C=0.1,1,10; may be repeated for other options. "
                   "Default: C from 0.01 to 100, and beyond while the best value is the smallest "
                   "or the largest one")
        ->type_name("NAME=VALUES")
        ->allow_extra_args(false);
    tuning_.declare(app, "Tuning");
  }

  int run() override {
    const auto method_run = arguments_.start();
    const std::vector<OptionValues> grid = checked_grid(*method_run);
    const RunOptions& options = arguments_.run_options();
    require_writable(arguments_.result_path());  // not empty
    require_result_writable(arguments_.result_path(), arguments_.input_paths());
    CommandControl control(options.progress_form(), options.time_limit_seconds);
    control.run().limit_memory(1e9 * options.memory_limit);
    control.end_at_limit();
    Executor executor(options.threads);
    if (arguments_.reads_examples(*method_run)) return tune_file(grid, executor, control);
    return tune_rows(grid, executor, control);
  }

 private:
  using Measure = std::function<TuningResult(std::span<const OptionValues> grid)>;

  /// Reports wrong options before training.
  std::vector<OptionValues> checked_grid(MethodRun& method_run) {
    if (grid_.empty()) {
      const std::vector<OptionInfo> known = method_run.options().list();
      require<InvalidOption>(
          std::ranges::any_of(known, [](const OptionInfo& each) { return each.name == "C"; }),
          "option grid is not given, but must be, because method ", arguments_.method().name,
          " has no option C, which is tuned by default");
    }
    std::vector<std::string> texts = grid_;
    if (texts.empty()) texts.push_back(kDefaultGrid);
    std::vector<OptionValues> grid = parse_grid(texts);
    for (const OptionValues& point : grid) arguments_.start(point);
    return grid;
  }

  /// Measures the grid, and beyond the default one while its best value is at an end.
  TuningResult search(std::span<const OptionValues> grid, const std::string& metric,
                      const Measure& measure) const {
    TuningResult result = measure(grid);
    for (int step = 0; grid_.empty() && step < kMostExtensions; ++step) {
      const Place place = place_of_best(result, "C");
      if (place != Place::smallest && place != Place::largest) break;
      constexpr double kFactor = 10;
      const double best = number_at(result.points[result.best], "C").value_or(1);
      const double next = place == Place::largest ? best * kFactor : best / kFactor;
      const std::vector<OptionValues> further{{{"C", fmt::format("{:g}", next)}}};
      const TuningResult more = measure(further);
      result.points.insert(place == Place::largest ? result.points.end() : result.points.begin(),
                           more.points.front());
      choose_best(result, metric);
    }
    return result;
  }

  /// Whether labels are partial at some point of the grid.
  static bool takes_partial_labels(const OptionValues& fixed, std::span<const OptionValues> grid) {
    const auto is_given = [](const OptionValues& values) {
      return std::ranges::any_of(values, [](const auto& each) {
        return each.first == "partial_labels" && each.second == "true";
      });
    };
    return is_given(fixed) || std::ranges::any_of(grid, is_given);
  }

  static void require_finished(const TuningResult& result, std::size_t num_splits) {
    require<OutOfTimeLimit>(
        result.stop == Stop::converged, "tune: the time limit ended the search before all ",
        result.points.size() * num_splits, " runs were done; nothing was written");
  }

  /// Returns the seconds of the search.
  static double print(const TuningResult& result, const std::string& metric,
                      CommandControl& control) {
    control.keep_best_so_far();
    control.end_progress();
    print_grid(result, metric);
    warn_of_edges(result);
    const double seconds = control.run().seconds();
    std::cout << fmt::format("seconds_tuning\t{:.2f}\n", seconds);
    return seconds;
  }

  int tune_rows(std::span<const OptionValues> grid, Executor& executor, CommandControl& control) {
    const RunOptions& options = arguments_.run_options();
    const TuneOptions& tuning = tuning_.parse();
    const std::string metric = tuning.metric.empty() ? "micro_f1" : tuning.metric;
    TrainingArguments::Data data = arguments_.read(control, options.strict);
    std::vector<Split> splits = make_splits(data.raw.labels, tuning);
    validate_on_labelled(splits, data.raw.labels);
    const OptionValues fixed = arguments_.method_options();
    if (data.hierarchy_or_null() != nullptr && takes_partial_labels(fixed, grid)) {
      validate_on_leaves(splits, data.raw.labels, data.raw.codec, *data.hierarchy_or_null(),
                         data.raw.source);
    }
    const PreprocessingOptions preprocessing = arguments_.preprocessing_for(*arguments_.start());
    const TuningResult result = search(grid, metric, [&](std::span<const OptionValues> points) {
      TuningResult measured =
          tune(arguments_.method(), fixed, points, data.raw, data.hierarchy_or_null(),
               preprocessing, splits, metric, executor, control.run());
      require_finished(measured, splits.size());
      return measured;
    });
    const double seconds = print(result, metric, control);
    const auto winner = arguments_.start(result.points[result.best].values);
    const PreparedRows prepared =
        prepare_rows(std::move(data.raw), data.hierarchy_or_null(),
                     arguments_.preprocessing_for(*winner), {}, &control.run());
    const ModelParts model =
        train_with_reports(arguments_.method(), *winner, options, prepared.training_set(),
                           prepared.preprocessing, executor, control);
    save_and_print(model, arguments_.result_path(), control, seconds);
    return control.exit_code();
  }

  /// For methods whose examples are the sentences of a file.
  int tune_file(std::span<const OptionValues> grid, Executor& executor, CommandControl& control) {
    const Method& method = arguments_.method();
    const TuneOptions& tuning = tuning_.parse();
    const std::string& path = arguments_.data_path();
    std::string metric = tuning.metric;
    require<InvalidOption>(std::filesystem::is_regular_file(path), path,
                           ": tune reads the examples more than once, which a pipe does not allow; "
                           "give a file");
    // Reports errors with their lines.
    method.read_examples({path}, arguments_.start()->options(), &control.run());
    const std::vector<std::string> sentences = read_sentences(path, &control.run());
    LabelSets same;  // no strata
    for (std::size_t i = 0; i < sentences.size(); ++i) same.append(std::array{LabelId{0}});
    const std::vector<Split> splits = make_splits(same, tuning);
    const OptionValues fixed = arguments_.method_options();
    const TuningResult result = search(grid, metric, [&](std::span<const OptionValues> points) {
      TuningResult measured =
          tune_sentences(method, fixed, points, sentences, splits, metric, executor, control.run());
      require_finished(measured, splits.size());
      return measured;
    });
    const double seconds = print(result, metric, control);
    const auto winner = arguments_.start(result.points[result.best].values);
    const auto examples = method.read_examples({path}, winner->options(), &control.run());
    TrainingSet data;
    data.examples = examples.get();
    data.source = path;
    const ModelParts model =
        train_with_reports(method, *winner, arguments_.run_options(), data, {}, executor, control);
    save_and_print(model, arguments_.result_path(), control, seconds);
    return control.exit_code();
  }

  TrainingArguments arguments_;
  BoundOptions<TuneOptions> tuning_;
  std::vector<std::string> grid_;
};

}  // namespace

Verb tune_verb() {
  return make_verb<Tune>("tune",
                         "choose options on the training data, then train with the best ones");
}

}  // namespace margrove::cli
