#pragma once
// Models small enough to compute by hand and to corrupt byte by byte.

#include <memory>
#include <utility>

#include "model/linear_predictor.hpp"
#include "model/model.hpp"

namespace margrove::testing {

/// Labels animal(0) -> cat(1), dog(2), and plant(3). There are three features and the intercept.
/// The weights are integers, so that float sums are exact:
///            animal cat dog plant
///   x0            1   2   0    -1
///   x1            0   0   3     0
///   x2            1  -1   0     2
///   intercept     0   1   0     0   (times bias 2)
inline LinearPredictor::Parts small_tree_parts() {
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(4, 4,
                                      {1, 2, 0, -1,  //
                                       0, 0, 3, 0,   //
                                       1, -1, 0, 2,  //
                                       0, 1, 0, 0});
  parts.bias = 2;
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}};
  parts.graph = LabelGraph::build(4, edges);
  parts.alpha = {0.5, 0.5, 0.5, 1};
  parts.label_of_node = {0, 1, 2, 3};
  parts.candidates = {1, 2, 3};
  parts.num_labels = 4;
  return parts;
}

inline ModelParts small_model(LinearPredictor::Parts parts = small_tree_parts()) {
  ModelParts model;
  model.method = "nhsvm";
  model.options = {{"C", "0.5"}, {"alpha", "power:2"}};
  model.labels = LabelCodec({"animal", "cat", "dog", "plant"});
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}};
  model.hierarchy = LabelGraph::build(4, edges);
  model.has_hierarchy = true;
  model.training_rows = {0, 5, 6, 7};
  model.report.stop = Stop::pass_limit;
  model.report.passes = 12;
  model.report.primal = 3.25;
  model.report.dual = 3.0;
  model.report.relative_gap = 0.0769;
  model.report.curve = {{1, 10, 0}, {12, 3.25, 3.0}};
  model.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return model;
}

/// Rows over three features, one of them unknown to the small model.
inline CsrMatrix small_rows() {
  CsrMatrix X(3);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{2});
  X.append_row(std::vector<FeatureId>{1}, std::vector<float>{1});
  X.append_row(std::vector<FeatureId>{2, 7}, std::vector<float>{3, 100});
  X.append_row({}, {});
  return X;
}

}  // namespace margrove::testing
