#pragma once
// The independent one-vs-rest problems of which a training consists, so that they can be solved
// elsewhere: in other processes or on other machines.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "linear/one_vs_rest.hpp"

namespace margrove {

/// One problem: some rows with their labels.
struct LabelProblem {
  std::optional<std::vector<std::uint32_t>> rows;  // of LabelProblems::X, ascending; nothing: all
  LabelSets sets;                                  // of these rows
  std::uint32_t num_labels = 0;
};

/// The problems of one training, which share their rows and options. Refers to arrays of a plan.
struct LabelProblems {
  CsrView X;                            // with the intercept
  std::span<const double> row_weights;  // empty: all 1
  OneVsRestOptions solver;
  bool free_intercept;  // OneVsRestExtras::free_intercept
  std::vector<LabelProblem> problems;
};

/// The result of a problem, by its number in LabelProblems::problems: one entry per label, with
/// features in the columns of LabelProblems::X.
using LabelFitSource = std::function<std::vector<LabelFit>(std::size_t problem)>;

}  // namespace margrove
