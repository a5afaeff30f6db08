#pragma once
// Task losses between the root paths of two leaves. With y = A(l) and y' = A(l'), both are read off
// the symmetric difference y △ y': its size (Hamming, hsvm) or sqrt of its weight (NHSVM, eq. 11).

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
std::string_view to_string(TaskLoss loss);
/// Throws InvalidOption naming the known ones.
TaskLoss parse_task_loss(std::string_view name);

}  // namespace margrove
