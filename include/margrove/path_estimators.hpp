#pragma once
// Estimators that are structured SVMs over the paths of a hierarchy, or over label sets of it where
// rows have several labels (NHSVM, sections 3 to 6). kMethod is the name of each in the registry.

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "margrove/api.hpp"
#include "margrove/common_options.hpp"
#include "margrove/node_weights.hpp"
#include "margrove/task_loss.hpp"

namespace margrove MARGROVE_API {

/// The most violating label set, or the maximum of its linear relaxation.
enum class Inference { exact, relaxed };
template <>
inline constexpr auto kEnumNames<Inference> =
    std::array{EnumName{Inference::exact, "exact"}, EnumName{Inference::relaxed, "relaxed"}};

/// Block-coordinate Frank-Wolfe, or averaged stochastic subgradients.
enum class PathSolver { bcfw, sgd };
template <>
inline constexpr auto kEnumNames<PathSolver> =
    std::array{EnumName{PathSolver::bcfw, "bcfw"}, EnumName{PathSolver::sgd, "sgd"}};

/// m + g, or 1 + m / g, of the margin m and the path loss g (NHSVM, eq. 13).
enum class PathSurrogate { margin, normalized_difference };
template <>
inline constexpr auto kEnumNames<PathSurrogate> =
    std::array{EnumName{PathSurrogate::margin, "margin"},
               EnumName{PathSurrogate::normalized_difference, "normalized-difference"}};

namespace detail {
template <class Options>
auto path_fields() {
  return std::tuple_cat(
      detail::common_fields<Options>(),
      std::tuple{
          field("alpha", &Options::alpha, detail::node_weight_help()),
          field("merge_duplicates", &Options::merge_duplicates,
                "compute the weights on the hierarchy in which nodes with the same leaves below "
                "them are merged, and split each weight evenly over the copies"),
          field("inference", &Options::inference,
                "training rows with several labels on DAGs: the most violating label set, or the "
                "maximum of its linear relaxation; predictions are exact"),
          field("solver", &Options::solver,
                "bcfw: block-coordinate Frank-Wolfe, up to a duality gap; sgd: averaged stochastic "
                "subgradients, for a number of passes"),
          field("tolerance", &Options::tolerance, positive,
                "bcfw: relative duality gap at which training stops"),
          field("max_passes", &Options::max_passes, at_least(1),
                "bcfw: passes over the rows, at most"),
          field("epochs", &Options::epochs, at_least(1), "sgd: passes over the rows"),
      });
}
}  // namespace detail

struct HSvmOptions {
  static constexpr std::string_view kMethod = "hsvm";
  double C = 1.0;
  double lambda = 0;
  double bias = 1.0;
  std::uint64_t seed = 0;
  NodeWeightRule alpha = {};
  bool merge_duplicates = false;
  Inference inference = Inference::exact;
  PathSolver solver = PathSolver::bcfw;
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
  static auto fields() { return detail::path_fields<HSvmOptions>(); }
};

struct NhSvmOptions {
  static constexpr std::string_view kMethod = "nhsvm";
  double C = 1.0;
  double lambda = 0;
  double bias = 1.0;
  std::uint64_t seed = 0;
  NodeWeightRule alpha = {.kind = NodeWeightRule::Kind::maxmin};
  bool merge_duplicates = false;
  Inference inference = Inference::exact;
  PathSolver solver = PathSolver::bcfw;
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
  PathSurrogate surrogate = PathSurrogate::margin;
  static auto fields() {
    return std::tuple_cat(detail::path_fields<NhSvmOptions>(),
                          std::tuple{field("surrogate", &NhSvmOptions::surrogate,
                                           "margin: score difference plus path loss; "
                                           "normalized-difference: 1 plus the score difference "
                                           "divided by the path loss")});
  }
};

/// Node weights are learned with the classifiers (NHSVM, section 6).
struct SharedSvmOptions {
  static constexpr std::string_view kMethod = "shared-svm";
  double C = 1.0;
  double lambda = 0;
  double bias = 1.0;
  std::uint64_t seed = 0;
  TaskLoss task_loss = TaskLoss::zero_one;
  double tolerance = 1e-3;
  int max_rounds = 200;
  int max_passes = 1000;
  static auto fields() {
    using Options = SharedSvmOptions;
    return std::tuple_cat(
        detail::common_fields<Options>(),
        std::tuple{
            field("task_loss", &Options::task_loss, {TaskLoss::zero_one, TaskLoss::hamming},
                  "what a wrong path costs: 1, or the number of nodes on one of the two paths "
                  "only; rows with several labels pay 1 for each wrong leaf"),
            field("tolerance", &Options::tolerance, positive,
                  "relative duality gap of the joint problem at which training stops"),
            field("max_rounds", &Options::max_rounds, at_least(1),
                  "changes of the node weights, at most"),
            field("max_passes", &Options::max_passes, at_least(1),
                  "passes over the rows for one choice of node weights, at most"),
        });
  }
};

}  // namespace margrove
