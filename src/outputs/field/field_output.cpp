#include "outputs/field/field_output.hpp"

#include <algorithm>

#include "data/csr_operations.hpp"
#include "outputs/field/field_predictor.hpp"

namespace margrove {
namespace {

TrainResult train(const FieldSvmOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  const CsrMatrix X = with_intercept(data.X, options.bias);
  StructuredWeights fit = fit_field(X, *data.labels, num_labels, options, executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.predictor = std::make_unique<FieldPredictor>(RowShape{data.X.num_columns(), options.bias},
                                                      num_labels, std::move(fit.weights));
  return result;
}

MemoryEstimate memory(const FieldSvmOptions&, const TrainingSet& data) {
  const auto rows = static_cast<double>(data.X.num_rows());
  const auto labels = static_cast<double>(data.codec->size());
  const double kept = std::min(60.0, 1.2 * labels);  // label sets per row in the dual, a guess
  MemoryEstimate memory;
  memory.add("rows of the solver", solver_row_bytes(data.X));
  memory.add("weights",
             solver_bytes(2 * (data.X.num_columns() + 1.0) * labels + 2 * labels * labels));
  memory.add("dual variables", rows * (kept * (labels + 100) + 4 * kept * kept + 500));
  return memory;
}

}  // namespace

OutputType field_output() {
  const OutputType type{
      .name = "multilabel-field",
      .plural = "pairwise label sets",
      .summary = "label sets with pairwise terms",
      .kind = "field",
      .load = FieldPredictor::load,
  };
  return of_rows(type, RowTraining<FieldSvmOptions>{train, memory});
}

}  // namespace margrove
