#pragma once
// Estimators that are structured SVMs over the paths of a hierarchy, or over label sets of it where
// rows have several labels (NHSVM, sections 3 to 6). kMethod is the name of each in the registry.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "margrove/api.hpp"
#include "margrove/common_options.hpp"
#include "margrove/decision_kind.hpp"
#include "margrove/node_weights.hpp"
#include "margrove/partial_labels_option.hpp"
#include "margrove/structured.hpp"
#include "margrove/surrogates.hpp"
#include "margrove/task_loss.hpp"

namespace margrove MARGROVE_API {

namespace detail {
template <class Options>
auto label_set_decision_fields() {
  return detail::offset_fields<Options>(
      "rows with several labels: the label set with the highest score (argmax), or with the "
      "highest one once a tuned number is added to the score of each leaf (offset); auto: offset "
      "where training rows have several labels, otherwise argmax",
      "what the offset is tuned for");
}

template <class Options>
auto path_fields() {
  return std::tuple_cat(
      detail::common_fields<Options>(), detail::label_set_decision_fields<Options>(),
      detail::structured_fields<Options>(),
      std::tuple{
          field("alpha", &Options::alpha, detail::node_weight_help()),
          field("merge_duplicates", &Options::merge_duplicates,
                "compute the weights on the hierarchy in which nodes with the same leaves below "
                "them are merged, and split each weight evenly over the copies"),
          field("inference", &Options::inference,
                "training rows with several labels on DAGs: the most violating label set, or the "
                "maximum of its linear relaxation; predictions are exact"),
          field("set_loss", &Options::set_loss,
                "rows with several labels: what the task loss counts: the leaves, or the nodes, on "
                "which two label sets differ; normalized: the square root of the weight of these "
                "nodes, as in the loss of paths of nhsvm, which needs surrogate margin"),
          field("tolerance", &Options::tolerance, positive,
                "bcfw and cutting planes: relative duality gap at which training stops"),
          field("max_passes", &Options::max_passes, at_least(1),
                "bcfw and cutting planes: maximum number of passes over the rows; with partial "
                "labels, in each round"),
          field("epochs", &Options::epochs, at_least(1), "sgd: passes over the rows"),
          field("cost_matrix", &Options::cost_matrix, detail::Choices{}, kCostMatrixHelp),
      },
      detail::partial_labels_field<Options>());
}
}  // namespace detail

struct HSvmOptions {
  static constexpr std::string_view kMethod = "hsvm";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  DecisionMetric decision_metric = DecisionMetric::micro_f1;
  NodeWeightRule alpha = {};
  bool merge_duplicates = false;
  Inference inference = Inference::exact;
  detail::LabelSetLoss set_loss = detail::LabelSetLoss::leaves;
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
  std::optional<int> max_bans = {};
  std::optional<double> search_tolerance = {};
  std::optional<int> search_calls = {};
  std::optional<int> convex_passes = {};
  std::optional<double> learning_rate = {};
  std::string cost_matrix = {};
  bool partial_labels = false;
  static auto fields() { return detail::path_fields<HSvmOptions>(); }
};

struct NhSvmOptions {
  static constexpr std::string_view kMethod = "nhsvm";
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  DecisionMetric decision_metric = DecisionMetric::micro_f1;
  NodeWeightRule alpha = {.name = "share", .parameter = 0.5};
  bool merge_duplicates = false;
  Inference inference = Inference::exact;
  detail::LabelSetLoss set_loss = detail::LabelSetLoss::leaves;
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
  std::optional<int> max_bans = {};
  std::optional<double> search_tolerance = {};
  std::optional<int> search_calls = {};
  std::optional<int> convex_passes = {};
  std::optional<double> learning_rate = {};
  std::string cost_matrix = {};
  bool partial_labels = false;
  static auto fields() { return detail::path_fields<NhSvmOptions>(); }
};

namespace detail {

enum class SharedNormSolver {
  alternating,  // the best node weights and BCFW in turn, up to a gap of the joint problem
  sgd,          // algorithm 1 of NHSVM as printed, and stochastic subgradients in turn
};

}  // namespace detail
template <>
inline constexpr auto kEnumNames<detail::SharedNormSolver> =
    std::array{EnumName{detail::SharedNormSolver::alternating, "alternating"},
               EnumName{detail::SharedNormSolver::sgd, "sgd"}};

/// Node weights are learned with the classifiers (NHSVM, section 6).
struct SharedSvmOptions {
  static constexpr std::string_view kMethod = "shared-svm";
  using Solver = detail::SharedNormSolver;
  std::optional<double> C = {};
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  DecisionMetric decision_metric = DecisionMetric::micro_f1;
  TaskLoss task_loss = TaskLoss::zero_one;
  Solver solver = Solver::alternating;
  double tolerance = 1e-3;
  std::optional<int> max_rounds = {};  // none: `auto`
  int max_passes = 1000;
  int epochs = 10;
  std::string cost_matrix = {};
  static auto fields() {
    using Options = SharedSvmOptions;
    return std::tuple_cat(
        detail::common_fields<Options>(), detail::label_set_decision_fields<Options>(),
        std::tuple{
            field("task_loss", &Options::task_loss, {TaskLoss::zero_one, TaskLoss::hamming},
                  "cost of a wrong path: 1, or the number of nodes on only one of the two paths; "
                  "rows with several labels pay 1 for each wrong leaf"),
            field("solver", &Options::solver,
                  "the best classifiers for given node weights and the best node weights in turn, "
                  "up to a duality gap (alternating); or as the paper prints it, a few passes of "
                  "stochastic subgradients and node weights by its algorithm 1 in turn, which has "
                  "no gap (sgd; rows with one label on trees)"),
            field("tolerance", &Options::tolerance, positive,
                  "alternating: relative duality gap of the joint problem at which training stops"),
            field("max_rounds", &Options::max_rounds, at_least(1),
                  "maximum number of changes of the node weights; sgd makes all of them; auto: "
                  "200, and 3 for sgd"),
            field("max_passes", &Options::max_passes, at_least(1),
                  "alternating: maximum number of passes over the rows for one choice of node "
                  "weights"),
            field("epochs", &Options::epochs, at_least(1),
                  "sgd: passes over the rows for each choice of node weights"),
            field("cost_matrix", &Options::cost_matrix, detail::Choices{}, detail::kCostMatrixHelp),
        });
  }
};

namespace detail {
using PathEstimators = std::variant<HSvmOptions, NhSvmOptions, SharedSvmOptions>;
}

}  // namespace margrove
