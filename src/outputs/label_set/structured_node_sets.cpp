#include "outputs/structured_training.hpp"

namespace margrove {

StructuredWeights fit_node_sets(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
                                const LabelGraph& graph, const StructuredOptions& options,
                                Executor& executor, RunControl& control) {
  require_hamming(options);
  require_exact(options);
  return fit_structured(NodeSetModel(X, leaves, graph), options, executor, control);
}

}  // namespace margrove
