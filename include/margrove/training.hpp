#pragma once
// Training from rows in memory:
//
//   Model model = train(NhSvmOptions{.C = 10}, {.rows = read_text("train.txt"),
//                                               .hierarchy = read_hierarchy("hierarchy.txt")});

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/estimators.hpp"
#include "margrove/examples.hpp"
#include "margrove/executor.hpp"
#include "margrove/model.hpp"
#include "margrove/selection.hpp"
#include "margrove/sentences.hpp"
#include "margrove/tfidf.hpp"

namespace margrove MARGROVE_API {

/// Preprocessing of rows of numbers: none, tf-idf weights from counts, or unit L2 norm. Texts
/// always become tf-idf weights of their terms.
enum class RowScaling { none, tfidf, unit_norm };

struct TrainingData {
  Examples rows;
  /// Labels of the rows must be among its nodes. None: that of the rows' label paths, if they have
  /// any.
  std::optional<Hierarchy> hierarchy = {};
  std::vector<double> row_weights = {};  // >= 0, of each row's loss; empty: all 1
  /// Factor of the loss of each row by its label: none, balanced, or a file of label<TAB>weight.
  std::string class_weight = "none";
  RowScaling scaling = RowScaling::none;
  ColumnScale column_scale = ColumnScale::automatic;  // with RowScaling::none, of numbers
  TfidfOptions tfidf = {};                            // of texts, and of counts
  /// For methods that are linear: none, nystroem:N or fourier:N, N features of the rows after all
  /// else, whose inner products approximate the kernel exp(-kernel_gamma ||x - z||^2).
  std::string kernel_features = "none";
  double kernel_gamma = 0;  // 0: 1 / (2 d^2) for the median distance d of the rows
  /// With nystroem: a model of average-mkl, lp-mkl, simple-mkl or spn-mkl, whose learned kernel
  /// takes the place of the Gaussian one, or a model with such features. Rows get its
  /// preprocessing, so that scaling, column_scale and tfidf stay at their defaults. Must outlive
  /// the call.
  const Model* kernel_model = nullptr;
  /// Share of the rows that is held out to fit the temperature of probabilities, which trains
  /// twice; 0: none.
  double calibration = 0;
};

/// The result depends only on options and data, not on executor.size(), unless `control` ends
/// training early: then it returns the best weights so far, and report().stop says why. A row of
/// weight 2 counts as the row twice, one of weight 0 not at all. Throws InvalidOption (a value out
/// of range, a method without the hierarchy that it needs), InvalidInput (a label that is no node
/// of the hierarchy, weights that are not numbers >= 0, more memory than `control` allows or than
/// is free, ...), and OutOfTimeLimit where `control` ended it before there were any weights.
Model train(const Estimator& estimator, TrainingData data, Executor& executor = Executor::serial(),
            RunControl* control = nullptr);

struct Tuned {
  std::vector<GridPoint> points;  // in the order of the grid
  std::size_t best = 0;           // the first with the best mean
  Model model;                    // of the best one, trained on all rows
};

/// Model selection on the training rows, with preprocessing fitted on those of each split. Splits
/// are stratified by label. Values of the grid replace those of `estimator`. Combinations and
/// splits run in parallel; the result does not depend on executor.size(). Throws as train(),
/// InvalidOption for an unknown metric or option, and OutOfTimeLimit where `control` ends it before
/// all are measured.
Tuned tune(const Estimator& estimator, TrainingData data, const TuneOptions& options = {},
           Executor& executor = Executor::serial(), RunControl* control = nullptr);

/// Trains method `structured` on sentences with answers. `options` are those of
/// `margrove train --method structured` by their names: {{"model", "chain"}, {"C", "0.1"}}; model
/// is chain or dependency. Throws as train(); messages count sentences and tokens from 0.
Model train_sentences(std::span<const Sentence> sentences,
                      const std::vector<std::pair<std::string, std::string>>& options = {},
                      Executor& executor = Executor::serial(), RunControl* control = nullptr);
/// As tune() for such sentences; the metric is one of `margrove evaluate`: by default las of trees
/// and token_accuracy of tags.
Tuned tune_sentences(std::span<const Sentence> sentences,
                     const std::vector<std::pair<std::string, std::string>>& options = {},
                     const TuneOptions& tuning = {}, Executor& executor = Executor::serial(),
                     RunControl* control = nullptr);
/// The same for a file of CoNLL columns or CoNLL-U.
Model train_sentences(const std::string& path,
                      const std::vector<std::pair<std::string, std::string>>& options = {},
                      Executor& executor = Executor::serial(), RunControl* control = nullptr);

struct Choice {
  /// A method with options that was measured.
  struct Candidate {
    std::string method;
    std::vector<std::pair<std::string, std::string>> options;  // that are not at their defaults
    std::string verdict;  // chosen, tied, worse, dropped, cut, not_tried or failed
    double score;         // of the metric, on held-out rows; NaN: none
  };
  std::string metric;
  std::vector<Candidate> candidates;  // the chosen one first
  std::string reason;                 // why it is chosen
  Model model;                        // trained on all rows
};

/// `margrove auto`: tries the methods that these rows and this hierarchy allow, simple ones first,
/// on growing parts of the rows, and chooses the simplest within one standard error of the best.
/// The result depends on the data and the seed only, unless the time limit of `control` binds.
/// Throws as train(), and InvalidOption where row_weights, class_weight or calibration are given.
Choice choose(TrainingData data, const AutomaticOptions& options = {},
              Executor& executor = Executor::serial(), RunControl* control = nullptr);

}  // namespace margrove
