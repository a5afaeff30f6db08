#include "eval/evaluated_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "margrove/errors.hpp"
#include "model/calibration.hpp"
#include "model/finite_scores.hpp"
#include "model/training_set.hpp"

namespace margrove {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// Appends the nodes of `hierarchy` to the model's labels.
void use_hierarchy(const Hierarchy& hierarchy, EvaluatedRows& rows) {
  for (const std::string& name : rows.labels.names()) {
    const auto node = hierarchy.codec.find(name);
    require(node && hierarchy.codec.name(*node) == name, hierarchy.source, ": label '", name,
            "' of the model is not a node of the hierarchy, but must be one");
  }
  for (const std::string& name : hierarchy.codec.names()) rows.labels.add(name);
  std::vector<LabelEdge> edges;
  for (const auto& [parent, child] : hierarchy.edges) {
    edges.push_back({*rows.labels.find(hierarchy.codec.name(parent)),
                     *rows.labels.find(hierarchy.codec.name(child))});
  }
  rows.hierarchy = LabelGraph::build(static_cast<std::uint32_t>(rows.labels.size()), edges);
}

/// Rows without labels and features.
EvaluatedRows empty_rows(const ModelParts& model, const Hierarchy* hierarchy) {
  EvaluatedRows rows;
  rows.labels = model.labels;
  rows.hierarchy = model.hierarchy;
  if (hierarchy != nullptr) use_hierarchy(*hierarchy, rows);
  rows.in_training = model.in_training();
  rows.in_training.resize(rows.labels.size(), false);
  return rows;
}

void set_truth(const LabelSets& labels, const LabelCodec& codec, EvaluatedRows& rows) {
  TranslatedLabels truth = translate_labels(labels, codec, rows.labels);
  rows.truth = std::move(truth.labels);
  rows.num_unknown_labels = truth.num_unknown_labels;
  rows.num_rows_with_unknown = truth.num_rows_with_unknown;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {  // numbered as they first occur
    for (const LabelId label : labels[i]) rows.labels.add(codec.name(label));
  }
}

void count_training_rows(const ModelParts& model, const Examples* training, EvaluatedRows& rows) {
  if (training == nullptr) {
    rows.training_rows.assign(rows.labels.size(), 0);
    std::ranges::copy(model.training_rows, rows.training_rows.begin());
    const bool are_counts = std::ranges::any_of(model.training_rows, [](auto n) { return n > 1; });
    if (model.rows().gives_one_label() && are_counts) {
      rows.num_training_rows =
          std::accumulate(model.training_rows.begin(), model.training_rows.end(), std::size_t{0});
    }
    return;
  }
  set_training_rows(training->labels, training->codec, rows);
}

/// What users call a row.
auto where_in(const EvaluatedRows& rows) {
  return [&rows](std::size_t row) {
    return rows.source.empty() ? concat("row ", row) : concat(rows.source, ": row ", row + 1);
  };
}

using ScoreFunction = void (RowPredictor::*)(const CsrView&, std::size_t, std::size_t,
                                             std::span<float>) const;

/// Computes the labels' scores of a block of rows and calls use(row of scores, row of the block).
template <class Use>
void for_label_scores(const RowPredictor& predictor, ScoreFunction function,
                      const EvaluatedRows& rows, std::size_t begin, std::size_t end,
                      std::span<double> block, std::size_t num_columns, const Use& use) {
  const std::size_t num_labels = predictor.num_labels();
  std::vector<float> scores((end - begin) * num_labels);
  naming_rows(where_in(rows), [&] { (predictor.*function)(rows.X, begin, end, scores); });
  for (std::size_t i = 0; i < end - begin; ++i) {
    use(std::span<const float>(scores).subspan(i * num_labels, num_labels),
        block.subspan(i * num_columns, num_columns));
  }
}

void widen(std::span<const float> scores, std::span<double> row) {
  std::ranges::copy(scores, row.begin());
  std::ranges::fill(row.subspan(scores.size()), kLowest);
}

}  // namespace

EvaluatedRows evaluated_rows(const ModelParts& model, const Examples& raw,
                             const Hierarchy* hierarchy, const Examples* training,
                             Executor& executor) {
  require<InvalidOption>(hierarchy == nullptr || !model.has_hierarchy,
                         "option hierarchy is given, but the model has a hierarchy of its own");
  EvaluatedRows rows = empty_rows(model, hierarchy);
  set_truth(raw.labels, raw.codec, rows);
  count_training_rows(model, training, rows);
  rows.X = preprocess(model, raw, nullptr, executor);
  rows.source = raw.source;
  rows.predicted =
      naming_rows(where_in(rows), [&] { return model.rows().predict(rows.X, executor); });
  return rows;
}

