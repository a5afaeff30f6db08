#include "model/model.hpp"

namespace margrove {

const RowPredictor& ModelParts::rows() const {
  const auto* rows = dynamic_cast<const RowPredictor*>(predictor.get());
  require(rows != nullptr, "model of method ", method, ": its examples are not rows of a matrix");
  return *rows;
}

}  // namespace margrove
