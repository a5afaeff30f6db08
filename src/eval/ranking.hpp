#pragma once
// Metrics of a ranking of labels by their scores, row by row.

#include <span>
#include <vector>

#include "eval/row_ratio.hpp"
#include "eval/score_rows.hpp"
#include "margrove/executor.hpp"

namespace margrove {

/// Inverse propensities (Jain, Prabhu and Varma 2016): for a label with n of N training rows
///   1/p = 1 + c (n + B)^-A,  c = (ln N - 1) (B + 1)^A,  A = 0.55, B = 1.5.
/// Throws InvalidInput unless N >= 3; for smaller N they would not increase for rarer labels.
std::vector<double> inverse_propensities(std::span<const std::uint32_t> training_rows,
                                         std::size_t num_training_rows);

/// precision_at_k, recall_at_k, f1_at_k, ndcg_at_k for each k, psp_at_k if there are inverse
/// propensities (one per column), r_precision and coverage_error, over the rows that have labels.
/// Columns of score -infinity are never ranked. Of equal scores the lowest column comes first, but
/// coverage_error counts all of them. A label without a column or with score -infinity is never
/// found; in coverage_error it comes last. The same bits for any executor. Throws InvalidInput when
/// the numbers of rows differ or a k is 0.
std::vector<RowRatio> ranking_ratios(const ScoreRows& scores, const LabelSets& truth,
                                     std::span<const std::size_t> ks,
                                     std::span<const double> inverse_propensity,
                                     Executor& executor);

}  // namespace margrove
