#pragma once
// Every method and every kind of predictor, by name. A new one is one line here and one in
// registry.cpp.

#include <memory>

#include "model/method.hpp"

namespace margrove {

/// The predictor that `tensors` hold, of a model with so many labels. Throws ModelFileError if no
/// such kind is known or what `tensors` hold is not one.
std::unique_ptr<Predictor> load_predictor(const std::string& kind, const TensorMap& tensors,
                                          std::uint32_t num_labels);

}  // namespace margrove
