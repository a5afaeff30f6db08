#pragma once
// A trained model: what train() returns and what a model file holds.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/examples.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/metrics.hpp"
#include "margrove/results.hpp"
#include "margrove/sentences.hpp"

namespace margrove MARGROVE_API {

struct ModelParts;

/// Immutable but for assignment; safe to use from many threads. Label ids are those of labels().
/// Every function of rows throws InvalidInput for rows of another kind than the model was trained
/// on, or without finite scores, and for models of sentences, which have their own below.
class Model {
 public:
  /// Throws ModelFileError with the path if the file is missing, damaged or of a later format.
  /// The weights of linear models are read when rows need them, so that the file stays open: it
  /// may be replaced or removed, and if it is written to, the next function that needs weights
  /// throws ModelFileError.
  static Model load(const std::string& path);
  /// Writes the whole file or none. Throws InvalidInput with the system's reason.
  void save(const std::string& path) const;

  const std::string& method() const;  // "nhsvm"
  /// Names and values of all options of the training.
  const std::vector<std::pair<std::string, std::string>>& options() const;
  const LabelCodec& labels() const;
  /// The hierarchy over the ids of labels(); it has no edges if none was given.
  const LabelGraph& hierarchy() const;
  /// How training ended: the gap, the reason to stop, warnings.
  const FitReport& report() const;
  /// Sizes, sparsity and other facts that help to understand the model.
  std::vector<Fact> facts() const;

  /// The rows of a file as the model takes them, with the ids of labels(); a file for each view but
  /// the first, and one of the vectors of texts and records (ExampleOptions::vector_file). Records
  /// may lack the column of labels. Throws as read_examples().
  Examples read(const std::string& path, const std::vector<ExampleOptions::ViewFile>& views = {},
                RunControl* control = nullptr, const std::string& vector_file = {}) const;

  /// A set of labels per row.
  LabelSets predict(const Rows& rows, Executor& executor = Executor::serial()) const;
  /// Ties go to the lowest label.
  RankedLabels top(const Rows& rows, std::size_t k, Executor& executor = Executor::serial()) const;
  /// num_rows x num_labels, row after row; -infinity for labels that are never predicted.
  std::vector<float> scores(const Rows& rows, Executor& executor = Executor::serial()) const;
  /// p(label | row), num_rows x num_labels. Where rows have several labels, each has its own, and
  /// only flat-lr, hr-lr and kernel-ridge have some: others throw InvalidInput.
  std::vector<double> probabilities(const Rows& rows,
                                    Executor& executor = Executor::serial()) const;
  /// The probability that the row has a label at or below each node of the hierarchy; num_rows x
  /// num_labels. Throws as probabilities().
  std::vector<double> node_probabilities(const Rows& rows,
                                         Executor& executor = Executor::serial()) const;
  /// The largest terms of row i's score for `label`. Throws InvalidInput if `label` is never
  /// predicted or the method cannot be explained.
  Explanation explain(const Rows& rows, std::size_t i, LabelId label,
                      std::size_t num_strongest = 10) const;
  /// What users call a feature of an explanation: a term, a column, "colour = red", or
  /// "(intercept)".
  std::string feature_name(FeatureId feature) const;
  /// Metrics of predicted label sets. Labels are ids of labels(); higher ids in `truth` count as
  /// labels unknown to the model, so that a reader may be given labels() as its codec. Throws as
  /// compute_metrics().
  Metrics evaluate(const LabelSets& truth, const LabelSets& predicted) const;
  /// Predicts labelled rows: the metrics of `margrove evaluate` and their values. Empty: all that
  /// the model and the rows allow. Rows without a label are left out where the model gives each row
  /// one. Throws InvalidOption for a metric that does not exist, InvalidInput for one that was
  /// asked for and is not defined here.
  std::vector<std::pair<std::string, double>> evaluate(
      const Examples& labelled, const std::vector<std::string>& metrics = {},
      Executor& executor = Executor::serial()) const;
  /// How the model performs on labelled rows, as a page of HTML that needs no other file. Throws
  /// InvalidInput if there are no rows.
  std::string report_page(const Examples& labelled, const std::string& title = "Margrove report",
                          Executor& executor = Executor::serial()) const;
  /// A smaller model with the share `keep` of the weights, in (0, 1], the largest ones. Throws
  /// InvalidInput for models of kernels and of sentences.
  Model compressed(double keep = 1, WeightPrecision precision = WeightPrecision::int8) const;
  /// Models of sentences: the predictions of the examples in a file, in the file's format. Throws
  /// InvalidInput for models of rows.
  std::string predict_file(const std::string& path, Executor& executor = Executor::serial(),
                           RunControl* control = nullptr) const;
  /// The same for sentences in memory: of each token its tag, or its head and relation. The numbers
  /// of sentences and tokens in messages count from 0.
  std::vector<Sentence> predict_sentences(std::span<const Sentence> sentences,
                                          Executor& executor = Executor::serial(),
                                          RunControl* control = nullptr) const;
  /// The metrics of `margrove evaluate` on sentences with answers, and their values.
  std::vector<std::pair<std::string, double>> evaluate_sentences(
      std::span<const Sentence> sentences, Executor& executor = Executor::serial(),
      RunControl* control = nullptr) const;
  /// Parsers: what `margrove explain` prints of a sentence, which are the scores of each word's arc
  /// and relation, and of its `num_others` best other heads and relations. Throws InvalidInput for
  /// models of rows, InvalidOption for chains.
  std::string explain_sentence(const Sentence& sentence, std::size_t num_others = 5) const;

  explicit Model(std::unique_ptr<const ModelParts> parts);
  /// For the library.
  const ModelParts& parts() const { return *parts_; }
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

 private:
  std::unique_ptr<const ModelParts> parts_;
};

}  // namespace margrove
