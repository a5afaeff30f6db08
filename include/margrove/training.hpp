#pragma once
// Training from rows in memory:
//
//   Model model = train(NhSvmOptions{.C = 10}, {.rows = read_text("train.txt"),
//                                               .hierarchy = read_hierarchy("hierarchy.txt")});

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/estimators.hpp"
#include "margrove/executor.hpp"
#include "margrove/model.hpp"
#include "margrove/text_reader.hpp"
#include "margrove/tfidf.hpp"

namespace margrove MARGROVE_API {

/// The method is chosen by the type of its options.
using Estimator =
    std::variant<FlatSvmOptions, FlatLrOptions, HSvmOptions, NhSvmOptions, SharedSvmOptions,
                 HrSvmOptions, HrLrOptions, TopDownSvmOptions, SpnMklOptions, LpMklOptions,
                 SimpleMklOptions, AverageMklOptions, KernelRidgeOptions>;

/// Preprocessing of rows of numbers: none, tf-idf weights from counts, or unit L2 norm. Documents
/// always become tf-idf weights of their words.
enum class RowScaling { none, tfidf, unit_norm };

struct TrainingData {
  std::variant<Dataset, TextDataset> rows;
  std::optional<Hierarchy> hierarchy = {};  // labels of the rows must be among its nodes
  std::vector<double> row_weights = {};     // >= 0, of each row's loss; empty: all 1
  RowScaling scaling = RowScaling::none;
  ColumnScale column_scale = ColumnScale::automatic;  // with RowScaling::none, of numbers
  TfidfOptions tfidf = {};
};

/// The result depends only on options and data, not on executor.size(), unless `control` ends
/// training early: then it returns the best weights so far, and report().stop says why. A row of
/// weight 2 counts as the row twice, one of weight 0 not at all. Throws InvalidOption (a value out
/// of range, a method without the hierarchy that it needs) and InvalidInput (a label that is no
/// node of the hierarchy, weights that are not numbers >= 0, ...).
Model train(const Estimator& estimator, TrainingData data, Executor& executor = Executor::serial(),
            RunControl* control = nullptr);

}  // namespace margrove
