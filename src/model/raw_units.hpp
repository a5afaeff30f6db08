#pragma once
// Explanations and models of columns that were selected (Preprocessing::columns) and scaled
// (Preprocessing::Kind::scale), in numbers and units of the user's columns.

#include "margrove/results.hpp"
#include "margrove/tfidf.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {

/// The same scores, with numbers, values and weights of the columns as given. Other kinds of
/// preprocessing: unchanged.
Explanation in_raw_units(Explanation explanation, const Preprocessing& preprocessing);

/// A linear model of the columns as given, with the same scores: weights w_j / spread_j and
/// an intercept lower by sum_j w_j centre_j / spread_j, which may be the first one. Other kinds of
/// preprocessing: unchanged. O(weights + columns as given), and dense weights for the intercept's
/// row only.
LinearPredictor::Parts in_raw_units(const LinearPredictor::Parts& parts,
                                    const Preprocessing& preprocessing);

}  // namespace margrove
