#include "outputs/label_set/label_set_svm.hpp"

#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/scorer_training.hpp"

namespace margrove {

PathSvmResult train_label_set_svm(const CsrView& X, const LabelSets& leaves_of_row,
                                  const LabelGraph& graph, std::span<const double> alpha,
                                  const LabelSetSvmOptions& options, Executor& executor,
                                  RunControl& control, std::span<const double> row_weights,
                                  const Continuation& continuation) {
  validate(options);
  const LabelSetModel model(
      X, leaves_of_row, graph, alpha, keeps_sums(options.solver, continuation),
      options.inference == "exact" ? LabelSetMaximum::exact : LabelSetMaximum::relaxed);
  // Fractional duals would be no labellings of the exact problem, so that inference is part of it.
  return train_scorer_model(
      model, MarginRescaling{}, MarginSearch{},
      scorer_run(options, X, {graph, {alpha.begin(), alpha.end()}, "hamming, " + options.inference},
                 row_weights, continuation, executor, control));
}

}  // namespace margrove
