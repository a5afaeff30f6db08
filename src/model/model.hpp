#pragma once
// The parts of a trained model: the predictor and what all kinds of models have in common.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/record_features.hpp"
#include "kernel/kernel_features.hpp"
#include "margrove/label_codec.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/tfidf.hpp"
#include "model/calibration.hpp"
#include "model/method.hpp"
#include "model/predictor.hpp"

namespace margrove {

struct ModelParts {
  std::string method;
  OptionValues options;  // of the training
  LabelCodec labels;     // in natural order
  LabelGraph hierarchy;  // over the ids of `labels`; without edges where none was given
  bool has_hierarchy = false;
  std::vector<std::string> label_names;           // for people, of each label or empty; or none
  std::vector<std::uint32_t> training_rows;       // of each label
  std::optional<RecordFeatures> records;          // if rows are records: their features
  Preprocessing preprocessing;                    // of rows, before prediction
  std::optional<KernelFeatures> kernel_features;  // of the preprocessed rows
  std::vector<View> views;                        // of the rows; empty: one source
  /// Where tokens of sentences were objects of features: the keys, ascending, one for each column
  /// after the first.
  std::optional<std::vector<std::string>> token_keys;
  FitReport report;
  std::optional<Calibration> calibration;      // of probabilities, if requested
  std::shared_ptr<const Predictor> predictor;  // of copies the same
  std::shared_ptr<const FitState> state;       // of its training, if it was kept; not in the file

  /// The predictor of rows. Throws InvalidInput for a model of another kind.
  const RowPredictor& rows() const;
  /// RowPredictor::explain() of a row after preprocessing, in the columns and
  /// units of the row before it. The vector of a text is one part. Where columns are kernel
  /// features, there are parts of nodes only, and it throws InvalidInput if num_strongest is not 0.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const;
  /// Throws InvalidInput, naming what needs the columns of the rows, if those of the predictor are
  /// kernel features.
  void require_own_columns(std::string_view what) const;
  /// Throws as explain() with so many features.
  void require_explained_features(std::size_t num_strongest) const {
    if (num_strongest > 0) {
      require_own_columns("explanation of features (0 of them: the parts of nodes)");
    }
  }
  /// Columns of rows before preprocessing, so far as they are numbers and the model knows them.
  std::uint32_t num_raw_features() const;
  /// What users call a column of rows before preprocessing, "(intercept)" for the one after the
  /// last, or "vector of minilm" for the one after that.
  std::string feature_name(FeatureId feature) const;
  /// Whether each label has training rows.
  std::vector<bool> in_training() const;
  /// The temperature of probabilities: the calibration's, or without one 1. It is 2 for one-vs-rest
  /// logistic regression of two labels, whose scores are z and -z: p is then the logistic function
  /// of z, as in training.
  double temperature() const;
  /// Of models that give probabilities (model/log_odds.hpp).
  ProbabilityRule probability_rule() const;
};

}  // namespace margrove
