#include "outputs/field/field_output.hpp"
#include "outputs/field/field_start.hpp"
#include "outputs/field/relaxed_field.hpp"
#include "outputs/structured.hpp"
#include "structured/train_structured.hpp"

namespace margrove {

StructuredWeights fit_field(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                            const FieldSvmOptions& options, Executor& executor, RunControl& control,
                            std::span<const float> start, Checkpoint* checkpoint) {
  const FieldModel model(
      X, labels, num_labels,
      {.criteria = criteria_for(options.surrogate), .pair_scale = options.pair_scale});
  // The features of pairs have the value pair_scale here, and 1 in results.
  std::vector<float> scaled(start.begin(), start.end());
  const std::size_t first_pair = std::size_t{X.num_columns()} * num_labels;
  for (std::size_t k = first_pair; k < scaled.size(); ++k) {
    scaled[k] /= static_cast<float>(options.pair_scale);
  }
  StructuredInputs<FieldModel> inputs;
  inputs.start = scaled;
  StructuredInputs<RelaxedFieldModel> relaxed;
  relaxed.start = scaled;
  inputs.continuation.checkpoint = relaxed.continuation.checkpoint = checkpoint;
  inputs.dual_start = [&](double C) {
    const OneVsRestOptions each{.C = C, .tolerance = options.tolerance, .seed = options.seed};
    return field_start(X, labels, num_labels, options.pair_scale, each, executor, control);
  };
  StructuredWeights result =
      options.inference == Inference::relaxed
          ? train_structured(RelaxedFieldModel(model), options.training(), executor, control,
                             relaxed)
          : train_structured(model, options.training(), executor, control, inputs);
  // Folds pair_scale into the weights: for the predictor the features of pairs have value 1.
  const std::span pairs = std::span(result.weights).subspan(X.num_columns() * num_labels);
  for (float& weight : pairs) weight *= static_cast<float>(options.pair_scale);
  return result;
}

}  // namespace margrove
