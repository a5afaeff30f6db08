#pragma once
// Options that several estimators share. Every estimator declares the members itself, so that it
// stays an aggregate (NhSvmOptions{.C = 10}); name, range and help of each stand here once.

#include <string>
#include <string_view>
#include <tuple>

#include "margrove/api.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

namespace detail {

inline constexpr const char* kLossWeightHelp =
    "loss weight: the objective is the regulariser plus C times the sum of the losses";

inline constexpr const char* kCostMatrixHelp =
    "CSV file with the cost of predicting one label for another, used in place of the task loss: "
    "the "
    "first line names the predicted labels, the first cell of every other line the true label; the "
    "cost of the true label is 0";

inline constexpr const char* kAutomaticLossWeightHelp =
    "; auto: k / (mean of the training rows' squared norms), or k / (number of columns) where "
    "these "
    "are scaled, for a k of the method and its loss";

/// C may be a number, or an optional one; none stands for `auto`, which depends on the rows
/// (docs/notation.md, "The default of C").
template <class Options>
auto loss_weight_field(std::string_view automatic = kAutomaticLossWeightHelp) {
  constexpr bool kMayBeAutomatic = OptionalNumber<decltype(Options().C)>;
  return field("C", &Options::C, positive,
               concat(kLossWeightHelp, kMayBeAutomatic ? automatic : std::string_view()));
}

/// The fields of structs with C, lambda, bias, intercept_penalty and seed, which all linear
/// estimators have.
template <class Options>
auto common_fields() {
  return std::tuple{
      loss_weight_field<Options>(),
      field("lambda", &Options::lambda, non_negative,
            "regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used"),
      field("bias", &Options::bias, non_negative,
            "value of the appended constant feature; 0: none"),
      field("intercept_penalty", &Options::intercept_penalty, non_negative,
            "strength of the regulariser of the constant feature's weights, the intercepts, "
            "relative to that of the others; 0: intercepts are not regularised (flat-svm and "
            "level-svm one-vs-rest, top-down-svm, label-trees, flat-lr, hr-svm, hr-lr)"),
      field("seed", &Options::seed, at_least(0), "seed of the random order of visits"),
  };
}
}  // namespace detail

}  // namespace margrove
