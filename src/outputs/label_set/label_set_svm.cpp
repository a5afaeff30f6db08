#include "outputs/label_set/label_set_svm.hpp"

#include "structured/train_structured.hpp"

namespace margrove {

PathSvmResult train_label_set_svm(const CsrView& X, const LabelSets& leaves_of_row,
                                  const LabelGraph& graph, std::span<const double> alpha,
                                  LabelSetTask task, const StructuredTraining& training,
                                  Executor& executor, RunControl& control,
                                  std::span<const double> row_weights,
                                  const Continuation& continuation) {
  require<InvalidOption>(
      task.inference == Inference::exact || is<MarginRescaling>(training.surrogate),
      "option inference is 'relaxed', which needs margin rescaling, but "
      "surrogate is ",
      training.surrogate.to_text());
  const LabelSetModel model(X, leaves_of_row, graph, alpha,
                            node_storage(X, graph, alpha, training, continuation), task);
  // Fractional labellings of an earlier run would not be labellings of the exact problem, and its
  // dual variables go with the loss, so that both are part of the problem.
  const HierarchyProblem problem{.graph = graph,
                                 .alpha = {alpha.begin(), alpha.end()},
                                 .is_relaxed = task.inference == Inference::relaxed,
                                 .set_loss = task.loss};
  const StructuredInputs<LabelSetModel, HierarchyProblem> inputs{
      .example_weights = row_weights, .continuation = continuation, .problem = problem};
  StructuredResult trained = train_structured(model, training, executor, control, inputs);
  return {model.scorer().node_weights({trained.weights, 1.0}, X.num_columns()), trained.fit,
          std::move(trained.state)};
}

}  // namespace margrove
