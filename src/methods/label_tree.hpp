#pragma once
// Trees of labels that are learned from their rows, where no hierarchy is given.

#include <cstdint>

#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

struct LabelTreeOptions {
  int trees = 1;
  bool one_vs_rest = false;  // adds a tree whose root has all labels below it
  int max_leaves = 100;      // below a node whose children are labels
  std::uint64_t seed = 0;    // of the two labels that each division begins with
};

/// Trees whose leaves are the labels: leaf num_labels t + l is label l in tree t. The inner nodes
/// follow, the root of a tree before the others of it. Labels are divided into halves, which differ
/// by one label at most, until a half has at most max_leaves: balanced spherical 2-means of the
/// labels' centroids, the means of their unit rows (Prabhu, Kag, Harsola, Agrawal and Varma, 2018).
/// Up to max_leaves labels have one tree, as all would be the same.
/// Every label must have a row. O(trees passes depth entries of the centroids). Throws OutOfTime
/// where `control` asks to end, and InvalidOption for trees < 1 and max_leaves < 2.
LabelGraph learned_label_trees(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                               const LabelTreeOptions& options, RunControl& control);

}  // namespace margrove
