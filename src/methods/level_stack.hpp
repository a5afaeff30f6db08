#pragma once
// The methods that level-svm adds to its levels by option stack (docs/notation.md, "Stacks").

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/memory_estimate.hpp"
#include "data/weight_matrix.hpp"
#include "linear/one_vs_rest.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/linear_estimators.hpp"
#include "margrove/results.hpp"
#include "model/training_set.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {

/// The classifiers of some nodes, and how their training ended.
struct NodeFit {
  WeightMatrix weights;
  FitReport report;
};
NodeFit to_node_fit(OneVsRestFit fit);
/// The sum of several problems gets a further one.
void add_to(FitReport& sum, const FitReport& problem);

/// A method whose scores are linear in the row, and sums over the nodes of A(l).
struct StackedMethod {
  bool is_trained = true;     // false: takes next to no time
  std::vector<NodeId> nodes;  // of the columns of its weights, ascending
  double num_weights = 0;     // about how many are not zero
  /// Trains on rows with the intercept; sets: the leaves of each. The leaves are those of the plan.
  std::function<NodeFit(const LeafSets& leaves, const CsrView& X, const LabelSets& sets,
                        std::span<const double> row_weights, Executor& executor,
                        RunControl& control)>
      train;
  std::function<MemoryEstimate(const LeafSets& leaves, const CsrView& X, int num_threads)> memory;
};

/// Throws InvalidOption if a stack is given beside options that it cannot be with.
void require_stack(const LevelSvmOptions& options);
/// Whether names of labels do not count beside the stack that the options give.
bool excludes_names(const LevelSvmOptions& options);

/// The names of the methods that option stack asks for; has_names: whether names of labels count.
/// X has the intercept. Throws InvalidOption if methods are given that need rows with one label,
/// but some rows have several.
std::vector<std::string> stacked_names(const LevelSvmOptions& options, bool has_names,
                                       const LeafSets& leaves, const CsrView& X,
                                       RunControl& control);

/// The methods of these names. C of each is its automatic one, times the ratio of the C in the
/// options to the automatic one of level-svm.
std::vector<StackedMethod> stacked_methods(const std::vector<std::string>& names,
                                           const LevelSvmOptions& options, const TrainingSet& data,
                                           const LeafSets& leaves, const CsrView& X,
                                           RunControl& control);

}  // namespace margrove
