#include "margrove/solver/label_set_svm.hpp"

#include "margrove/oracle/label_set_oracle.hpp"
#include "margrove/solver/bcfw.hpp"

namespace margrove {

PathSvmResult train_label_set_svm(const CsrView& X, const LabelSets& leaves_of_row,
                                  const LabelGraph& graph, std::span<const double> alpha,
                                  const LabelSetSvmOptions& options, Executor& executor,
                                  RunControl& control, std::span<const double> row_weights) {
  validate(options);
  const LabelSetModel model(X, leaves_of_row, graph, alpha);
  BcfwOptions bcfw;
  bcfw.C = options.C;
  bcfw.tolerance = options.tolerance;
  bcfw.max_passes = options.max_passes;
  bcfw.seed = options.seed;
  Bcfw solver(model, MarginRescaling{}, MarginSearch{}, bcfw, executor, control, row_weights);
  PathSvmResult result;
  result.fit = solver.run();
  result.weights = model.scorer().node_weights({solver.weights(), 1.0}, X.num_columns());
  return result;
}

}  // namespace margrove
