#include "linear/point_loss.hpp"

#include "margrove/errors.hpp"

namespace margrove {

std::string_view to_string(PointLossKind loss) {
  switch (loss) {
    case PointLossKind::hinge:
      return "hinge";
    case PointLossKind::squared_hinge:
      return "squared-hinge";
    case PointLossKind::logistic:
      return "logistic";
  }
  return "unknown";
}

PointLossKind point_loss_from_string(std::string_view name) {
  for (const auto loss :
       {PointLossKind::hinge, PointLossKind::squared_hinge, PointLossKind::logistic}) {
    if (name == to_string(loss)) return loss;
  }
  throw InvalidOption(concat("loss is ", name, ", but must be hinge, squared-hinge or logistic"));
}

}  // namespace margrove
