// margrove tune

#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "base/atomic_file.hpp"
#include "cli/training.hpp"
#include "cli/training_reports.hpp"
#include "cli/verbs.hpp"
#include "eval/example_tuning.hpp"
#include "eval/tuning.hpp"

namespace margrove::cli {
namespace {

void warn_of_edges(const TuningResult& result) {
  for (const std::string name : {"C", "lambda"}) {
    const Place place = place_of_best(result, name);
    if (place != Place::smallest && place != Place::largest) continue;
    const bool is_smallest = place == Place::smallest;
    warn(fmt::format("the best {}, {:g}, is the {} that was tried; {} ones may be better", name,
                     *best_number(result, name), is_smallest ? "smallest" : "largest",
                     is_smallest ? "smaller" : "larger"));
  }
}

class Tune final : public Command {
 public:
  Tune(CLI::App& app, const std::vector<std::string>& arguments) {
    arguments_.declare(app, arguments);
    app.add_option(
           "--grid", grid_,
           "values to try, for example C=0.1,1,10, of an option of the method or of the "
           "preprocessing, such as char-ngrams=none,3-5; may be repeated for other options. "
           "Default: C from 0.01 to 100, and beyond while the best value is the smallest "
           "or the largest one")
        ->type_name("NAME=VALUES")
        ->allow_extra_args(false);
    tuning_.declare(app, "Tuning");
  }

  int run() override {
    const auto method_run = arguments_.start();
    const bool reads_examples = arguments_.reads_examples(*method_run);
    arguments_.set_grid(grid_of(tuning(), arguments_.method(), method_run->options()));
    const PreprocessingOptions preprocessing = arguments_.preprocessing();
    for (const OptionValues& point :
         arguments_.grid()) {  // wrong options are reported before training
      arguments_.start(reads_examples ? point : options_of_point(point, preprocessing).of_method);
    }
    const RunOptions& options = arguments_.run_options();
    require_writable(arguments_.result_path());  // not empty
    require_result_writable(arguments_.result_path(), arguments_.input_paths());
    CommandControl control(options.progress_form(), options.time_limit_seconds);
    control.run().limit_memory(1e9 * options.memory_limit);
    control.end_at_limit();
    Executor executor(options.threads);
    if (reads_examples) return tune_file(executor, control);
    return tune_rows(executor, control);
  }

 private:
  TuneOptions tuning() {
    TuneOptions options = tuning_.parse();
    options.grid = grid_;
    return options;
  }

  /// Returns the seconds of the command so far, of which `earlier` came before the search.
  static double print(const TuningResult& result, const std::string& metric,
                      CommandControl& control, double earlier = 0) {
    control.keep_best_so_far();
    control.end_progress();
    print_grid(result, metric);
    warn_of_edges(result);
    const double seconds = control.run().seconds();
    std::cout << fmt::format("seconds_tuning\t{:.2f}\n", seconds - earlier);
    return seconds;
  }

  int tune_rows(Executor& executor, CommandControl& control) {
    const RunOptions& options = arguments_.run_options();
    TuneOptions tuning = this->tuning();
    if (tuning.metric.empty()) tuning.metric = "micro_f1";
    TrainingArguments::Data data = arguments_.read(control, options.strict);
    const Method& method = arguments_.method();
    const OptionValues fixed = arguments_.method_options();
    const PreprocessingOptions given =
        with_searched_terms(arguments_.preprocessing(options.threads), data.raw, arguments_.grid());
    const ChosenTerms terms =
        print_terms(search_terms(method, fixed, data.raw, data.hierarchy_or_null(), given, {},
                                 tuning_.parse().metric, executor, control.run()),
                    given, control);
    const TuningResult result =
        search_rows(method, fixed, data.raw, data.hierarchy_or_null(),
                    preprocessing_for(method, arguments_.start()->options(), terms.preprocessing),
                    {}, tuning, executor, control.run());
    const double seconds = print(result, tuning.metric, control, terms.seconds);
    const PointOptions best =
        options_of_point(result.points[result.best].values, terms.preprocessing);
    const auto winner = arguments_.start(best.of_method);
    const PreparedRows prepared =
        prepare_rows(std::move(data.raw), data.hierarchy_or_null(),
                     preprocessing_for(method, winner->options(), best.preprocessing), {},
                     &control.run(), executor);
    const ModelParts model = train_with_reports(method, *winner, options, prepared.training_set(),
                                                prepared.preprocessing, executor, control);
    save_and_print(model, arguments_.result_path(), control, seconds);
    return control.exit_code();
  }

  /// For methods whose examples are the sentences of a file.
  int tune_file(Executor& executor, CommandControl& control) {
    const Method& method = arguments_.method();
    const std::string& path = arguments_.data_path();
    std::string metric;
    require<InvalidOption>(std::filesystem::is_regular_file(path), path,
                           ": tune reads the examples more than once, which a pipe does not allow; "
                           "give a file");
    // Reports errors with their lines.
    method.read_examples({path}, arguments_.start()->options(), &control.run());
    const TuningResult result =
        search_sentences(method, arguments_.method_options(), SentenceSet(path, &control.run()),
                         tuning(), metric, executor, control.run());
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
