#pragma once
// Which models have probabilities.

#include "model/model.hpp"

namespace margrove {

/// Whether the scores are log odds, as those of logistic regression are.
bool scores_are_log_odds(const ModelParts& model);

/// Whether the scores become probabilities by the model's rule: of models that give each row one
/// label where they are calibrated or the scores are log odds; of label sets where scores are log
/// odds or estimates of probabilities. The scores of other models have no scale.
bool gives_probabilities(const ModelParts& model);
/// Throws InvalidInput that says how to get probabilities, unless the model gives some.
void require_probabilities(const ModelParts& model);

}  // namespace margrove
