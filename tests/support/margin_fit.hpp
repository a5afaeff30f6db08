#pragma once
// One run of block-coordinate Frank-Wolfe with margin rescaling, without limits or reports.

#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "structured/bcfw.hpp"
#include "structured/search.hpp"
#include "structured/surrogate.hpp"

namespace margrove::testing {

template <class Model>
StructuredFit margin_fit(const Model& model, const BcfwOptions& options, Executor& executor,
                         std::vector<float>* weights = nullptr) {
  RunControl control;
  Bcfw solver(model, MarginRescaling{}, MarginSearch{}, options, executor, control);
  const StructuredFit result = solver.run();
  if (weights != nullptr) *weights = solver.take_weights();
  return result;
}

}  // namespace margrove::testing
