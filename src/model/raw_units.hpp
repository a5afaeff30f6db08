#pragma once
// From scaled columns (Preprocessing::Kind::scale) back to those that the user has.

#include "margrove/model.hpp"
#include "margrove/tfidf.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {

/// The same scores, with values and weights of the columns before scaling. Other kinds of
/// preprocessing: unchanged.
Explanation in_raw_units(Explanation explanation, const Preprocessing& preprocessing);

/// A linear model of the columns before scaling, with the same scores: weights w_j / spread_j and
/// an intercept lower by sum_j w_j centre_j / spread_j, which may be the first one. Other kinds of
/// preprocessing: unchanged. O(weights), and dense weights for the intercept's row only.
LinearPredictor::Parts in_raw_units(const LinearPredictor::Parts& parts,
                                    const Preprocessing& preprocessing);

}  // namespace margrove
