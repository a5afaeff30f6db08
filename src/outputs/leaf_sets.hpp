#pragma once
// From a TrainingSet to the rows and leaves of a solver, and back to a predictor of their labels.

#include <cstdint>
#include <string>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "margrove/label_graph.hpp"
#include "model/linear_predictor.hpp"
#include "model/method.hpp"

namespace margrove {

/// The rows of a method whose labels are leaves. A leaf is spawned below each inner node that rows
/// carry as label; rows without a label are left out.
struct LeafSets {
  LeafLabelled tree;                  // nodes of the hierarchy, then spawned leaves
  std::vector<std::uint32_t> kept;    // rows with a label
  LabelSets sets;                     // leaves of the kept rows
  std::vector<NodeId> candidates;     // leaves that rows carry or that are expected, ascending
  std::vector<std::string> warnings;  // states the number of rows that were left out
};
/// Without a hierarchy the graph has no edges. Throws InvalidInput if no row has a label.
LeafSets leaf_sets(const TrainingSet& data);

/// The same if labels that are inner nodes are partial: no leaf is spawned, and the sets of such
/// rows have the inner node (hierarchy/partial_labels.hpp), or the leaf where only one of the
/// candidates is below it. The candidates are the leaves that are labels of rows or expected; rows
/// whose label has none below are left out. Throws InvalidOption without a hierarchy, and
/// InvalidInput if a row has several labels or none has a leaf.
LeafSets partial_leaf_sets(const TrainingSet& data);

/// The leaf of each kept row; each must have exactly one.
std::vector<NodeId> leaf_of_row(const LeafSets& leaves);

/// Removes the nodes above all leaves. They cancel in differences of scores, and node weights are
/// computed without them (docs/notation.md, "Roots"). leaf_of_label becomes empty. Rows with such a
/// node as a partial label, which says nothing, are left out; a warning states their number.
LeafSets without_common_roots(LeafSets leaves);

/// The kept rows of X with the intercept appended.
CsrMatrix kept_rows_with_intercept(const CsrView& X, const std::vector<std::uint32_t>& kept,
                                   double bias);

/// The rows of a plan: X with the intercept, and the weights of its rows.
struct PlannedRows {
  CsrMatrix X;
  std::vector<double> weights;  // empty: all 1
};
PlannedRows planned_rows(const TrainingSet& data, const std::vector<std::uint32_t>& kept,
                         double bias);
/// The memory that the planned rows and their label sets take.
MemoryEstimate planned_rows_memory(const PlannedRows& rows, const LabelSets& sets);

/// The weights of the kept rows; empty if row_weights is.
std::vector<double> kept_weights(std::span<const double> row_weights,
                                 const std::vector<std::uint32_t>& kept);

/// The parts of a predictor over the candidate leaves.
LinearPredictor::Parts path_parts(const LeafSets& leaves, WeightMatrix weights, double bias,
                                  std::uint32_t num_labels, Decision decision);

}  // namespace margrove
