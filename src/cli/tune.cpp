// margrove tune

#include <fmt/format.h>

#include <iostream>

#include "base/atomic_file.hpp"
#include "cli/training.hpp"
#include "cli/verbs.hpp"
#include "eval/tuning.hpp"

namespace margrove::cli {
namespace {

struct TuneOptions {
  int folds = 0;
  double holdout = 0;
  std::string metric = "micro_f1";
  std::uint64_t split_seed = 0;
  static auto fields() {
    return std::tuple{
        field("folds", &TuneOptions::folds, at_least(0),
              "number of folds of a cross-validation; 0: 3 unless holdout is given"),
        field("holdout", &TuneOptions::holdout, between(0, 1),
              "instead of folds: share of each label's rows for validation"),
        field("metric", &TuneOptions::metric, Choices{}, "metric to choose by"),
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

class Tune final : public Command {
 public:
  Tune(CLI::App& app, const std::vector<std::string>& arguments) {
    arguments_.declare(app, arguments);
    app.add_option("--grid", grid_,
                   "values to try, for example C=0.1,1,10; may be repeated for other options")
        ->required()
        ->type_name("NAME=VALUES")
        ->allow_extra_args(false);
    tuning_.declare(app, "Tuning");
  }

  int run() override {
    const std::vector<OptionValues> grid = parse_grid(grid_);
    for (const OptionValues& point : grid)
      arguments_.start(point);  // reports wrong options before training
    require<InvalidOption>(!arguments_.reads_examples(*arguments_.start()), "tune: method ",
                           arguments_.method().name,
                           " with these options does not take rows, but tune needs them");
    const TuneOptions& tuning = tuning_.parse();
    const RunOptions& options = arguments_.run_options();
    require_writable(arguments_.result_path());  // not empty
    require_result_writable(arguments_.result_path(), arguments_.input_paths());
    CommandControl control(options.progress_form(), options.time_limit_seconds);
    control.end_at_limit();
    Executor executor(options.threads);
    TrainingArguments::Data data = arguments_.read(control, options.strict);
    const std::vector<Split> splits = make_splits(data.raw.labels, tuning);
    const OptionValues fixed = arguments_.method_options();
    const TuningResult result =
        tune(arguments_.method(), fixed, grid, data.raw, data.hierarchy_or_null(),
             arguments_.preprocessing_for(*arguments_.start()), splits, tuning.metric, executor,
             control.run());
    require<OutOfTimeLimit>(result.stop == Stop::converged,
                            "tune: the time limit ended the search before all ",
                            grid.size() * splits.size(), " runs were done; nothing was written");
    control.keep_best_so_far();
    control.end_progress();
    print_grid(result, tuning.metric);
    const double tuning_seconds = control.run().seconds();
    std::cout << fmt::format("seconds_tuning\t{:.2f}\n", tuning_seconds);

    const auto winner = arguments_.start(result.points[result.best].values);
    const PreparedRows prepared = prepare_rows(std::move(data.raw), data.hierarchy_or_null(),
                                               arguments_.preprocessing_for(*winner));
    const ModelParts model =
        train_with_reports(arguments_.method(), *winner, options, prepared.training_set(),
                           prepared.preprocessing, executor, control);
    save_and_print(model, arguments_.result_path(), control, tuning_seconds);
    return kOk;
  }

 private:
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
