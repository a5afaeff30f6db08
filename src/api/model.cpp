#include "margrove/model.hpp"

#include <algorithm>
#include <utility>

#include "api/checked_examples.hpp"
#include "eval/evaluation.hpp"
#include "io/model_file.hpp"
#include "methods/labelled_rows.hpp"
#include "methods/model_rows.hpp"
#include "methods/training.hpp"
#include "model/calibration.hpp"
#include "model/log_odds.hpp"
#include "model/model.hpp"
#include "model/sentence_predictor.hpp"
#include "model/weight_compression.hpp"
#include "report/report.hpp"

namespace margrove {
namespace {

constexpr std::size_t kRowsPerTask = 64;

/// Gives labels the ids of `codec`, and those that it lacks the ids after it.
void number_as(const LabelCodec& codec, Examples& examples) {
  const LabelCodec given = std::exchange(examples.codec, codec);
  const LabelSets labels = std::exchange(examples.labels, examples.labels.without_rows());
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    set.clear();
    for (const LabelId label : labels[i]) {
      const std::string& name = given.name(label);
      const auto known = examples.codec.find(name);
      set.push_back(known ? *known : examples.codec.add(name));
    }
    examples.labels.append(set);
  }
}

/// The part of each row's probabilities that `part` names, row after row.
std::vector<double> probability_rows(const ModelParts& parts, const Rows& rows, Executor& executor,
                                     const HierarchyProbabilities* hierarchy,
                                     std::span<const double> RowProbabilities::*part) {
  if (!parts.rows().gives_one_label()) require_probabilities(parts);
  const FeatureRows input(parts, rows, executor);
  const std::size_t num_labels = parts.labels.size();
  std::vector<double> all(input.matrix().num_rows() * num_labels);
  for_probabilities(parts.rows(), parts.probability_rule(), hierarchy, input.matrix(), executor,
                    [&](std::size_t i, const RowProbabilities& p) {
                      const std::span<const double> row = p.*part;
                      std::copy(row.begin(), row.end(),
                                all.begin() + static_cast<std::ptrdiff_t>(i * num_labels));
                    });
  return all;
}

}  // namespace

