#include "outputs/chain/chain_output.hpp"
#include "outputs/structured_training.hpp"

namespace margrove {

StructuredWeights fit_chain(const SequenceData& data, const StructuredOptions& options,
                            Executor& executor, RunControl& control) {
  check_sequences(data);
  return fit_structured(ChainModel(data, criteria_of(options)), options, executor, control);
}

}  // namespace margrove
