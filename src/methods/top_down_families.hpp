#pragma once
// The training problems of top-down-svm.

#include <cstdint>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// The nodes with the same parents (or the roots) that have rows, and the rows below the parents. A
/// node's classifier is trained once: its positives are the rows below it, its negatives the others
/// of the family. On a tree a family is the children of one node.
struct Family {
  std::vector<NodeId> children;
  std::vector<std::uint32_t> rows;  // ascending
  LabelSets sets;                   // positions in `children`, one set for each of `rows`
  /// Of two children, each row has one. The second has the weights of the first times -1, so that
  /// only the first is trained, and `sets` do not have the second.
  bool is_mirrored = false;

  /// The number of classifiers that are trained.
  std::uint32_t num_trained() const {
    return is_mirrored ? 1 : static_cast<std::uint32_t>(children.size());
  }
};

/// The families of rows whose labels are `sets`: leaves of `graph`, or inner nodes where labels are
/// partial. Such a row is in no family below its label, because nothing is known there. The roots
/// come first, then the families by their parents, in lexicographic order. Those whose only child
/// has all rows of the family are left out, because there is nothing to learn. O(sum over the rows
/// of the ancestors of their labels and of the families of these), up to sorting.
std::vector<Family> families_of(const LabelGraph& graph, const LabelSets& sets);

/// Mirrors each family that can be.
void mirror_pairs(std::vector<Family>& families);

}  // namespace margrove
