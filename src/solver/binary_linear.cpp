#include "margrove/solver/binary_linear.hpp"

#include "binary_solvers.hpp"

namespace margrove {

BinaryFit solve_binary(const BinaryProblem& problem, PointLossKind loss,
                       const BinaryOptions& options, BinaryState& state, RunControl& control) {
  return visit_point_loss(loss, [&]<class Loss>(Loss) {
    if constexpr (Loss::kSmooth) {
      return detail::solve_smooth<Loss>(problem, options, state, control);
    } else {
      return detail::solve_hinge(problem, options, state, control);
    }
  });
}

}  // namespace margrove
