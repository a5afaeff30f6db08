#pragma once
// Scores that are not finite numbers, as of rows with values near the largest float. Every kind of
// predictor refuses them by require_finite_scores(), and who knows a row's place names it by
// naming_rows().

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "margrove/errors.hpp"

namespace margrove {

/// A row for which a model has no finite scores.
class NonFiniteScores : public InvalidInput {
 public:
  static constexpr const char* kReason =
      "the scores are not finite numbers, but must be; the values of the row are too large for the "
      "weights of the model";
  /// The row is counted from 0 in the matrix that was scored.
  explicit NonFiniteScores(std::size_t row)
      : InvalidInput(concat("row ", row, ": ", kReason)), row_(row) {}
  std::size_t row() const { return row_; }

 private:
  std::size_t row_;
};

/// Throws NonFiniteScores for the row unless all scores are finite numbers, also in float32.
template <class Number>
void require_finite_scores(std::span<const Number> scores, std::size_t row) {
  bool are_finite = true;
  for (const Number score : scores) {
    are_finite &= std::abs(score) <= Number{std::numeric_limits<float>::max()};  // false for NaN
  }
  if (!are_finite) throw NonFiniteScores(row);
}

/// work(), where a row without finite scores is called where_of(row).
template <class WhereOf, class Work>
decltype(auto) naming_rows(const WhereOf& where_of, const Work& work) {
  try {
    return work();
  } catch (const NonFiniteScores& error) {
    throw InvalidInput(concat(where_of(error.row()), ": ", NonFiniteScores::kReason));
  }
}

}  // namespace margrove
