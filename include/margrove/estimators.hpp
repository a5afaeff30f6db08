#pragma once
// The options of every estimator, each a plain struct with its defaults:
//
//   NhSvmOptions{.C = 10, .alpha = NodeWeightRule::parse("power:2")}
//
// validate(options) checks the ranges; docs/options.md lists them.

#include "margrove/kernel_estimators.hpp"
#include "margrove/linear_estimators.hpp"
#include "margrove/path_estimators.hpp"
