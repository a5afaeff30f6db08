#include "margrove/training.hpp"

#include <memory>
#include <utility>

#include "methods/training.hpp"

namespace margrove {
namespace {

std::unique_ptr<MethodRun> start(const Method& method, const Estimator& estimator) {
  auto run = method.start();
  std::visit(
      [&](auto options) {
        const OptionTable given(options);
        OptionTable& table = run->options();
        for (const OptionInfo& each : given.list()) table.set(each.name, given.get(each.name));
      },
      estimator);
  return run;
}

}  // namespace

Model train(const Estimator& estimator, TrainingData data, Executor& executor,
            RunControl* control) {
  const Method& method =
      find_method(std::visit([](const auto& options) { return options.kMethod; }, estimator));
  const auto run = start(method, estimator);
  PreprocessingOptions preprocessing;
  static_cast<TfidfOptions&>(preprocessing) = data.tfidf;
  preprocessing.text = std::holds_alternative<TextDataset>(data.rows);
  preprocessing.tfidf = !preprocessing.text && data.scaling == RowScaling::tfidf;
  preprocessing.normalize = !preprocessing.text && data.scaling == RowScaling::unit_norm;
  preprocessing.scale = data.column_scale;
  preprocessing = preprocessing_for(method, run->options(), preprocessing);
  ReadRows rows = std::visit([](auto& each) { return ReadRows(std::move(each)); }, data.rows);
  const PreparedRows prepared = prepare_rows(RawRows(std::move(rows), "training data"),
                                             data.hierarchy ? &*data.hierarchy : nullptr,
                                             preprocessing, std::move(data.row_weights), control);
  RunControl unlimited;
  return Model(std::make_unique<ModelParts>(
      train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor,
                  control != nullptr ? *control : unlimited)));
}

}  // namespace margrove
