#pragma once
// Scores of rows that are computed in blocks, because all of them may not fit into memory.

#include <cstddef>
#include <functional>
#include <span>

#include "margrove/label_graph.hpp"

namespace margrove {

/// num_rows x num_columns scores; a larger score is a more likely label; -infinity is allowed, NaN
/// is not.
struct ScoreRows {
  std::size_t num_rows = 0;
  std::size_t num_columns = 0;
  /// Writes rows [begin, end), one after the other. Called from several threads at once.
  std::function<void(std::size_t begin, std::size_t end, std::span<double> scores)> compute;

  /// Rows to compute at once, so that their scores take about a megabyte.
  std::size_t rows_per_block() const {
    constexpr std::size_t kScores = 1 << 17;
    const std::size_t rows = num_columns == 0 ? kScores : kScores / num_columns;
    return rows < 1 ? 1 : (rows > 256 ? 256 : rows);
  }
};

/// Raises every node's score to the largest score of its children, if that is larger. O(edges).
inline void raise_parents(const LabelGraph& hierarchy, std::span<double> scores) {
  const auto order = hierarchy.topological_order();
  for (std::size_t k = order.size(); k-- > 0;) {
    for (const NodeId parent : hierarchy.parents(order[k])) {
      if (scores[order[k]] > scores[parent]) scores[parent] = scores[order[k]];
    }
  }
}

}  // namespace margrove
