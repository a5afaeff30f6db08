#pragma once
// Names of labels as evidence. With m(x, l) the inner product of a row with the tf-idf vector of
// the names of label l, and s(x, l) what a classifier trained on rows says,
//
//   score(x, l) = s(x, l) + w m(x, l)   for labels with rows,
//   score(x, l) = c + w m(x, l)         for labels without rows.
//
// w and c are shared by all labels. They maximise the likelihood of softmax(a score) on the labels
// of rows whose s comes from a cross-validation, where a label whose rows are all held out has
// none. As m is linear in x, the result is a linear model again.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/weight_matrix.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "model/training_set.hpp"

namespace margrove {

/// w and c. The weight is 0 where names say nothing about the labels of held-out rows.
struct NameMatch {
  double weight = 0;
  double unseen = 0;
};

/// The warning where w is 0.
inline constexpr std::string_view kNamesSayNothing =
    "the names of labels say nothing about the labels of held-out rows, so that match_names "
    "changes nothing";

/// The names of each label, as one text: in measurements better than a vector for each kind of
/// name. None where rows are not texts.
std::vector<std::string> names_of_labels(const TrainingSet& data);
/// Why these names cannot count, as an error of the option match_names; empty if they can. They
/// cannot where rows are not texts or no label has a name, and where `bias` is 0.
std::string obstacle_of_names(std::span<const std::string> names, const TrainingSet& data,
                              double bias);
/// The labels that have names, ascending. Throws InvalidOption with obstacle_of_names().
std::vector<LabelId> named_labels(std::span<const std::string> names, const TrainingSet& data,
                                  double bias);
/// The names of labels as rows are made of texts: a row per term, a column for each of `labels`.
WeightMatrix name_vectors(std::span<const std::string> names, const TrainingSet& data,
                          std::span<const LabelId> labels);

/// The labels that occur in rows and those that have names, and the vectors of the names.
class NamedLabels {
 public:
  NamedLabels() = default;  // no labels
  /// `occurring`, ascending, are labels of data.codec. Throws as named_labels() does.
  NamedLabels(const TrainingSet& data, std::span<const LabelId> occurring, double bias);

  bool empty() const { return labels_.empty(); }
  /// Ascending.
  const std::vector<LabelId>& labels() const { return labels_; }
  std::size_t place_of_occurring(std::size_t position) const { return places_[position]; }
  /// One row per term, one column for each of labels().
  const WeightMatrix& names() const { return names_; }

  /// The model of labels() from weights of the labels that occur, one after the other, whose last
  /// feature is the intercept with the value `bias`. has_rows (of labels()): those without are
  /// taken for labels without rows.
  WeightMatrix with_names(const WeightMatrix& occurring, const std::vector<bool>& has_rows,
                          const NameMatch& match, double bias) const;

 private:
  std::vector<LabelId> labels_;
  std::vector<std::uint32_t> places_;  // in labels_, of each label that occurs
  WeightMatrix names_;
};

/// Held-out rows with their scores and similarities, on which w and c are fitted. Holds at most
/// kMostCells scores, of rows that lie evenly among all.
class HeldOutMatches {
 public:
  static constexpr std::size_t kMostCells = std::size_t{1} << 26U;

  /// `sets` has positions among the labels that occur; row_weights may be empty.
  HeldOutMatches(const NamedLabels& labels, const LabelSets& sets,
                 std::span<const double> row_weights);
  /// Bytes of all cells for so many rows and labels.
  static double num_bytes(std::size_t num_rows, std::size_t num_labels);

  /// Adds rows of X that a model, whose weights are those of the labels that occur, was not trained
  /// on. has_rows: of labels.labels(), in its training.
  void add(const CsrView& X, std::span<const std::uint32_t> held_out, const WeightMatrix& weights,
           std::vector<bool> has_rows, Executor& executor);
  /// Same bits for every size of the executor. Where `control` asks to end, the best so far.
  NameMatch fit(Executor& executor, RunControl& control) const;

 private:
  struct Row {
    std::uint32_t row;
    std::size_t fold;
  };
  struct Sums;
  Sums sums_of_row(const Row& row, std::size_t k, const std::vector<double>& theta) const;
  Sums sums(const std::vector<double>& theta, Executor& executor) const;
  enum class Fixed : std::uint8_t { none, score, match };  // the factor that stays as it is
  std::vector<double> maximum(std::vector<double> theta, Fixed fixed, Executor& executor,
                              RunControl& control) const;

  const NamedLabels& labels_;
  const LabelSets& sets_;
  std::span<const double> row_weights_;
  std::size_t step_;  // every so many rows are taken
  std::vector<Row> rows_;
  std::vector<std::vector<bool>> has_rows_;  // of each fold
  std::vector<float> scores_, matches_;      // of each row, all labels
};

}  // namespace margrove
