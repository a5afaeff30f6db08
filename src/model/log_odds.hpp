#pragma once
// Which models have probabilities.

#include "model/model.hpp"

namespace margrove {

/// Whether the scores are log odds, as those of logistic regression are.
bool scores_are_log_odds(const ModelParts& model);

/// Whether softmax of the scores estimates probabilities: of calibrated models, and where scores
/// are log odds. The scores of other models have no scale.
bool gives_probabilities(const ModelParts& model);

}  // namespace margrove
