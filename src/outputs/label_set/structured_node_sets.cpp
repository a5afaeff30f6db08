#include "outputs/label_set/node_set_output.hpp"
#include "outputs/label_set/node_sets.hpp"
#include "outputs/structured_training.hpp"

namespace margrove {

StructuredWeights fit_node_sets(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
                                const LabelGraph& graph, const StructuredOptions& options,
                                Executor& executor, RunControl& control) {
  require_hamming(options);
  return fit_structured(NodeSetModel(X, leaves, graph), options, executor, control);
}

}  // namespace margrove
