#pragma once
// The options of every estimator, each a plain struct with its defaults:
//
//   NhSvmOptions{.C = 10, .alpha = NodeWeightRule::parse("power:2")}
//
// validate(options) checks the ranges; docs/options.md lists them.

#include <variant>

#include "margrove/api.hpp"
#include "margrove/kernel_estimators.hpp"
#include "margrove/linear_estimators.hpp"
#include "margrove/path_estimators.hpp"

namespace margrove MARGROVE_API {
namespace detail {

template <class... Variants>
struct Joined;
template <class... A, class... B, class... C>
struct Joined<std::variant<A...>, std::variant<B...>, std::variant<C...>> {
  using Variant = std::variant<A..., B..., C...>;
};

}  // namespace detail

/// The method is chosen by the type of its options.
using Estimator = detail::Joined<detail::LinearEstimators, detail::PathEstimators,
                                 detail::KernelEstimators>::Variant;

}  // namespace margrove
