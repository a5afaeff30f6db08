#pragma once
// One linear classifier: the subproblem that one-vs-rest and recursive regularisation share.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "linear/point_loss.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

/// min_v 1/2 |v|^2 + sum_i C_i loss(y_i (p + v).x_i), that is, w = p + v is
/// regularised towards the prior p (zero for a flat classifier, the parent's weights in HR).
struct BinaryProblem {
  CsrView X;
  std::uint32_t tail = 0;                    // detail::dense_tail(X)
  std::span<const double> squared_norms;     // of X's rows
  std::span<const std::uint32_t> positives;  // rows with y = +1, ascending; the others are -1
  double C = 1.0;
  std::span<const double> row_weights = {};   // C_i = C * row_weights[i] >= 0; empty: all 1
  std::span<const double> prior_scores = {};  // p.x_i; empty: p = 0
};

struct BinaryOptions {
  double tolerance = 1e-3;  // of the relative duality gap (primal - dual) / primal
  int max_passes = 1000;    // over the rows
  std::uint64_t seed = 0;   // order of the coordinates
};

/// The start and the result of a solver. Smooth losses start from `v`, hinge starts from `a` (dual
/// variables, 0 <= a_i, a_i <= C_i for hinge); empty: from zero. Both are written.
struct BinaryState {
  std::vector<double> v;
  std::vector<double> a;
};

struct BinaryFit {
  double primal = 0.0;
  double dual = -std::numeric_limits<double>::infinity();  // of dual variables that are feasible
  int passes = 0;
  Stop stop = Stop::converged;
  double relative_gap() const { return primal > 0 ? (primal - dual) / primal : 0.0; }
};

/// Hinge: dual coordinate descent with shrinking. Squared hinge and logistic: Newton steps by
/// preconditioned conjugate gradients with a line search. Deterministic. O(nonzeros) per pass.
BinaryFit solve_binary(const BinaryProblem& problem, PointLossKind loss,
                       const BinaryOptions& options, BinaryState& state, RunControl& control);

}  // namespace margrove
