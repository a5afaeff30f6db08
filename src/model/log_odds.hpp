#pragma once
// Which models have probabilities.

#include "model/model.hpp"

namespace margrove {

/// Whether the scores are log odds, as those of logistic regression are.
bool scores_are_log_odds(const ModelParts& model);
/// Whether the model was trained with the softmax of all scores.
bool is_multinomial(const ModelParts& model);

/// Whether the scores become probabilities by the model's rule: if they are log odds or the model
/// is calibrated, and of label sets also if they estimate probabilities. Other scores have no
/// scale.
bool gives_probabilities(const ModelParts& model);
/// Throws InvalidInput that says how to get probabilities, unless the model gives some.
void require_probabilities(const ModelParts& model);

}  // namespace margrove
