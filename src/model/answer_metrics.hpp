#pragma once
// Metrics of the answers (predictions) for all examples, updated while single answers change.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/decision_kind.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// An answer is a list of numbers: the labels of a row, ascending, or the tags of a sentence.
using AnsweredSet = std::span<const std::uint32_t>;

/// A metric over the examples that have an answer. Examples count with their weights.
class AnswerMetric {
 public:
  virtual ~AnswerMetric() = default;
  /// Counts an answer, or removes one that was counted. O(labels of the answer and the truth).
  virtual void add(std::size_t example, AnsweredSet answer) = 0;
  virtual void remove(std::size_t example, AnsweredSet answer) = 0;
  /// O(1). 0 where there are no answers.
  virtual double value() const = 0;
};

/// The sizes of an answer (`answered`), of the true one (`wanted`), and of their intersection.
struct Overlap {
  double common = 0, answered = 0, wanted = 0;
  double f1() const {
    const double both = answered + wanted;
    return both > 0 ? 2 * common / both : 0.0;
  }
};
/// Of an example; weights may be empty for all 1.
inline double weight_of(std::span<const double> weights, std::size_t example) {
  return weights.empty() ? 1.0 : weights[example];
}
using OverlapOf = std::function<Overlap(std::size_t example, AnsweredSet answer)>;

/// F1 of the sums of the overlaps. weights: of the examples; empty: all 1.
std::unique_ptr<AnswerMetric> pooled_f1(OverlapOf overlap, std::span<const double> weights);

/// The metric of label sets that docs/notation.md defines, with `truth` as the true ones. The
/// hierarchy closes the sets of hierarchical_f1; null: there is none. Refers to its arguments.
std::unique_ptr<AnswerMetric> label_set_metric(DecisionMetric metric, const LabelSets& truth,
                                               std::span<const double> weights,
                                               const LabelGraph* hierarchy);

}  // namespace margrove
