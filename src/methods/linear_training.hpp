#pragma once
// What the linear methods share on their way from a TrainingSet to a LinearPredictor.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/method.hpp"
#include "outputs/leaf_sets.hpp"
#include "outputs/structured.hpp"

namespace margrove {

/// The labels that occur in the data, ascending, and the sets of the rows as positions in that
/// list.
struct OccurringLabels {
  std::vector<LabelId> labels;
  LabelSets sets;
};
OccurringLabels occurring_labels(const LabelSets& sets, std::size_t num_labels);

/// Throws InvalidInput, naming method, row and label, if a row has two labels.
void require_single_labels(const TrainingSet& data, std::string_view method);
/// The cost matrix in file `path` between the leaves of the graph, ascending (LeafLoss); empty if
/// `path` is. Throws InvalidOption if rows have several labels, and what read_cost_matrix() and
/// CostMatrix::among() throw.
std::vector<double> leaf_costs(const std::string& path, const LeafSets& leaves,
                               const LabelCodec& codec);

}  // namespace margrove
