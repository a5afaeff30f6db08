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

/// Rows of numbers or of text, which belong to the caller. Cheap to copy; whatever the readers
/// return is one.
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
  struct Point {  // of the convergence curve, where the method keeps one
    int pass;
    double primal;
    double dual;
  };
  std::vector<Point> curve;
  std::vector<std::string> warnings;
};

/// score(x, y) taken apart: it is the sum of the nodes' scores, and a node's score is the sum of
/// weight * (value - centre) over its features, the intercept included. Values are those of the
/// rows as given, where their columns were scaled (Preprocessing::Kind::scale), otherwise those
/// that preprocessing makes of them.
struct Explanation {
  struct Contribution {
    FeatureId feature;  // num_features(): the intercept
    float value;        // x_j
    float weight;       // W[j][node], by unit of the value
    double score;       // weight * (value - centre)
    float centre = 0;   // of a scaled column, otherwise 0
  };
  struct Node {
    LabelId label;
    bool is_spawned;  // the leaf that stands for an inner label itself
    double score;
    std::vector<Contribution> strongest;  // by |score|, largest first
  };
  /// Kernel classifiers have sources instead: the score is the sum of theirs, and a source's score
  /// is the sum over its paths of weight * sum_i u_i (product of kernels)(x_i, x).
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
/// Every function of rows throws InvalidInput for rows of the wrong kind (text where the model
/// takes numbers, or the reverse) and for models of sentences, which take files instead.
class Model {
 public:
  /// Throws ModelFileError with the path unless the file holds a model that can be used.
  static Model load(const std::string& path);
  /// Writes the whole file or none. Throws InvalidInput with the system's reason.
  void save(const std::string& path) const;

  const std::string& method() const;  // "nhsvm"
  /// Names and values of all options it was trained with.
  const std::vector<std::pair<std::string, std::string>>& options() const;
  const LabelCodec& labels() const;
  /// Over the ids of labels(); without edges where no hierarchy was given.
  const LabelGraph& hierarchy() const;
  /// Gap, reason to stop, warnings.
  const FitReport& report() const;
  /// Sizes, sparsity, and what else helps to understand it.
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
  /// The probability that a row ends at a node of the hierarchy or below; throws alike.
  std::vector<double> node_probabilities(const Rows& rows,
                                         Executor& executor = Executor::serial()) const;
  /// Why row i has its score for `label`. Throws InvalidInput if `label` is never predicted or the
  /// method cannot be explained.
  Explanation explain(const Rows& rows, std::size_t i, LabelId label,
                      std::size_t num_strongest = 10) const;
  /// How good predicted sets are. Labels are ids of labels(); those of the truth from there on
  /// count as unknown, so that a reader may be given labels() as its codec. Throws as
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
