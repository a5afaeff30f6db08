#pragma once
// Task losses between the root paths of two leaves. With y = A(l) and y' = A(l') they depend on the
// symmetric difference y △ y': its size (Hamming, hsvm), the square root of its weight (NHSVM,
// eq. 11), or whether it is empty.

#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

enum class TaskLoss {
  hamming,     // |y △ y'|
  normalized,  // sqrt(sum of alpha over y △ y')
  zero_one,    // 1 if y differs from y'
};
template <>
inline constexpr auto kEnumNames<TaskLoss> =
    std::array{EnumName{TaskLoss::hamming, "hamming"}, EnumName{TaskLoss::normalized, "normalized"},
               EnumName{TaskLoss::zero_one, "zero-one"}};

namespace detail {

/// The task loss of a label set y beside y_i: the leaves, or the nodes, in one of the two sets
/// only, or the square root of the weight of these nodes, the loss of paths of NHSVM (eq. 11).
enum class LabelSetLoss { leaves, nodes, normalized };

}  // namespace detail
template <>
inline constexpr auto kEnumNames<detail::LabelSetLoss> =
    std::array{EnumName{detail::LabelSetLoss::leaves, "leaves"},
               EnumName{detail::LabelSetLoss::nodes, "nodes"},
               EnumName{detail::LabelSetLoss::normalized, "normalized"}};

}  // namespace margrove
