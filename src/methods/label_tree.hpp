#pragma once
// Trees of labels that are learned from their rows, where no hierarchy is given.

#include <cstdint>

#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

struct LabelTreeOptions {
  int max_leaves = 100;    // below a node whose children are labels
  std::uint64_t seed = 0;  // of the two labels that each division begins with
};

/// A tree whose leaves are the labels, numbered as they are, and whose inner nodes follow, the root
/// first. Labels are divided into halves, which differ by one label at most, until a half has at
/// most max_leaves: balanced spherical 2-means of the labels' centroids, the means of their unit
/// rows (Prabhu, Kag, Harsola, Agrawal and Varma, 2018). Labels without rows are roots of their
/// own. O(passes depth entries of the centroids); when `control` ends the work, halves are those of
/// the last pass. Throws InvalidOption for max_leaves < 2.
LabelGraph learned_label_tree(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                              const LabelTreeOptions& options, RunControl& control);

}  // namespace margrove
