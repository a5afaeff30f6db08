#pragma once
// All kinds of predictors by name. registry.cpp lists them and the methods, one per line.

#include <memory>

#include "model/method.hpp"

namespace margrove {

/// The predictor in `tensors`, of a model with num_labels labels. Throws ModelFileError if the kind
/// is not known or `tensors` do not hold one.
std::unique_ptr<Predictor> load_predictor(const std::string& kind, const TensorMap& tensors,
                                          std::uint32_t num_labels);

}  // namespace margrove
