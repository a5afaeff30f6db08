#pragma once
// Options that several estimators share. Every estimator declares the members itself, so that it
// stays an aggregate (NhSvmOptions{.C = 10}); name, range and help of each stand here once.

#include <tuple>

#include "margrove/api.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

namespace detail {

inline constexpr const char* kLossWeightHelp =
    "loss weight: the objective is the regulariser plus C times the sum of the losses";

/// Of structs with C, lambda, bias and seed: all linear estimators.
template <class Options>
auto common_fields() {
  return std::tuple{
      field("C", &Options::C, positive, kLossWeightHelp),
      field("lambda", &Options::lambda, non_negative,
            "regularisation strength instead of C: C = 1 / (2 lambda); 0: C is used"),
      field("bias", &Options::bias, non_negative,
            "value of the appended constant feature, regularised like the others; 0: none"),
      field("seed", &Options::seed, at_least(0), "seed of the random order of visits"),
  };
}
}  // namespace detail

}  // namespace margrove
