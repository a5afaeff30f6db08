#include "model/model.hpp"

namespace margrove {

const RowPredictor& ModelParts::rows() const {
  const RowPredictor* rows = predictor->rows();
  require(rows != nullptr, "model of method ", method, ": its examples are not rows of a matrix");
  return *rows;
}

}  // namespace margrove
