#include "model/model.hpp"

namespace margrove {

const RowPredictor& ModelParts::rows() const {
  const RowPredictor* rows = predictor->rows();
  require(rows != nullptr, "model of method ", method, ": its examples are not rows of a matrix");
  return *rows;
}

std::vector<bool> ModelParts::in_training() const {
  std::vector<bool> has_rows;
  for (const std::uint32_t rows : training_rows) has_rows.push_back(rows > 0);
  return has_rows;
}

}  // namespace margrove
