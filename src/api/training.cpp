#include "margrove/training.hpp"

#include <memory>
#include <utility>

#include "methods/training.hpp"

namespace margrove {
namespace {

/// Equal rows become one with the sum of their weights, so that weights stand for repetitions.
void weigh(PreparedRows& prepared, std::span<const double> row_weights) {
  auto merged = merge_equal_rows(prepared.X, prepared.labelled.labels, row_weights);
  if (!merged) return;
  prepared.X = select_rows(prepared.X, merged->rows);
  prepared.labelled.labels = select_rows(prepared.labelled.labels, merged->rows);
  prepared.row_weights = std::move(merged->row_weights);
}

void scale_columns(PreparedRows& prepared, ColumnScale scale) {
  std::vector<FeatureId> columns = std::move(prepared.preprocessing.columns);
  prepared.preprocessing = Preprocessing::fit_columns(prepared.X, scale, prepared.row_weights);
  if (!prepared.preprocessing.keeps_rows()) {
    prepared.X = prepared.preprocessing.apply(prepared.X.view());
  }
  prepared.preprocessing.columns = std::move(columns);
}

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
  // Scales are fitted to the merged rows, so that weights and repetitions give the same bits.
  const bool scales_merged_rows =
      !data.row_weights.empty() && !preprocessing.text && data.scaling == RowScaling::none;
  const ColumnScale scale = preprocessing.scale;
  if (scales_merged_rows) preprocessing.scale = ColumnScale::none;
  ReadRows rows = std::visit([](auto& each) { return ReadRows(std::move(each)); }, data.rows);
  PreparedRows prepared = prepare_rows(RawRows(std::move(rows), "training data"),
                                       data.hierarchy ? &*data.hierarchy : nullptr, preprocessing);
  if (!data.row_weights.empty()) weigh(prepared, data.row_weights);
  if (scales_merged_rows) scale_columns(prepared, scale);
  RunControl unlimited;
  return Model(std::make_unique<ModelParts>(
      train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor,
                  control != nullptr ? *control : unlimited)));
}

}  // namespace margrove
