#pragma once
// One run of whatever solver the options name, for any structured model.

#include <functional>
#include <vector>

#include "margrove/surrogates.hpp"
#include "outputs/structured.hpp"
#include "structured/any_search.hpp"
#include "structured/bcfw.hpp"
#include "structured/criteria.hpp"
#include "structured/cutting_plane.hpp"
#include "structured/sgd.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// Which criteria the model must offer; a model without Micro-F1's throws on them.
inline Criteria criteria_of(const StructuredOptions& options) {
  return needs_f1_criteria(parse_surrogate(options.surrogate)) ? Criteria::micro_f1
                                                               : Criteria::hamming;
}
inline void require_hamming(const StructuredOptions& options) {
  require<InvalidOption>(criteria_of(options) == Criteria::hamming, "option surrogate is '",
                         options.surrogate, "', which model ", options.model, " does not offer");
}

/// Subgradients of labellings that miss the maximum by this share are as good as any. Nor does
/// ProbLoss gain by bans there: its edges are nearly flat, and its best corners as good to learn
/// from.
inline constexpr double kSgdSearchTolerance = 1e-2;

/// ProbLoss is flat far on the wrong side, where a start from zero leaves many examples for good:
/// the first half of the passes goes to its convex extension.
template <StructuredModel Model>
StructuredWeights fit_by_sgd(const Model& model, const DynamicSurrogate& psi,
                             const AnySearch& search, const StructuredOptions& options,
                             Executor& executor, RunControl& control) {
  const SgdOptions sgd_options{
      .C = options.loss_weight(), .max_passes = options.max_passes, .seed = options.seed};
  const bool is_convex = psi.is_convex();
  Sgd sgd(model, is_convex ? psi : DynamicSurrogate(ConvexProbLoss{}), search, sgd_options,
          executor, control);
  StructuredWeights result;
  const int convex_passes = is_convex ? options.max_passes : options.max_passes / 2;
  result.fit = sgd.run(convex_passes);
  if (!is_convex && result.fit.passes == convex_passes) {
    sgd.set_surrogate(psi);
    result.fit = sgd.run(options.max_passes - convex_passes);
    result.fit.passes += convex_passes;
  }
  result.weights = sgd.weights();
  return result;
}

/// `start`, where given: called with C for the dual variables that bcfw starts from
/// (Bcfw::start_from).
template <class Model>
using StartOf = std::function<std::vector<Mixture<typename Model::Labelling>>(double C)>;

template <StructuredModel Model>
StructuredWeights fit_structured(const Model& model, const StructuredOptions& options,
                                 Executor& executor, RunControl& control,
                                 const StartOf<Model>& start = {}) {
  const DynamicSurrogate psi(parse_surrogate(options.surrogate));
  std::string solver = options.solver;
  if (solver == "auto") solver = psi.is_affine() ? "bcfw" : "sgd";
  const bool is_sgd = solver == "sgd", is_prob = std::holds_alternative<ProbLoss>(psi.any()) ||
                                                 std::holds_alternative<ConvexProbLoss>(psi.any());
  const AnySearch search =
      AnySearch::parse(options.search, psi.any(), is_sgd && is_prob ? 0 : options.max_bans,
                       is_sgd ? kSgdSearchTolerance : 0.0);
  require<InvalidOption>(options.search != "sarawagi" || solver == "cutting-plane",
                         "option search is 'sarawagi', which needs the slacks of solver "
                         "cutting-plane, but solver is ",
                         solver);
  const double C = options.loss_weight();
  if (solver == "sgd") {
    return fit_by_sgd(model, psi, search, options, executor, control);
  }
  if (solver == "bcfw") {
    require<InvalidOption>(psi.is_affine(), "option solver is 'bcfw', but surrogate ",
                           options.surrogate, " is not affine in the margin; use sgd");
    Bcfw bcfw(model, psi, search,
              BcfwOptions{.C = C,
                          .tolerance = options.tolerance,
                          .max_passes = options.max_passes,
                          .minibatch = 1,
                          .seed = options.seed},
              executor, control);
    if constexpr (EvaluatingOracle<OracleOf<Model>>) {
      if (start) bcfw.start_from(start(C));
    }
    StructuredWeights result{{}, bcfw.run()};
    result.weights = bcfw.take_weights();
    return result;
  }
  require<InvalidOption>(psi.is_convex(), "option solver is '", solver, "', but surrogate ",
                         options.surrogate, " is not convex in the margin; use sgd");
  CuttingPlane planes(model, psi, search,
                      CuttingPlaneOptions{.C = C,
                                          .tolerance = options.tolerance,
                                          .max_rounds = options.max_passes,
                                          .one_slack = solver == "one-slack"},
                      executor, control);
  StructuredWeights result{{}, planes.run()};
  result.weights = planes.weights();
  return result;
}

}  // namespace margrove
