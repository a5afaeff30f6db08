#pragma once
// Label sets of a hierarchy as a type of output: `--model hierarchy`.

#include <span>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "outputs/output_type.hpp"

namespace margrove {

/// X: with the intercept; leaves: of each row. Throws as fit_chain() does, InvalidOption for the
/// surrogates of Micro-F1, and what NodeSetModel throws.
StructuredWeights fit_node_sets(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
                                const LabelGraph& graph, const StructuredOptions& options,
                                Executor& executor, RunControl& control);

OutputType node_set_output();

}  // namespace margrove
