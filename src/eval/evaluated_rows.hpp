#pragma once
// Rows with their true and predicted labels, and the scores of labels and nodes.

#include <optional>
#include <string>
#include <vector>

#include "eval/score_rows.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "methods/training.hpp"
#include "model/model.hpp"

namespace margrove {

/// All labels have one numbering: those of the model, then further nodes of the hierarchy, then
/// further labels of the rows.
struct EvaluatedRows {
  LabelCodec labels;
  LabelGraph hierarchy;  // over the first ones; without edges where there is none
  LabelSets truth, predicted;
  std::vector<bool> in_training;             // of each node of the hierarchy
  std::vector<std::uint32_t> training_rows;  // of each label
  std::size_t num_training_rows = 0;         // 0: not known
  std::size_t num_unknown_labels = 0;        // distinct labels of the rows that are not nodes
  std::size_t num_rows_with_unknown = 0;
  CsrMatrix X;         // preprocessed
  std::string source;  // of the rows, for messages; empty: the rows are not of a file
};

/// Predicts the rows. `hierarchy` (may be null) is for models without one and must have all their
/// labels. `training` (may be null) are the rows the model was trained on, for the frequencies of
/// the labels; without them the counts in the model are used if each row had one label. Throws
/// InvalidInput naming a label of the model that is not a node, InvalidOption if the model has a
/// hierarchy already.
EvaluatedRows evaluated_rows(const ModelParts& model, const Examples& raw,
                             const Hierarchy* hierarchy, const Examples* training,
                             Executor& executor);

/// The same for rows that are preprocessed, whose labels are ids of `codec`, without further nodes.
EvaluatedRows evaluated_rows(const ModelParts& model, CsrMatrix X, const LabelSets& labels,
                             const LabelCodec& codec, Executor& executor);

/// Takes these for the rows that the model was trained on, in place of what the model says.
void set_training_rows(const LabelSets& labels, const LabelCodec& codec, EvaluatedRows& rows);

/// The scores of the labels; -infinity for those that are never predicted. Refers to its arguments.
ScoreRows label_score_rows(const ModelParts& model, const EvaluatedRows& rows);

/// Scores of the nodes; a parent's is never below its child's. If the model is calibrated, the
/// score is the probability of the labels at or below the node, otherwise their largest score.
/// Refers to its arguments.
ScoreRows node_score_rows(const ModelParts& model, const EvaluatedRows& rows);

/// The probability of each row's predicted label, 0 where it has none. `predicted` has the numbers
/// of the model, which must give each row one label; X is preprocessed.
std::vector<double> predicted_probabilities(const ModelParts& model, const CsrView& X,
                                            const LabelSets& predicted, Executor& executor);

/// Probabilities of the model's predictions, one entry per row.
struct Confidences {
  std::vector<double> confidence;    // probability of the predicted label
  std::vector<bool> right;           // whether it is the row's only label
  std::vector<double> of_truth;      // probability of the true label; NaN unless there is just one
  std::vector<double> square_error;  // sum_l (p_l - [l is true])^2; NaN alike
};
/// For models that give each row one label.
Confidences confidences_of(const ModelParts& model, const EvaluatedRows& rows, Executor& executor);

}  // namespace margrove
