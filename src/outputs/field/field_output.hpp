#pragma once
// Multi-label fields as a type of output: `--model multilabel-field`.

#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "outputs/output_type.hpp"

namespace margrove {

struct FieldSvmOptions : StructuredOptions {
  Inference inference = Inference::exact;
  double pair_scale = 1.0;

  static auto own_fields() {
    return std::tuple{
        field("inference", &FieldSvmOptions::inference,
              "train on the most violating label set, or on the maximum of the linear relaxation, "
              "which may be fractional; the reported gap is that of the chosen problem"),
        field(
            "pair_scale", &FieldSvmOptions::pair_scale, positive,
            "value of the features of label pairs; with many labels, smaller values keep the pairs "
            "from outweighing the rows"),
    };
  }
};

/// X has the intercept. start: the weights of an earlier result to start from, or none. Throws what
/// fit_chain() and FieldModel throw.
StructuredWeights fit_field(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                            const FieldSvmOptions& options, Executor& executor, RunControl& control,
                            std::span<const float> start = {}, Checkpoint* checkpoint = nullptr);

OutputType field_output();

}  // namespace margrove
