#include "margrove/oracle/relaxed_field.hpp"
#include "structured_training.hpp"

namespace margrove {

StructuredWeights fit_field(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                            const StructuredOptions& options, Executor& executor,
                            RunControl& control) {
  const FieldModel model(X, labels, num_labels, {.criteria = criteria_of(options)});
  if (options.inference == "relaxed") {
    return fit_structured(RelaxedFieldModel(model), options, executor, control);
  }
  return fit_structured(model, options, executor, control);
}

}  // namespace margrove
