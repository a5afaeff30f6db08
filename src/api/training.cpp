#include "margrove/training.hpp"

#include <memory>
#include <utility>

#include "api/checked_examples.hpp"
#include "eval/automatic_choice.hpp"
#include "eval/example_tuning.hpp"
#include "eval/held_out.hpp"
#include "eval/term_search.hpp"
#include "eval/tuning.hpp"
#include "methods/training.hpp"

namespace margrove {
namespace {

const Method& method_of(const Estimator& estimator) {
  return find_method(std::visit([](const auto& options) { return options.kMethod; }, estimator));
}

/// The options that are not at their defaults.
OptionValues values_of(const Estimator& estimator) {
  return std::visit(
      [](auto options) {
        const OptionTable given(options);
        OptionValues values;
        for (const OptionInfo& each : given.list()) {
          std::string value = given.get(each.name);
          if (value != each.default_value) values.emplace_back(each.name, std::move(value));
        }
        return values;
      },
      estimator);
}

std::unique_ptr<MethodRun> start(const Method& method, const OptionValues& values) {
  auto run = method.start();
  set_options(run->options(), values);
  return run;
}

PreprocessingOptions preprocessing_of(const TrainingData& data) {
  PreprocessingOptions options;
  static_cast<TfidfOptions&>(options) = data.tfidf;
  options.tfidf = data.scaling == RowScaling::tfidf;
  options.normalize = data.scaling == RowScaling::unit_norm;
  options.scale = data.column_scale;
  options.kernel_features = KernelFeatures::Choice::parse(data.kernel_features);
  options.kernel_gamma = data.kernel_gamma;
  options.weights.class_weight = data.class_weight;
  if (data.kernel_model != nullptr) {  // without a share in it, which the caller has
    options.kernel_model = {std::shared_ptr<void>(), &data.kernel_model->parts()};
    options.kernel_model_name = "given";
  }
  return options;
}

/// The values of options that the grid does not set.
OptionValues without_grid(OptionValues values, const std::vector<OptionValues>& grid) {
  for (const auto& set : grid.front()) {
    std::erase_if(values, [&](const auto& each) { return each.first == set.first; });
  }
  return values;
}

/// The caller's data and control, or their defaults.
class Training {
 public:
  Training(TrainingData data, Executor& executor, RunControl* control)
      : data_(std::move(data)),
        executor_(executor),
        control_(control != nullptr ? *control : unlimited_) {
    require_consistent(data_.rows);
    if (data_.rows.source.empty()) data_.rows.source = "training data";
    if (!data_.hierarchy) data_.hierarchy = std::exchange(data_.rows.hierarchy, std::nullopt);
    require<InvalidOption>(data_.calibration >= 0 && data_.calibration < 1,
                           "option calibration is ", data_.calibration, ", but must be in [0, 1)");
  }

  const TrainingData& data() const { return data_; }
  Examples& rows() { return data_.rows; }
  const Hierarchy* hierarchy() const { return data_.hierarchy ? &*data_.hierarchy : nullptr; }
  Executor& executor() { return executor_; }
  RunControl& control() { return control_; }
  /// The options of the data, whose terms the method with these options may choose.
  PreprocessingOptions preprocessing(const Method& method, const OptionValues& values) {
    return preprocessing(method, values, preprocessing_of(data_), "");
  }
  /// The same for a search for options of the method.
  PreprocessingOptions preprocessing(const Method& method, const OptionValues& values,
                                     const std::vector<OptionValues>& grid,
                                     const std::string& metric) {
    return preprocessing(method, values,
                         with_searched_terms(preprocessing_of(data_), data_.rows, grid), metric);
  }
  PreprocessingOptions preprocessing(const Method& method, const OptionValues& values,
                                     PreprocessingOptions given, const std::string& metric) {
    auto search = search_terms(method, values, data_.rows, hierarchy(), given, data_.row_weights,
                               metric, executor_, control_);
    return search ? std::move(search->preprocessing) : std::move(given);
  }
  /// The same before a method is chosen.
  PreprocessingOptions preprocessing(const AutomaticOptions& options) {
    PreprocessingOptions given = with_searched_terms(preprocessing_of(data_), data_.rows);
    auto search = search_terms(data_.rows, hierarchy(), given, options.metric, executor_, control_);
    return search ? std::move(search->preprocessing) : std::move(given);
  }
  double memory_limit() const { return control_.memory_limit() / 1e9; }

  /// Moves the rows out.
  std::unique_ptr<ModelParts> model(const Method& method, MethodRun& run,
                                    const PreprocessingOptions& preprocessing) {
    const PreparedRows prepared = prepare_rows(
        std::move(data_.rows), hierarchy(), preprocessing_for(method, run.options(), preprocessing),
        data_.row_weights, &control_, executor_);
    const TrainingSet set = prepared.training_set();
    const Plan plan = plan_training(method, run, set, executor_, control_);
    require_trainable(plan, run, set, memory_limit());
    auto model = std::make_unique<ModelParts>(
        train_model(method, run, plan, set, prepared.preprocessing, executor_, control_));
    if (data_.calibration > 0) {
      calibrate_held_out(*model, method, run, set, data_.calibration, executor_, control_);
    }
    return model;
  }

