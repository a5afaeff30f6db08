#pragma once
// What the linear methods share on their way from a TrainingSet to a LinearPredictor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "margrove/label_graph.hpp"
#include "model/linear_predictor.hpp"
#include "model/method.hpp"
#include "outputs/structured.hpp"

namespace margrove {

/// The labels that occur in the data, ascending, and the rows' sets in positions of that list.
struct OccurringLabels {
  std::vector<LabelId> labels;
  LabelSets sets;
};
OccurringLabels occurring_labels(const LabelSets& sets, std::size_t num_labels);

/// Rows for a method whose labels are leaves: a leaf is spawned below inner nodes that carry data,
/// rows without a label are left out.
struct LeafSets {
  LeafLabelled tree;                  // nodes of the hierarchy, then spawned leaves
  std::vector<std::uint32_t> kept;    // rows with a label
  LabelSets sets;                     // leaves of the kept rows
  std::vector<NodeId> candidates;     // leaves with data or expected, ascending
  std::vector<std::string> warnings;  // how many rows were left out
};
/// Without a hierarchy the graph has no edges. Throws InvalidInput if no row has a label.
LeafSets leaf_sets(const TrainingSet& data);

/// Throws InvalidInput naming method, row and label if a row has two labels.
void require_single_labels(const TrainingSet& data, std::string_view method);
/// The leaf of each kept row, where each has one.
std::vector<NodeId> leaf_of_row(const LeafSets& leaves);

/// Without the nodes above all leaves: they cancel in losses of score differences, and the node
/// weights are those of the graph without them (docs/notation.md). Leaves leaf_of_label empty.
LeafSets without_common_roots(LeafSets leaves);

/// X of the kept rows (all of them: X itself) with the intercept appended.
CsrMatrix kept_rows_with_intercept(const CsrView& X, const std::vector<std::uint32_t>& kept,
                                   double bias);

/// The rows of a plan: X with the intercept, and the weights of its rows.
struct PlannedRows {
  CsrMatrix X;
  std::vector<double> weights;  // empty: all 1
};
PlannedRows planned_rows(const TrainingSet& data, const std::vector<std::uint32_t>& kept,
                         double bias);
/// What they and the label sets of the plan take.
MemoryEstimate planned_rows_memory(const PlannedRows& rows, const LabelSets& sets);

/// row_weights of the kept rows; empty stays empty.
std::vector<double> kept_weights(std::span<const double> row_weights,
                                 const std::vector<std::uint32_t>& kept);

/// As a predictor of the leaves with data: of the best one where each row has one leaf, otherwise
/// of the best label set.
LinearPredictor::Parts path_parts(const LeafSets& leaves, WeightMatrix weights, double bias,
                                  std::uint32_t num_labels);

}  // namespace margrove
