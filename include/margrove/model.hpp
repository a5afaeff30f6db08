#pragma once
// A trained model: what train() returns and what a model file holds.

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/metrics.hpp"
#include "margrove/text_reader.hpp"

namespace margrove MARGROVE_API {

/// Rows of numbers or of text, which belong to the caller. Cheap to copy. What the readers return
/// converts to it.
class Rows {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  Rows(const CsrView& X) : rows_(X) {}
  Rows(const CsrMatrix& X) : rows_(X.view()) {}
  Rows(const Dataset& data) : rows_(data.X.view()) {}
  Rows(std::span<const std::string> documents) : rows_(documents) {}
  Rows(const std::vector<std::string>& documents) : rows_(std::span(documents)) {}
  Rows(const TextDataset& data) : rows_(std::span(data.documents)) {}
  // NOLINTEND(google-explicit-constructor)
  const std::variant<CsrView, std::span<const std::string>>& get() const { return rows_; }

 private:
  std::variant<CsrView, std::span<const std::string>> rows_;
};

/// The k best labels of each row, best first; rows may have fewer than k.
struct RankedLabels {
  std::vector<std::size_t> pointers{0};  // num_rows + 1
  std::vector<LabelId> labels;
  std::vector<float> scores;
};

/// A line that `margrove info` prints.
struct Fact {
  std::string name;
  std::string value;
};

/// How training ended. NaN stands for "not known". Kept in the model file, so nothing here may
/// depend on the number of threads.
struct FitReport {
  Stop stop = Stop::converged;
  int passes = 0;
  double primal = std::numeric_limits<double>::quiet_NaN();  // objective at the weights returned
  double dual = std::numeric_limits<double>::quiet_NaN();
  double relative_gap = std::numeric_limits<double>::quiet_NaN();
  struct Point {  // of the convergence curve; methods that solve labels one by one have none
    int pass;
    double primal;
    double dual;
  };
  std::vector<Point> curve;
  std::vector<std::string> warnings;
};

/// The terms of score(x, y). It is the sum of the nodes' scores, and a node's score is the sum of
/// weight * (value - centre) over its features, the intercept included. Where columns were scaled
/// (Preprocessing::Kind::scale), values are those of the rows as given; otherwise they are those
/// that preprocessing makes of the rows.
struct Explanation {
  struct Contribution {
    FeatureId feature;  // num_features(): the intercept
    float value;        // x_j
    float weight;       // W[j][node], per unit of the value
    double score;       // weight * (value - centre)
    float centre = 0;   // of a scaled column, otherwise 0
  };
  struct Node {
    LabelId label;
    bool is_spawned;  // the leaf that stands for an inner label itself
    double score;
    std::vector<Contribution> strongest;  // by |score|, largest first
  };
  /// Kernel classifiers have sources instead of nodes. The score is the sum of the sources' scores,
  /// and a source's score is the sum over its paths of weight * sum_i u_i (product of kernels)(x_i,
  /// x).
  struct Path {
    std::string name;  // "a * b" for the product of kernels a and b
    double weight;     // of the path
    double score;
  };
  struct Source {
    std::string name;  // the columns that its kernels read, or the views; "(intercept)"
    double score;
    std::vector<Path> strongest;  // by |score|, largest first
  };
  LabelId label = 0;
  double score = 0;
  std::vector<Node> nodes;      // from the root down
  std::vector<Source> sources;  // by |score|, largest first; the intercept last
};

struct ModelParts;

/// Immutable but for assignment; safe to use from many threads. Label ids are those of labels().
/// Every function of rows throws InvalidInput for rows of the wrong kind (text for numbers, or the
/// reverse) or without finite scores, and for models of sentences, which take files instead.
class Model {
 public:
  /// Throws ModelFileError with the path if the file is missing, damaged or of a later format.
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

  /// A set of labels per row.
  LabelSets predict(const Rows& rows, Executor& executor = Executor::serial()) const;
  /// Ties go to the lowest label.
  RankedLabels top(const Rows& rows, std::size_t k, Executor& executor = Executor::serial()) const;
  /// num_rows x num_labels, row after row; -infinity for labels that are never predicted.
  std::vector<float> scores(const Rows& rows, Executor& executor = Executor::serial()) const;
  /// p(label | row), num_rows x num_labels. Throws InvalidInput unless the model gives each row one
  /// label.
  std::vector<double> probabilities(const Rows& rows,
                                    Executor& executor = Executor::serial()) const;
  /// The probability of each node of the hierarchy, which is that of the labels at or below it;
  /// num_rows x num_labels. Throws as probabilities().
  std::vector<double> node_probabilities(const Rows& rows,
                                         Executor& executor = Executor::serial()) const;
  /// The largest terms of row i's score for `label`. Throws InvalidInput if `label` is never
  /// predicted or the method cannot be explained.
  Explanation explain(const Rows& rows, std::size_t i, LabelId label,
                      std::size_t num_strongest = 10) const;
  /// Metrics of predicted label sets. Labels are ids of labels(); higher ids in `truth` count as
  /// labels unknown to the model, so that a reader may be given labels() as its codec. Throws as
  /// compute_metrics().
  Metrics evaluate(const LabelSets& truth, const LabelSets& predicted) const;
  /// Models of sentences: the predictions of the examples in a file, in the file's format. Throws
  /// InvalidInput for models of rows.
  std::string predict_file(const std::string& path, Executor& executor = Executor::serial(),
                           RunControl* control = nullptr) const;

  explicit Model(std::unique_ptr<const ModelParts> parts);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

 private:
  std::unique_ptr<const ModelParts> parts_;
};

}  // namespace margrove
