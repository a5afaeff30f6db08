#pragma once
// What a model is, as lines for people.

#include <cstddef>
#include <vector>

#include "model/model.hpp"

namespace margrove {

/// Method, options, labels, preprocessing and the end of training, then the facts of the predictor.
std::vector<Fact> model_facts(const ModelParts& model);

/// Whether training made rounds of several passes, each a point of the report's curve.
inline bool has_rounds_of_passes(const FitReport& report) {
  return !report.curve.empty() && report.curve.size() != static_cast<std::size_t>(report.passes);
}

}  // namespace margrove
