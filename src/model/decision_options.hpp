#pragma once

#include <cstdint>

#include "margrove/dataset.hpp"
#include "margrove/decision_kind.hpp"

namespace margrove {

struct DecisionOptions {
  DecisionKind rule = DecisionKind::automatic;
  int folds = 3;
  std::uint64_t seed = 0;  // of the folds
  DecisionMetric metric = DecisionMetric::micro_f1;

  /// The rule; `automatic` becomes argmax if every row has one label, otherwise `several`.
  DecisionKind resolved(const LabelSets& sets, DecisionKind several) const {
    if (rule != DecisionKind::automatic) return rule;
    return sets.single_label() ? DecisionKind::argmax : several;
  }
};

/// The decision options of an estimator.
template <class Options>
DecisionOptions decision_options(const Options& options) {
  DecisionOptions chosen{
      .rule = options.decision, .folds = options.decision_folds, .seed = options.seed};
  if constexpr (requires { options.decision_metric; }) chosen.metric = options.decision_metric;
  return chosen;
}

}  // namespace margrove
