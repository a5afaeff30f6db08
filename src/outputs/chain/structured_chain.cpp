#include "outputs/chain/chain_output.hpp"
#include "structured/train_structured.hpp"

namespace margrove {

StructuredWeights fit_chain(const SequenceData& data, const ChainSvmOptions& options,
                            Executor& executor, RunControl& control, std::span<const float> start,
                            Checkpoint* checkpoint) {
  check_sequences(data);
  const ChainModel model(data, criteria_for(options.surrogate),
                         static_cast<std::uint32_t>(options.order));
  StructuredInputs<ChainModel> inputs;
  inputs.start = start;
  inputs.continuation.checkpoint = checkpoint;
  return train_structured(model, options.training(), executor, control, inputs);
}

}  // namespace margrove
