#pragma once
// Options of the search for options, tune(), and of the choice of a method, choose().

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

/// How tune() measures.
struct TuneOptions {
  /// Values to try, for example "C=0.1,1,10", of one option of the method or of the preprocessing
  /// of rows each; all combinations are tried.
  /// None: C from 0.01 to 100, and beyond while the best value is the smallest or the largest one.
  std::vector<std::string> grid = {};
  int folds = 0;       // of a cross-validation; 0: 3 unless holdout is given
  double holdout = 0;  // instead of folds: share of each label's rows for validation
  /// Of `margrove evaluate`, but not log_loss, brier and ece; empty: micro_f1.
  std::string metric = {};
  std::uint64_t split_seed = 0;
  static auto fields() {
    return std::tuple{
        field("folds", &TuneOptions::folds, at_least(0),
              "number of folds of a cross-validation; 0: 3 unless holdout is given"),
        field("holdout", &TuneOptions::holdout, between(0, 1),
              "instead of folds: share of each label's rows for validation"),
        field(
            "metric", &TuneOptions::metric, detail::Choices{},
            "metric to choose by, of those of evaluate that need no calibration, such as micro_f1, "
            "au_prc or ndcg_at_5; empty: micro_f1, of sentences token_accuracy, of trees las"),
        field("split_seed", &TuneOptions::split_seed, at_least(0), "seed of the split of the rows"),
    };
  }
};

/// A combination of the grid.
struct GridPoint {
  std::vector<std::pair<std::string, std::string>> values;  // option and value
  std::vector<double> scores;  // one per split; NaN if training did not finish
  double mean = 0;
};

/// What choose() goes by.
struct AutomaticOptions {
  std::string metric = {};
  std::uint64_t seed = 0;
  static auto fields() {
    return std::tuple{
        field("metric", &AutomaticOptions::metric, detail::Choices{},
              "metric to choose by, one of those that tune knows; empty: accuracy, or micro_f1 "
              "where a row has several labels or none"),
        field("seed", &AutomaticOptions::seed, at_least(0),
              "seed of the split of the rows and of training"),
    };
  }
};

}  // namespace margrove
