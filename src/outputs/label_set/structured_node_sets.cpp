#include "outputs/structured.hpp"
#include "structured/train_structured.hpp"

namespace margrove {

StructuredResult fit_node_sets(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
                               const LabelGraph& graph, const StructuredOptions& options,
                               Executor& executor, RunControl& control) {
  require_hamming(options);
  require_exact(options);
  return train_structured(NodeSetModel(X, leaves, graph), options.training(), executor, control);
}

}  // namespace margrove
