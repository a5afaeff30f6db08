#include "outputs/field/field_output.hpp"

#include <algorithm>

#include "data/csr_operations.hpp"
#include "outputs/field/field_predictor.hpp"

namespace margrove {
namespace {

bool is_tuned(const FieldSvmOptions& options, const LabelSets& sets) {
  return decision_options(options).resolved(sets, DecisionKind::offset) == DecisionKind::offset;
}

/// X has the intercept.
Decision decide(const FieldSvmOptions& options, const CsrView& X, const TrainingSet& data,
                Executor& executor, RunControl& control) {
  const LabelSets& sets = *data.labels;
  if (!is_tuned(options, sets)) return ArgmaxDecision{};
  if (sets.num_rows() < 2) return OffsetDecision{};
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    sizes.push_back(static_cast<std::uint32_t>(sets[i].size()));
  }
  const auto fit_part = [&](const Split& split, RunControl& share) {
    StructuredWeights fit =
        fit_field(select_rows(X, split.training), select_rows(sets, split.training), num_labels,
                  options, executor, share);
    return field_searches(select_rows(X, split.validation), num_labels, std::move(fit.weights));
  };
  const auto metric =
      label_set_metric(options.decision_metric, sets, data.row_weights, data.hierarchy);
  return OffsetDecision{
      tuned_offset(decision_options(options), {sets, sizes}, *metric, fit_part, executor, control)};
}

/// The weights of options.start, or none. Throws InvalidOption unless they are of the same columns
/// and labels.
std::span<const float> start_of(const FieldSvmOptions& options, const RowShape& shape,
                                const LabelCodec& codec) {
  const auto* earlier = start_predictor<FieldPredictor>(options);
  if (earlier == nullptr) return {};
  require<InvalidOption>(std::ranges::equal(options.start->labels.names(), codec.names()),
                         "option start is a model of other labels than those of the rows");
  require<InvalidOption>(earlier->shape().num_columns() == shape.num_columns(),
                         "option start is a model of ", earlier->shape().num_columns(),
                         " columns with the intercept, but the rows have ", shape.num_columns());
  return earlier->weights();
}

TrainResult train(const FieldSvmOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  require(num_labels > 0, data.source, ": no row has a label");
  const CsrMatrix X = with_intercept(data.X, options.bias);
  Decision decision = decide(options, X, data, executor, control);
  const RowShape shape{data.X.num_columns(), options.bias};
  StructuredWeights fit =
      fit_field(X, *data.labels, num_labels, options, executor, control,
                start_of(options, shape, *data.codec), data.continuation.checkpoint);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.predictor = std::make_unique<FieldPredictor>(shape, num_labels, std::move(fit.weights),
                                                      std::move(decision));
  return result;
}

MemoryEstimate memory(const FieldSvmOptions& options, const TrainingSet& data) {
  const auto rows = static_cast<double>(data.X.num_rows());
  const auto labels = static_cast<double>(data.codec->size());
  const double kept = std::min(60.0, 1.2 * labels);  // assumed label sets per row in the dual
  MemoryEstimate memory;
  memory.add("rows of the solver", solver_row_bytes(data.X));
  memory.add("weights",
             solver_bytes(2 * (data.X.num_columns() + 1.0) * labels + 2 * labels * labels,
                          options.solver));
  if (!uses_sgd(options.training())) {
    memory.add("dual variables", rows * (kept * (labels + 100) + 4 * kept * kept + 500));
  }
  if (!is_tuned(options, *data.labels)) return memory;
  return offset_memory(counts_of(*data.labels), solver_row_bytes(data.X), std::move(memory));
}

}  // namespace

OutputType field_output() {
  const OutputType type{
      .name = "multilabel-field",
      .plural = "pairwise label sets",
      .summary = "label sets with pairwise terms",
      .kind = "field",
      .load = FieldPredictor::load,
      .takes_offset = true,
      .takes_start = true,
      .empty_sets = true,
      .keeps_checkpoints = true,
  };
  return of_rows(type, RowTraining<FieldSvmOptions>{train, memory});
}

}  // namespace margrove
