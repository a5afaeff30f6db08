// The worked example of docs/adding_a_solver.md.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "margrove/structured.hpp"
#include "multi_class.hpp"
#include "structured/search.hpp"
#include "structured/structured_fit.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

/// min_w ||w||^2 / 2 + C sum_i max_y psi_i(y; w) by subgradients over all examples:
///   w <- (1 - 1/t) w - 1/t C sum_i psi_m (phi(x_i, y_i*) - phi(x_i, y_i)),   t = 1, 2, ...
/// with y_i* the most violating labelling. No duality gap: fit.primal is that of the weights.
template <StructuredModel Model, Surrogate Psi, class Search>
StructuredWeights subgradient_descent(const Model& model, const Psi& psi, Search search, double C,
                                      int steps, RunControl& control) {
  StructuredWeights best;
  best.fit.primal = std::numeric_limits<double>::infinity();
  std::vector<float> w(model.num_weights(), 0.0F);
  std::vector<LabelCache<typename Model::Labelling>> caches(model.num_examples());
  typename Model::Workspace workspace;
  for (int t = 1; t <= steps && control.proceed(); ++t) {
    std::vector<float> direction(w.size(), 0.0F);
    double loss = 0;
    for (std::size_t i = 0; i < model.num_examples(); ++i) {
      const auto found = search(model.oracle(i, {w, 1.0}, workspace), psi, caches[i]);
      loss += found.value;
      best.fit.oracle_calls += found.oracle_calls;
      if (!(found.value > 0)) continue;
      SparseVector difference;
      model.difference(i, found.best.y, difference);
      add_scaled(psi.derivative_m(found.best.m, found.best.g), difference, direction);
    }
    const double primal = 0.5 * squared_norm({w, 1.0}) + C * loss;
    if (primal < best.fit.primal) {
      best.fit.primal = primal;
      best.weights = w;
    }
    best.fit.passes = t;
    for (std::size_t k = 0; k < w.size(); ++k) {
      w[k] -= static_cast<float>((w[k] + C * direction[k]) / t);
    }
  }
  best.fit.stop = best.fit.passes < steps ? control.stop_reason() : Stop::pass_limit;
  return best;
}

TEST(SubgradientDescent, comes_near_the_optimum_that_bcfw_proves) {
  const Examples raw = testing::grouped_rows(60, 3);
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) labels.push_back(raw.labels[i][0]);
  const MultiClassModel model(raw.X, labels, 4);
  RunControl control;
  const auto found =
      subgradient_descent(model, MarginRescaling{}, MarginSearch{}, 0.1, 2000, control);
  const auto proven = train_structured(model, {.C = 0.1, .tolerance = 1e-4, .max_passes = 5000});
  EXPECT_GE(found.fit.primal, proven.fit.dual);
  EXPECT_LE(found.fit.primal, 1.02 * proven.fit.primal);
}

TEST(SubgradientDescent, control_ends_it_with_a_reason) {
  const Examples raw = testing::grouped_rows(10, 3);
  const MultiClassModel model(raw.X, std::vector<std::uint32_t>(10, 0), 4);
  RunControl control;
  control.interrupt();
  const auto found = subgradient_descent(model, MarginRescaling{}, MarginSearch{}, 1.0, 5, control);
  EXPECT_EQ(found.fit.stop, Stop::interrupted);
}

}  // namespace
}  // namespace margrove