Model::Model(std::unique_ptr<const ModelParts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::load(const std::string& path) {
  return Model(std::make_unique<ModelParts>(load_model(path)));
}
void Model::save(const std::string& path) const { save_model(*parts_, path); }

const std::string& Model::method() const { return parts_->method; }
const std::vector<std::pair<std::string, std::string>>& Model::options() const {
  return parts_->options;
}
const LabelCodec& Model::labels() const { return parts_->labels; }
const LabelGraph& Model::hierarchy() const { return parts_->hierarchy; }
const FitReport& Model::report() const { return parts_->report; }
std::vector<Fact> Model::facts() const { return parts_->predictor->facts(); }

Examples Model::read(const std::string& path, const std::vector<ExampleOptions::ViewFile>& views,
                     RunControl* control, const std::string& vector_file) const {
  parts_->rows();  // throws for models of sentences
  Examples examples =
      read_rows_of_model(*parts_, {.rows = path, .views = views, .vectors = vector_file}, control);
  number_as(parts_->labels, examples);
  return examples;
}

LabelSets Model::predict(const Rows& rows, Executor& executor) const {
  const RowPredictor& predictor = parts_->rows();
  return predictor.predict(FeatureRows(*parts_, rows, executor).matrix(), executor);
}

RankedLabels Model::top(const Rows& rows, std::size_t k, Executor& executor) const {
  const RowPredictor& predictor = parts_->rows();
  return predictor.top(FeatureRows(*parts_, rows, executor).matrix(), k, executor);
}

std::vector<float> Model::scores(const Rows& rows, Executor& executor) const {
  const RowPredictor& predictor = parts_->rows();
  const FeatureRows input(*parts_, rows, executor);
  const std::size_t num_labels = predictor.num_labels(), num_rows = input.matrix().num_rows();
  std::vector<float> all(num_rows * num_labels);
  executor.for_ranges(num_rows, kRowsPerTask, [&](std::size_t begin, std::size_t end, int) {
    predictor.scores(input.matrix(), begin, end,
                     std::span(all).subspan(begin * num_labels, (end - begin) * num_labels));
  });
  return all;
}

std::vector<double> Model::probabilities(const Rows& rows, Executor& executor) const {
  return probability_rows(*parts_, rows, executor, nullptr, &RowProbabilities::labels);
}

std::vector<double> Model::node_probabilities(const Rows& rows, Executor& executor) const {
  const HierarchyProbabilities hierarchy(parts_->hierarchy);
  return probability_rows(*parts_, rows, executor, &hierarchy, &RowProbabilities::nodes);
}

Explanation Model::explain(const Rows& rows, std::size_t i, LabelId label,
                           std::size_t num_strongest) const {
  parts_->rows();  // throws for models of sentences
  const FeatureRows input(*parts_, rows);
  require(i < input.matrix().num_rows(), "explain: row is ", i, ", but must be below ",
          input.matrix().num_rows());
  return parts_->explain(input.matrix().row(i), label, num_strongest);
}

std::string Model::feature_name(FeatureId feature) const { return parts_->feature_name(feature); }

Metrics Model::evaluate(const LabelSets& truth, const LabelSets& predicted) const {
  return compute_metrics(truth, predicted, parts_->hierarchy, parts_->in_training());
}

namespace {

/// The rows on which a model can be measured.
Examples measurable(const ModelParts& parts, Examples labelled) {
  require_consistent(labelled);
  if (parts.rows().gives_one_label()) leave_out_unlabelled(labelled);
  return labelled;
}

}  // namespace

std::vector<std::pair<std::string, double>> Model::evaluate(const Examples& labelled,
                                                            const std::vector<std::string>& metrics,
                                                            Executor& executor) const {
  const EvaluatedRows rows =
      evaluated_rows(*parts_, measurable(*parts_, labelled), nullptr, nullptr, executor);
  std::vector<std::pair<std::string, double>> values;
  for (const EvaluatedMetric& each :
       evaluate_rows(*parts_, rows, {.metrics = {metrics}}, executor).metrics) {
    values.emplace_back(each.name, each.value);
  }
  return values;
}

std::string Model::report_page(const Examples& labelled, const std::string& title,
                               Executor& executor) const {
  const Examples kept = measurable(*parts_, labelled);
  const EvaluatedRows rows = evaluated_rows(*parts_, kept, nullptr, nullptr, executor);
  return report_html({*parts_, rows, kept.texts()}, {.title = title}, executor);
}

Model Model::compressed(double keep, WeightPrecision precision) const {
  auto copy = std::make_unique<ModelParts>(*parts_);
  compress(*copy, {keep, precision});
  return Model(std::move(copy));
}

std::string Model::predict_file(const std::string& path, Executor& executor,
                                RunControl* control) const {
  const FilePredictor* files = parts_->predictor->files();
  require(files != nullptr, "the model is of method ", parts_->method,
          ", but must be one of sentences");
  RunControl unlimited;
  return files->predict_file(path, executor, control != nullptr ? *control : unlimited);
}

std::vector<Sentence> Model::predict_sentences(std::span<const Sentence> sentences,
                                               Executor& executor, RunControl* control) const {
  RunControl unlimited;
  return sentences_of(*parts_).answers({sentences, "sentences", 0}, executor,
                                       control != nullptr ? *control : unlimited);
}

std::vector<std::pair<std::string, double>> Model::evaluate_sentences(
    std::span<const Sentence> sentences, Executor& executor, RunControl* control) const {
  RunControl unlimited;
  std::vector<std::pair<std::string, double>> values;
  const FileEvaluation found = sentences_of(*parts_).evaluate_file(
      {sentences, "sentences", 0}, executor, control != nullptr ? *control : unlimited);
  for (const NamedValue& each : found.values) values.emplace_back(each.name, each.value);
  return values;
}

std::string Model::explain_sentence(const Sentence& sentence, std::size_t num_others) const {
  const SentencePredictor& predictor = explained_sentences_of(*parts_);
  RunControl unlimited;
  return explanation_text(predictor.explain_sentence({std::span(&sentence, 1), "sentences", 0}, 1,
                                                     num_others, unlimited));
}

}  // namespace margrove
