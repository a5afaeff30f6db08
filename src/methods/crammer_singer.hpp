#pragma once
// The multi-class problem of Crammer and Singer: the structured SVM over paths of a single node.
//
//   min 1/2 |U|^2 + C sum_i c_i max_l [U_l.x_i - U_{y_i}.x_i + loss(l, y_i)],
//
// where loss is 1 for each mistake, or that of a cost matrix.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/fit_state.hpp"
#include "base/memory_estimate.hpp"
#include "data/weight_matrix.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/results.hpp"
#include "model/training_set.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

class CrammerSinger {
 public:
  /// Options of a structured SVM, with the C of the objective above. costs: num_labels x
  /// num_labels, or empty.
  template <class Options>
  CrammerSinger(const Options& options, double C, std::uint32_t num_labels,
                std::vector<double> costs = {})
      : solver_(structured_training(options, C / kRootWeight)),
        graph_(LabelGraph::flat(num_labels)),
        alpha_(num_labels, kRootWeight),
        costs_(std::move(costs)) {
    if (solver_.learning_rate) *solver_.learning_rate /= kRootWeight;  // as C
  }

  struct Fit {
    WeightMatrix weights;  // U: X.num_columns() x num_labels
    FitReport report;
    std::shared_ptr<const FitState> state;  // if it was to be kept
  };
  /// X has its intercept column; row_weights c_i >= 0, empty: all 1.
  Fit train(const CsrView& X, std::span<const std::uint32_t> label_of_row,
            std::span<const double> row_weights, const Continuation& continuation,
            Executor& executor, RunControl& control) const;
  /// Beside X, the weights included.
  MemoryEstimate memory(const CsrView& X, const Continuation& continuation, int num_threads) const;
  /// Of U alone.
  double weight_bytes(const CsrView& X) const;
  const StructuredTraining& solver() const { return solver_; }

 private:
  /// With weights alpha = 1/2 on nodes that are all roots and leaves, NHSVM has the loss sqrt(1/2 +
  /// 1/2) = 1 and, as U = W sqrt(1/2), the regulariser 1/2 |W|^2 = |U|^2: twice this objective if
  /// its C is twice as large.
  static constexpr double kRootWeight = 0.5;
  StructuredTraining solver_;
  LabelGraph graph_;
  std::vector<double> alpha_, costs_;
};

}  // namespace margrove
