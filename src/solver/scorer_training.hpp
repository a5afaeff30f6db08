#pragma once
// Training of models whose weights a NodeScorer holds, by either solver.

#include <string>
#include <vector>

#include "margrove/solver/bcfw.hpp"
#include "margrove/solver/path_svm.hpp"
#include "margrove/solver/sgd.hpp"

namespace margrove {

/// solver: "bcfw" with these options, or "sgd" with their C and seed and as many epochs.
template <class Model, class Psi, class Search>
PathSvmResult train_scorer_model(const Model& model, Psi psi, Search search,
                                 const std::string& solver, const BcfwOptions& options, int epochs,
                                 std::uint32_t num_features, Executor& executor,
                                 RunControl& control, std::span<const double> row_weights) {
  PathSvmResult result;
  if (solver == "sgd" && model.num_examples() > 0) {
    SgdOptions sgd;
    sgd.C = options.C;
    sgd.max_passes = epochs;
    sgd.seed = options.seed;
    Sgd run(model, psi, search, sgd, executor, control, row_weights);
    result.fit = run.run();
    // All epochs made is the whole of what was asked for: there is no tolerance to miss.
    if (result.fit.stop == Stop::pass_limit) result.fit.stop = Stop::converged;
    const std::vector<float> w = run.weights();
    const StructuredObjective objective =
        structured_objective(model, psi, search, options.C, {w, 1.0}, executor, row_weights);
    result.fit.primal = objective.value;
    result.fit.oracle_calls += objective.oracle_calls;
    result.weights = model.scorer().node_weights({w, 1.0}, num_features);
    return result;
  }
  Bcfw run(model, psi, search, options, executor, control, row_weights);
  result.fit = run.run();
  result.weights = model.scorer().node_weights({run.weights(), 1.0}, num_features);
  return result;
}

}  // namespace margrove
