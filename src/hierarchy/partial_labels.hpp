#pragma once
// Partial labels: of a row it is known only that its leaf lies below an inner node.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// A row with a partial label n is no example of the classifiers of the leaves below n, neither of
/// sign +1 nor of sign -1, and has sign -1 in those of all other leaves. Refers to the graph.
class PartialLabels {
 public:
  /// No row has a partial label.
  PartialLabels() = default;
  /// Rows whose only label is an inner node have partial labels. O(rows + nodes).
  PartialLabels(const LabelGraph& graph, const LabelSets& sets);

  bool empty() const { return graph_ == nullptr; }
  /// Calls use(row) once for each row that has no sign for the leaf. O(ancestors + these rows).
  template <class Use>
  void for_each_without_sign(NodeId leaf, const Use& use) const {
    if (empty()) return;
    for (const NodeId n : graph_->ancestors(leaf)) {
      for (const std::uint32_t row : rows_of_[n]) use(row);
    }
  }
  /// The ancestors of the leaf that are labels of rows, ascending: leaves for which these are the
  /// same have signs for the same rows.
  std::vector<NodeId> labels_above(NodeId leaf) const;

 private:
  const LabelGraph* graph_ = nullptr;
  std::vector<std::vector<std::uint32_t>> rows_of_;  // by node
};

inline const PartialLabels kNoPartialLabels;

/// Of each row, its leaf or the leaves of which one, unknown which, is that of the row.
class LeafChoices {
 public:
  static constexpr std::uint32_t kKnown = std::numeric_limits<std::uint32_t>::max();

  /// The leaves of all rows are known.
  LeafChoices() = default;
  /// label_of_row[i]: a leaf, or an inner node with some of the candidates below, which are then
  /// the choices of the row. candidates: leaves. O(rows + nodes below the labels).
  LeafChoices(const LabelGraph& graph, std::span<const NodeId> label_of_row,
              std::span<const NodeId> candidates);

  bool all_known() const { return sets_.empty(); }
  /// Which of the sets has the choices of row i, or kKnown.
  std::uint32_t set_of(std::size_t i) const { return all_known() ? kKnown : set_of_row_[i]; }
  std::size_t num_sets() const { return sets_.size(); }
  /// Ascending, not empty.
  std::span<const NodeId> set(std::uint32_t k) const { return sets_[k]; }
  bool operator==(const LeafChoices&) const = default;

 private:
  std::vector<std::uint32_t> set_of_row_;
  std::vector<std::vector<NodeId>> sets_;
};

/// The sets with those of partial labels empty.
LabelSets known_leaves(const LabelGraph& graph, const LabelSets& sets);

}  // namespace margrove
