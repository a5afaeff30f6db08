#include "model/level_weights.hpp"

#include <algorithm>

namespace margrove {

GraphLevels::GraphLevels(const LabelGraph& graph) : graph_(graph) {
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (!graph.is_leaf(n)) size_ = std::max(size_, graph.depth(n) + 2);
  }
  size_ = std::min(size_, kMost);
}

}  // namespace margrove
