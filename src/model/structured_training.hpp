#pragma once
// One run of whatever solver the options name, for any structured model.

#include "margrove/loss/surrogates.hpp"
#include "margrove/model/structured.hpp"
#include "margrove/search/any_search.hpp"
#include "margrove/solver/bcfw.hpp"
#include "margrove/solver/cutting_plane.hpp"
#include "margrove/solver/sgd.hpp"

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

template <StructuredModel Model>
StructuredWeights fit_structured(const Model& model, const StructuredOptions& options,
                                 Executor& executor, RunControl& control) {
  const DynamicSurrogate psi(parse_surrogate(options.surrogate));
  const AnySearch search = AnySearch::parse(options.search, psi.any(), options.max_bans);
  std::string solver = options.solver;
  if (solver == "auto") solver = psi.is_affine() ? "bcfw" : "sgd";
  require<InvalidOption>(options.search != "sarawagi" || solver == "cutting-plane",
                         "option search is 'sarawagi', which needs the slacks of solver "
                         "cutting-plane, but solver is ",
                         solver);
  const double C = options.loss_weight();
  if (solver == "sgd") {
    Sgd sgd(model, psi, search,
            SgdOptions{.C = C, .max_passes = options.max_passes, .seed = options.seed}, executor,
            control);
    StructuredWeights result{{}, sgd.run()};
    result.weights = sgd.weights();
    return result;
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
