#pragma once
// Tunes the offset of a decision: the number b that is added to the score of each label of a
// labelling (each chosen leaf, label or tag of a span) before the search for the best labelling.
//
//   y_i(b) = argmax_y f(x_i, y) + b |y|,   b = argmax_b metric of all y_i(b) on held-out examples.
//
// As a function of b, max_y f(x_i, y) + b |y| is the upper envelope of the lines f(x_i, y) + b |y|.
// It has at most as many pieces as |y| has values, and |y_i(b)| never falls. All pieces of a range
// are found with at most two searches each ([EisnerSeverance1976]): a third line that is best
// between two offsets is above the lines of both where these intersect. So b is exact on the
// held-out examples, for about as many searches as a coarse grid would take.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "model/answer_metrics.hpp"
#include "model/decision_options.hpp"
#include "model/splits.hpp"

namespace margrove {

/// The best labelling y at an offset.
struct OffsetAnswer {
  double score = 0;         // f(x, y), without the offset
  std::uint32_t count = 0;  // |y|
  std::vector<std::uint32_t> labels;
};

/// Searches the held-out examples of a fold under a model of the other folds, one example after the
/// other. Each thread needs its own.
class OffsetSearch {
 public:
  virtual ~OffsetSearch() = default;
  /// Starts with an example, given by its position in Split::validation.
  virtual void start(std::size_t held_out) = 0;
  /// argmax_y f(x, y) + offset |y|. Deterministic.
  virtual OffsetAnswer best(double offset) = 0;
};
using MakeSearch = std::function<std::unique_ptr<OffsetSearch>()>;
/// Trains on split.training; the searches are over split.validation.
using FitSearch = std::function<MakeSearch(const Split& split, RunControl& control)>;

/// The labels from offset `begin` to that of the next piece.
struct OffsetPiece {
  double begin;
  std::vector<std::uint32_t> labels;
};
/// The pieces from `low` to `high` of the example that `search` has started. The first begins at
/// `low`. Takes at most 2 pieces + 2 searches.
std::vector<OffsetPiece> offset_pieces(OffsetSearch& search, double low, double high);

/// The examples for tuning.
struct OffsetExamples {
  const LabelSets& strata;                    // of the examples: the folds are stratified by them
  std::span<const std::uint32_t> true_sizes;  // |y_i|
};

/// The offset with the best `metric`, which must be empty and of kind options.metric, in a
/// cross-validation. Of equally good ranges the one nearest to 0 is taken: 0 if it is inside,
/// otherwise the middle. The range of offsets goes up to where the answers for some 1,000 examples
/// of the first fold have three times the true number of labels. Time limits are shared as in
/// cross_validate(). When the time limit has passed, examples without answers do not count, and
/// without any answer the offset is 0.
double tuned_offset(const DecisionOptions& options, const OffsetExamples& examples,
                    AnswerMetric& metric, const FitSearch& fit, Executor& executor,
                    RunControl& control);

/// Numbers of examples and of labels in their true labellings.
struct LabelCounts {
  double examples = 0, labels = 0;
};
LabelCounts counts_of(const LabelSets& sets);
/// The memory of tuning and of the training after it, if one training on all examples takes
/// `training` (that of a fold may take as much for weights) and the rows of all folds take
/// `row_bytes`. An answer has labels_per_answer numbers; 0: as many as labels are chosen.
MemoryEstimate offset_memory(const LabelCounts& counts, double row_bytes, MemoryEstimate training,
                             double labels_per_answer = 0);

}  // namespace margrove
