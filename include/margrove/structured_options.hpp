#pragma once
// How structured SVMs are trained: the choices that every method and every type of output shares.

#include <array>

#include "margrove/options.hpp"

namespace margrove {

enum class StructuredSolver {
  automatic,      // bcfw where the surrogate is affine in the margin violation, otherwise sgd
  bcfw,           // block-coordinate Frank-Wolfe, up to a duality gap
  sgd,            // averaged stochastic subgradients, for a number of passes
  cutting_plane,  // one slack per example, up to a duality gap
  one_slack,      // one slack for all examples, up to a duality gap
};
template <>
inline constexpr auto kEnumNames<StructuredSolver> =
    std::array{EnumName{StructuredSolver::automatic, "auto"},
               EnumName{StructuredSolver::bcfw, "bcfw"}, EnumName{StructuredSolver::sgd, "sgd"},
               EnumName{StructuredSolver::cutting_plane, "cutting-plane"},
               EnumName{StructuredSolver::one_slack, "one-slack"}};

/// How the most violating labelling is found.
enum class SearchKind {
  automatic,    // margin for margin rescaling; for the others enumeration, or else convex_hull
  margin,       // one call of the oracle
  sarawagi,     // slack rescaling, for cutting planes
  binary,       // slack rescaling
  bisecting,    // slack rescaling
  angular,      // slack rescaling, by oracles with bounds on the slope
  convex_hull,  // every surrogate that increases with the task loss
  enumeration,  // every surrogate, where the model looks at all labellings anyway
};
template <>
inline constexpr auto kEnumNames<SearchKind> =
    std::array{EnumName{SearchKind::automatic, "auto"},
               EnumName{SearchKind::margin, "margin"},
               EnumName{SearchKind::sarawagi, "sarawagi"},
               EnumName{SearchKind::binary, "binary"},
               EnumName{SearchKind::bisecting, "bisecting"},
               EnumName{SearchKind::angular, "angular"},
               EnumName{SearchKind::convex_hull, "convex-hull"},
               EnumName{SearchKind::enumeration, "enumeration"}};

inline constexpr const char* kSurrogateHelp =
    "margin, slack, generalised:BETA,A, beta:BETA, log, prob, prob-convex, micro-f1, "
    "normalized-difference";
inline constexpr const char* kSearchHelp =
    "how the most violating labelling is found; auto: margin for margin rescaling; for the others "
    "enumeration where a model looks at all labellings anyway, otherwise convex-hull";
inline constexpr const char* kSolverHelp =
    "bcfw: block-coordinate Frank-Wolfe, up to a duality gap; cutting-plane, one-slack: up to a "
    "gap, "
    "too; sgd: averaged stochastic subgradients, for a number of passes; auto: bcfw where the "
    "surrogate is affine in the margin, otherwise sgd";
inline constexpr const char* kMaxBansHelp =
    "rounds in which convex-hull search makes a fractional optimum integral; prob by sgd: none";

}  // namespace margrove