EvaluatedRows evaluated_rows(const ModelParts& model, CsrMatrix X, const LabelSets& labels,
                             const LabelCodec& codec, Executor& executor) {
  require(X.num_rows() == labels.num_rows(), "evaluated rows: ", X.num_rows(), " rows and ",
          labels.num_rows(), " label sets, but there must be one label set per row");
  EvaluatedRows rows = empty_rows(model, nullptr);
  set_truth(labels, codec, rows);
  count_training_rows(model, nullptr, rows);
  rows.X = std::move(X);
  rows.predicted = model.rows().predict(rows.X, executor);
  return rows;
}

void set_training_rows(const LabelSets& labels, const LabelCodec& codec, EvaluatedRows& rows) {
  rows.num_training_rows = labels.num_rows();
  rows.training_rows.assign(rows.labels.size(), 0);
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId label : labels[i]) {
      if (const auto id = rows.labels.find(codec.name(label))) ++rows.training_rows[*id];
    }
  }
}

ScoreRows label_score_rows(const ModelParts& model, const EvaluatedRows& rows) {
  const std::size_t num_columns = rows.labels.size();
  return {
      rows.X.num_rows(), num_columns,
      [&model, &rows, num_columns](std::size_t begin, std::size_t end, std::span<double> block) {
        for_label_scores(model.rows(), &RowPredictor::ranking_scores, rows, begin, end, block,
                         num_columns, widen);
      }};
}

ScoreRows node_score_rows(const ModelParts& model, const EvaluatedRows& rows) {
  const std::size_t num_columns = rows.labels.size();
  if (model.calibration && model.rows().gives_one_label()) {
    const auto probabilities = std::make_shared<const HierarchyProbabilities>(rows.hierarchy);
    return {rows.X.num_rows(), num_columns,
            [&model, &rows, num_columns, probabilities](std::size_t begin, std::size_t end,
                                                        std::span<double> block) {
              const std::size_t num_nodes = rows.hierarchy.num_nodes();
              std::vector<double> labels(num_nodes, 0.0);
              for_label_scores(
                  model.rows(), &RowPredictor::probability_scores, rows, begin, end, block,
                  num_columns, [&](std::span<const float> scores, std::span<double> row) {
                    softmax(scores, model.temperature(), std::span(labels).first(scores.size()));
                    probabilities->sum_below(labels, row.first(num_nodes));
                    std::ranges::fill(row.subspan(num_nodes), kLowest);
                  });
            }};
  }
  return {
      rows.X.num_rows(), num_columns,
      [&model, &rows, num_columns](std::size_t begin, std::size_t end, std::span<double> block) {
        for_label_scores(model.rows(), &RowPredictor::scores, rows, begin, end, block, num_columns,
                         [&](std::span<const float> scores, std::span<double> row) {
                           widen(scores, row);
                           raise_parents(rows.hierarchy, row);
                         });
      }};
}

std::vector<double> predicted_probabilities(const ModelParts& model, const CsrView& X,
                                            const LabelSets& predicted, Executor& executor) {
  std::vector<double> probabilities(X.num_rows(), 0.0);
  for_probabilities(model.rows(), model.probability_rule(), nullptr, X, executor,
                    [&](std::size_t i, const RowProbabilities& p) {
                      if (!predicted[i].empty()) probabilities[i] = p.labels[predicted[i].front()];
                    });
  return probabilities;
}

Confidences confidences_of(const ModelParts& model, const EvaluatedRows& rows, Executor& executor) {
  const std::size_t num_rows = rows.X.num_rows();
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Confidences all{std::vector<double>(num_rows),
                  {},
                  std::vector<double>(num_rows, kNone),
                  std::vector<double>(num_rows, kNone)};
  std::vector<char> right(num_rows);
  for_probabilities(model.rows(), model.probability_rule(), nullptr, rows.X, executor,
                    [&](std::size_t i, const RowProbabilities& p) {
                      const auto truth = rows.truth[i];
                      const auto predicted = rows.predicted[i];
                      // Rows whose scores overflow are predicted to have no label.
                      all.confidence[i] = predicted.empty() ? 0.0 : p.labels[predicted.front()];
                      right[i] = static_cast<char>(std::ranges::equal(truth, predicted));
                      if (truth.size() != 1) return;
                      const bool is_known = truth.front() < p.labels.size();
                      const double of_truth = is_known ? p.labels[truth.front()] : 0.0;
                      double squares = 0;
                      for (const double each : p.labels) squares += each * each;
                      all.of_truth[i] = of_truth;
                      all.square_error[i] = squares - 2 * of_truth + 1;
                    });
  all.right.assign(right.begin(), right.end());
  return all;
}

}  // namespace margrove
