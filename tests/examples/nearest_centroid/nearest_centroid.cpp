#include "nearest_centroid/nearest_centroid.hpp"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/out_of_time.hpp"
#include "methods/linear_training.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {
namespace {

struct CentroidPlan {
  CsrView X;
  std::span<const double> row_weights;  // empty: all 1
  OccurringLabels occurring;
  double shrinkage;
  std::uint32_t num_known_labels;
};

/// min_c sum_i v_i |x_i - c_{y_i}|^2 + s sum_l |c_l|^2, which has the solution
///   c_l = sum_{i: y_i = l} v_i x_i / n_l,   n_l = sum_{i: y_i = l} v_i + s,
/// and the value sum_i v_i |x_i|^2 - sum_l n_l |c_l|^2. |x - c_l| is smallest where
/// <c_l, x> - |c_l|^2 / 2 is largest: a linear score with an intercept.
TrainResult train(const CentroidPlan& plan, Executor&, RunControl& control) {
  const std::uint32_t num_features = plan.X.num_columns();
  const std::size_t num_labels = plan.occurring.labels.size();
  TrainResult result;
  result.report.passes = 1;
  result.report.primal = 0;
  std::vector<double> sums(num_features * num_labels, 0.0), counts(num_labels, plan.shrinkage);
  for (std::size_t i = 0; i < plan.X.num_rows(); ++i) {
    end_if_out_of_time(&control);
    const SparseRow x = plan.X.row(i);
    const double weight = plan.row_weights.empty() ? 1 : plan.row_weights[i];
    for (const LabelId l : plan.occurring.sets[i]) {
      counts[l] += weight;
      for (std::size_t k = 0; k < x.size(); ++k) {
        sums[x.columns[k] * num_labels + l] += weight * x.values[k];
        result.report.primal += weight * x.values[k] * x.values[k];
      }
    }
  }
  std::vector<float> weights(sums.size() + num_labels);
  for (std::size_t l = 0; l < num_labels; ++l) {
    double squared_norm = 0;
    for (std::size_t j = l; j < sums.size(); j += num_labels) {
      const double centre = sums[j] / counts[l];
      squared_norm += centre * centre;
      weights[j] = static_cast<float>(centre);
    }
    weights[sums.size() + l] = static_cast<float>(-squared_norm / 2);
    result.report.primal -= counts[l] * squared_norm;
  }
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(num_features + 1, static_cast<std::uint32_t>(num_labels),
                                      std::move(weights));
  parts.bias = 1;
  parts.graph = LabelGraph::flat(static_cast<std::uint32_t>(num_labels));
  parts.label_of_node = plan.occurring.labels;
  for (NodeId n = 0; n < num_labels; ++n) parts.candidates.push_back(n);
  parts.num_labels = plan.num_known_labels;
  result.report.dual = result.report.primal;
  result.report.relative_gap = 0;
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

Plan plan(const NearestCentroidOptions& options, const TrainingSet& data, Executor&, RunControl&) {
  require_single_labels(data, NearestCentroidOptions::kMethod);
  CentroidPlan plan{data.X, data.row_weights, occurring_labels(*data.labels, data.codec->size()),
                    options.shrinkage, static_cast<std::uint32_t>(data.codec->size())};
  require(!plan.occurring.labels.empty(), data.source, ": no row has a label");
  MemoryEstimate memory;
  memory.add("centroids",
             12.0 * data.X.num_columns() * static_cast<double>(plan.occurring.labels.size()));
  return planned(std::move(memory), std::move(plan), train);
}

}  // namespace

Method nearest_centroid() {
  Method method = make_method<NearestCentroidOptions>("the label of the nearest centroid", plan);
  method.label_sets = false;
  return method;
}

}  // namespace margrove
