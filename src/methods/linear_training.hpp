#pragma once
// Parts that the linear methods share.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "linear/one_vs_rest.hpp"
#include "margrove/errors.hpp"
#include "margrove/linear_estimators.hpp"
#include "margrove/options.hpp"
#include "margrove/point_loss_kind.hpp"
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
/// Whether every row has exactly one label.
bool has_one_each(const LabelSets& sets);

/// leaf_sets() or partial_leaf_sets(), as the options of an estimator say. Throws InvalidOption if
/// labels are partial, but the decision is one of several labels.
template <class Options>
LeafSets leaf_sets_of(const Options& options, const TrainingSet& data) {
  if (!options.partial_labels) return leaf_sets(data);
  require<InvalidOption>(
      options.decision == DecisionKind::automatic || options.decision == DecisionKind::argmax,
      "option decision is ", name_of(options.decision),
      ", but must be argmax where partial_labels is given");
  return partial_leaf_sets(data);
}

/// intercept_value(), and for intercepts without regulariser the value with which the solvers of
/// `loss` need the fewest passes: the answers do not depend on it. Throws as intercept_value(),
/// except where the penalty is 0.
double free_intercept_value(const CsrView& X, PointLossKind loss);
template <class Options>
double intercept_value_or_free(const Options& options, const CsrView& X, PointLossKind loss) {
  if (options.intercept_penalty == 0 && options.bias > 0) return free_intercept_value(X, loss);
  return intercept_value(options);
}

/// The solver of options that have its fields.
template <class Options>
OneVsRestOptions one_vs_rest_options(const Options& options, PointLossKind loss) {
  return {.loss = loss,
          .C = loss_weight(options),
          .tolerance = options.tolerance,
          .max_passes = options.max_passes,
          .seed = options.seed};
}
FitReport to_report(const OneVsRestFit& fit);

/// Throws InvalidOption if an option of the table that is among `others` has not its default value.
/// The reason that it gives: the option is for `theirs`, but `ours`.
void require_defaults(const OptionTable& table, std::initializer_list<std::string_view> others,
                      std::string_view theirs, std::string_view ours);

/// Throws InvalidInput, naming method, row and label, if a row has two labels.
void require_single_labels(const TrainingSet& data, std::string_view method);
/// The cost matrix in file `path` between the leaves of the graph, ascending (LeafLoss); empty if
/// `path` is. Throws InvalidOption if rows have several labels, and what read_cost_matrix() and
/// CostMatrix::among() throw.
std::vector<double> leaf_costs(const std::string& path, const LeafSets& leaves,
                               const LabelCodec& codec);

}  // namespace margrove
