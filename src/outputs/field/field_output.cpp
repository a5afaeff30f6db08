#include "outputs/field/field_output.hpp"

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

// Some fifty label sets are kept per row, with a byte per label.
std::uint64_t memory(const FieldSvmOptions&, const TrainingSet& data) {
  const std::uint64_t labels = data.codec->size();
  const std::uint64_t weights = (data.X.num_columns() + 1) * 2 * labels + 2 * labels * labels;
  const std::uint64_t kept = 50 * (labels + 64) * data.labels->num_rows();
  return solver_bytes(weights) + kept + 16 * static_cast<std::uint64_t>(data.X.num_nonzeros());
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
