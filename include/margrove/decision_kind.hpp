#pragma once
// How labels follow from scores, by name.

#include <array>

#include "margrove/api.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

/// See docs/notation.md, "Decisions of rows with several labels".
enum class DecisionKind {
  automatic,
  argmax,
  zero,
  threshold,
  scut,
  shrunk,
  rcut,
  instance,
  offset
};
template <>
inline constexpr auto kEnumNames<DecisionKind> = std::array{
    EnumName{DecisionKind::automatic, "auto"}, EnumName{DecisionKind::argmax, "argmax"},
    EnumName{DecisionKind::zero, "zero"},      EnumName{DecisionKind::threshold, "threshold"},
    EnumName{DecisionKind::scut, "scut"},      EnumName{DecisionKind::shrunk, "shrunk"},
    EnumName{DecisionKind::rcut, "rcut"},      EnumName{DecisionKind::instance, "instance"},
    EnumName{DecisionKind::offset, "offset"}};

/// What an offset is tuned for.
enum class DecisionMetric { micro_f1, instance_f1, macro_f1, hierarchical_f1, accuracy };
template <>
inline constexpr auto kEnumNames<DecisionMetric> =
    std::array{EnumName{DecisionMetric::micro_f1, "micro-f1"},
               EnumName{DecisionMetric::instance_f1, "instance-f1"},
               EnumName{DecisionMetric::macro_f1, "macro-f1"},
               EnumName{DecisionMetric::hierarchical_f1, "hierarchical-f1"},
               EnumName{DecisionMetric::accuracy, "accuracy"}};

namespace detail {
/// The fields of the decision of methods that score whole labellings.
template <class Options>
auto offset_fields(const std::string& help, const std::string& metric_help) {
  return std::tuple{
      field("decision", &Options::decision,
            {DecisionKind::automatic, DecisionKind::argmax, DecisionKind::offset}, help),
      field("decision_folds", &Options::decision_folds, at_least(2),
            "folds of the cross-validation that tunes offset; they and the training itself share a "
            "time limit evenly"),
      field("decision_metric", &Options::decision_metric, metric_help),
  };
}
}  // namespace detail

}  // namespace margrove