 private:
  TrainingData data_;
  Executor& executor_;
  RunControl unlimited_;
  RunControl& control_;
};

std::vector<Choice::Candidate> candidates_of(const AutomaticChoice& choice) {
  std::vector<Choice::Candidate> candidates;
  for (const CandidateResult& each : choice.candidates) {
    candidates.push_back(
        {each.method, each.options, std::string(name_of(each.verdict)), each.score});
  }
  return candidates;
}

}  // namespace

Model train(const Estimator& estimator, TrainingData data, Executor& executor,
            RunControl* control) {
  const Method& method = method_of(estimator);
  const OptionValues values = values_of(estimator);
  const auto run = start(method, values);
  Training training(std::move(data), executor, control);
  return Model(training.model(method, *run, training.preprocessing(method, values)));
}

namespace {

Model trained_on(const ExampleSource& source, const OptionValues& options, Executor& executor,
                 RunControl* control) {
  const Method& method = find_method("structured");
  const auto run = start(method, options);
  RunControl unlimited;
  RunControl& used = control != nullptr ? *control : unlimited;
  return Model(std::make_unique<ModelParts>(
      train_examples(method, *run, source, nullptr, used.memory_limit() / 1e9, executor, used)));
}

}  // namespace

Model train_sentences(std::span<const Sentence> sentences, const OptionValues& options,
                      Executor& executor, RunControl* control) {
  return trained_on({sentences, "sentences", 0}, options, executor, control);
}

Tuned tune_sentences(std::span<const Sentence> sentences, const OptionValues& options,
                     const TuneOptions& tuning, Executor& executor, RunControl* control) {
  validate(tuning);
  const Method& method = find_method("structured");
  RunControl unlimited;
  RunControl& used = control != nullptr ? *control : unlimited;
  const ExampleSource source(sentences, "sentences", 0);
  OptionValues values = without_grid(options, grid_of(tuning, method, method.start()->options()));
  method.read_examples({source}, start(method, values)->options(), &used);  // reports errors
  std::string metric;
  TuningResult result =
      search_sentences(method, values, SentenceSet(source), tuning, metric, executor, used);
  const OptionValues& best = result.points[result.best].values;
  values.insert(values.end(), best.begin(), best.end());
  Model model = trained_on(source, values, executor, &used);
  return {std::move(result.points), result.best, std::move(model)};
}

Model train_sentences(const std::string& path, const OptionValues& options, Executor& executor,
                      RunControl* control) {
  return trained_on(path, options, executor, control);
}

Tuned tune(const Estimator& estimator, TrainingData data, const TuneOptions& options,
           Executor& executor, RunControl* control) {
  validate(options);
  const Method& method = method_of(estimator);
  const std::vector<OptionValues> grid = grid_of(options, method, method.start()->options());
  check_terms(data.tfidf, grid);
  const OptionValues given = values_of(estimator);
  OptionValues values = without_grid(given, grid);
  const auto run = start(method, values);
  Training training(std::move(data), executor, control);
  const PreprocessingOptions preprocessing =
      training.preprocessing(method, given, grid, options.metric);
  TuningResult result =
      search_rows(method, values, training.rows(), training.hierarchy(),
                  preprocessing_for(method, run->options(), preprocessing),
                  training.data().row_weights, options, executor, training.control());
  const PointOptions best = options_of_point(result.points[result.best].values, preprocessing);
  values.insert(values.end(), best.of_method.begin(), best.of_method.end());
  const auto winner = start(method, values);
  Model model(training.model(method, *winner, best.preprocessing));
  return {std::move(result.points), result.best, std::move(model)};
}

Choice choose(TrainingData data, const AutomaticOptions& options, Executor& executor,
              RunControl* control) {
  require<InvalidOption>(
      data.row_weights.empty() && data.class_weight == "none" && data.calibration == 0,
      "options row_weights, class_weight and calibration: choose() takes none of them");
  Training training(std::move(data), executor, control);
  const PreprocessingOptions preprocessing = training.preprocessing(options);
  const Hierarchy* hierarchy = training.hierarchy();
  AutomaticChoice choice =
      choose_automatically(training.rows(), hierarchy, preprocessing, options,
                           training.memory_limit(), executor, training.control());
  require<OutOfTimeLimit>(choice.model || choice.stop != Stop::time_limit,
                          "the time limit ended the search before any candidate was measured");
  require(choice.model.has_value(), "no candidate could be trained: ",
          choice.candidates.empty() ? std::string() : choice.candidates.front().note);
  std::vector<Choice::Candidate> candidates = candidates_of(choice);
  std::string metric = choice.metric, reason = reason_of(choice);
  auto model = std::make_unique<ModelParts>(
      train_chosen(choice, std::move(training.rows()), hierarchy, preprocessing, options,
                   training.memory_limit(), executor, training.control()));
  return {std::move(metric), std::move(candidates), std::move(reason), Model(std::move(model))};
}

}  // namespace margrove
