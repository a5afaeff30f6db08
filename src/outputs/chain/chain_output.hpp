#pragma once
// Linear chains as a type of output: `--model chain`.

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/output_type.hpp"

namespace margrove {

struct ChainSvmOptions : StructuredOptions {
  int min_feature_count = 1;

  static auto own_fields() {
    return std::tuple{
        field("min_feature_count", &ChainSvmOptions::min_feature_count, at_least(1),
              "features that occur less often are left out"),
    };
  }
};

/// Throws InvalidOption for a surrogate, search and solver that do not go together (bcfw needs a
/// surrogate affine in the margin, cutting planes a convex one), and what check_sequences() throws.
StructuredWeights fit_chain(const SequenceData& data, const StructuredOptions& options,
                            Executor& executor, RunControl& control);

OutputType chain_output();

}  // namespace margrove
