#pragma once
// The losses of one margin by name.

#include <array>

#include "margrove/api.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

/// max(0, 1 - m), its square, log(1 + exp(-m)) of the margin m = y f.
enum class PointLossKind { hinge, squared_hinge, logistic };

template <>
inline constexpr auto kEnumNames<PointLossKind> =
    std::array{EnumName{PointLossKind::hinge, "hinge"},
               EnumName{PointLossKind::squared_hinge, "squared-hinge"},
               EnumName{PointLossKind::logistic, "logistic"}};

}  // namespace margrove
