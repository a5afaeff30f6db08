#pragma once
// Estimators that learn the weights of kernels together with SVMs. kMethod is the name of each in
// the registry.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "margrove/api.hpp"
#include "margrove/common_options.hpp"

namespace margrove MARGROVE_API {

namespace detail {
template <class Options>
auto kernel_fields() {
  return std::tuple{
      loss_weight_field<Options>("; auto: 50 / (number of training rows)"),
      field("network", &Options::network, detail::Choices{},
            "JSON file with the kernels and their combination, or the JSON itself; empty: Gaussian "
            "kernels of all columns, or of each view, with the given widths"),
      field("widths", &Options::widths, detail::Choices{},
            "without a network: widths of the Gaussian kernels, in medians of the distance"),
      field("tolerance", &Options::tolerance, positive,
            "relative duality gap to reach; where some p < 1, a thousandth of it is the relative "
            "change of the objective at which to stop"),
      field("svm_tolerance", &Options::svm_tolerance, positive,
            "largest violation of the SVMs' optimality conditions; lowered where the gap requires "
            "it"),
      field("max_rounds", &Options::max_rounds, at_least(1),
            "maximum number of rounds, each of which trains the SVMs and then the kernel weights"),
  };
}
}  // namespace detail

/// Learns the weights of a sum-product network of kernels (SPN).
struct SpnMklOptions {
  static constexpr std::string_view kMethod = "spn-mkl";
  std::optional<double> C = {};
  std::string network = {};
  std::string widths = "0.25,0.5,1,2,4";
  double tolerance = 1e-2;
  double svm_tolerance = 1e-3;
  int max_rounds = 500;
  double weight_penalty = 1.0;
  double p = 1.0;
  double max_paths = 10'000;
  static auto fields() {
    return std::tuple_cat(
        detail::kernel_fields<SpnMklOptions>(),
        std::tuple{
            field("weight_penalty", &SpnMklOptions::weight_penalty, positive,
                  "lambda of the paper: weight of the penalty on the product nodes' weights"),
            field("p", &SpnMklOptions::p, positive,
                  "exponent of that penalty for nodes without p of their own; below 1 the "
                  "objective is not convex"),
            field("max_paths", &SpnMklOptions::max_paths, at_least(1),
                  "refuse networks with more paths"),
        });
  }
};

/// Learns kernel weights d with ||d||_p <= 1.
struct LpMklOptions {
  static constexpr std::string_view kMethod = "lp-mkl";
  double C = 1.0;
  std::string network = {};
  std::string widths = "0.25,0.5,1,2,4";
  double tolerance = 1e-2;
  double svm_tolerance = 1e-3;
  int max_rounds = 500;
  double p = 2.0;
  static auto fields() {
    return std::tuple_cat(detail::kernel_fields<LpMklOptions>(),
                          std::tuple{field("p", &LpMklOptions::p, at_least(1),
                                           "exponent of the norm of the kernel weights")});
  }
};

/// Learns kernel weights d with ||d||_1 <= 1, most of which become 0.
struct SimpleMklOptions {
  static constexpr std::string_view kMethod = "simple-mkl";
  double C = 1.0;
  std::string network = {};
  std::string widths = "0.25,0.5,1,2,4";
  double tolerance = 1e-2;
  double svm_tolerance = 1e-3;
  int max_rounds = 500;
  static auto fields() { return detail::kernel_fields<SimpleMklOptions>(); }
};

/// Gives all kernels the same weight.
struct AverageMklOptions {
  static constexpr std::string_view kMethod = "average-mkl";
  double C = 3.0;
  std::string network = {};
  std::string widths = "0.25,0.5,1,2,4";
  double tolerance = 1e-2;
  double svm_tolerance = 1e-3;
  int max_rounds = 500;
  static auto fields() { return detail::kernel_fields<AverageMklOptions>(); }
};

enum class RidgeKernel { automatic, exponential, gaussian, laplacian };
template <>
inline constexpr auto kEnumNames<RidgeKernel> = std::array{
    EnumName{RidgeKernel::automatic, "auto"}, EnumName{RidgeKernel::exponential, "exponential"},
    EnumName{RidgeKernel::gaussian, "gaussian"}, EnumName{RidgeKernel::laplacian, "laplacian"}};

/// Kernel ridge regression of every node of the hierarchy, whose scores are probabilities.
struct KernelRidgeOptions {
  static constexpr std::string_view kMethod = "kernel-ridge";
  RidgeKernel kernel = RidgeKernel::automatic;
  std::string widths = "0.5,1,2";
  double lambda = 0;
  double sharing = 10;
  int tuning_rows = 3000;
  int max_rows = 20'000;
  int landmarks = 3000;
  std::uint64_t seed = 0;
  static auto fields() {
    return std::tuple{
        field("kernel", &KernelRidgeOptions::kernel,
              "of distances: exponential exp(-d/w), gaussian exp(-d^2/2w^2), laplacian "
              "exp(-d_1/w); auto: the mean of the three"),
        field(
            "widths", &KernelRidgeOptions::widths, detail::Choices{},
            "widths to choose from by the average precision of left-out scores, in medians of the "
            "distance"),
        field("lambda", &KernelRidgeOptions::lambda, non_negative,
              "strength of the regularisation; 0: each node has the one with the smallest square "
              "error of left-out scores"),
        field("sharing", &KernelRidgeOptions::sharing, non_negative,
              "strength of the penalty on differences between a node's score and its prediction "
              "from the scores of all nodes; 0: each node keeps its own score"),
        field("tuning_rows", &KernelRidgeOptions::tuning_rows, at_least(2),
              "the width and the strengths are chosen on no more training rows than this"),
        field("max_rows", &KernelRidgeOptions::max_rows, at_least(2),
              "with more training rows, whose kernel matrix would be too large, regressions are "
              "sums over the kernels of landmarks (Nystroem's method)"),
        field(
            "landmarks", &KernelRidgeOptions::landmarks, at_least(2),
            "number of random training rows that are landmarks where rows are more than max_rows"),
        field("seed", &KernelRidgeOptions::seed, at_least(0),
              "seed of the choice of the tuning rows and of the landmarks"),
    };
  }
};

namespace detail {
using KernelEstimators = std::variant<SpnMklOptions, LpMklOptions, SimpleMklOptions,
                                      AverageMklOptions, KernelRidgeOptions>;
}

}  // namespace margrove
