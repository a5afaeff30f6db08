#pragma once
// Estimators that learn the weights of kernels together with SVMs. kMethod is the name of each in
// the registry.

#include <string>
#include <string_view>
#include <tuple>

#include "margrove/api.hpp"
#include "margrove/common_options.hpp"

namespace margrove MARGROVE_API {

namespace detail {
template <class Options>
auto kernel_fields() {
  return std::tuple{
      field("C", &Options::C, positive, detail::kLossWeightHelp),
      field("network", &Options::network, Choices{},
            "JSON file with the kernels and how they combine, or the JSON itself; empty: Gaussian "
            "kernels of all columns, or of each view, with the given widths"),
      field("widths", &Options::widths, Choices{},
            "without a network: widths of the Gaussian kernels, in medians of the distance"),
      field("tolerance", &Options::tolerance, positive,
            "relative duality gap to reach; where some p < 1, a thousandth of it is the relative "
            "change of the objective at which to stop"),
      field(
          "svm_tolerance", &Options::svm_tolerance, positive,
          "largest violation of the SVMs' optimality conditions; made smaller where the gap needs "
          "it"),
      field("max_rounds", &Options::max_rounds, at_least(1),
            "rounds of training the SVMs and then the kernel weights, at most"),
  };
}
}  // namespace detail

/// The weights of a sum-product network of kernels.
struct SpnMklOptions {
  static constexpr std::string_view kMethod = "spn-mkl";
  double C = 1.0;
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

/// Weights of single kernels with ||d||_p <= 1.
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

/// The same with p = 1, which leaves few kernels.
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

/// Equal weights.
struct AverageMklOptions {
  static constexpr std::string_view kMethod = "average-mkl";
  double C = 1.0;
  std::string network = {};
  std::string widths = "0.25,0.5,1,2,4";
  double tolerance = 1e-2;
  double svm_tolerance = 1e-3;
  int max_rounds = 500;
  static auto fields() { return detail::kernel_fields<AverageMklOptions>(); }
};

}  // namespace margrove
