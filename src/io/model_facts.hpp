#pragma once
// What a model is, as lines for people.

#include <vector>

#include "model/model.hpp"

namespace margrove {

/// Method, options, labels, preprocessing and the end of training, then the facts of the predictor.
std::vector<Fact> model_facts(const ModelParts& model);

}  // namespace margrove
