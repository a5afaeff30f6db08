#pragma once
// What the solvers of structured SVMs share: optional capabilities of models, and sparse vectors.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "margrove/structured.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// Labellings of one example with weights >= 0 that sum to at most the example's budget.
template <class Labelling>
struct Mixture {
  std::vector<Labelling> labellings;
  std::vector<double> weights;
};

/// Optional for a model: works with the differences phi(x_i, y) - phi(x_i, y_i) of several
/// labellings without storing them.
template <class M>
concept ImplicitDifferences =
    StructuredModel<M> &&
    requires(const M& model, std::size_t i, std::span<const typename M::Labelling> labellings,
             ScaledWeights w, typename M::Workspace& workspace, std::span<double> out,
             std::span<const double> coefficients, std::vector<float>& weights) {
      // out[k] = <w, difference(k)>
      { model.margins(i, labellings, w, workspace, out) } -> std::same_as<void>;
      // out[j * size + k] = <difference(j), difference(k)>
      { model.difference_products(i, labellings, out) } -> std::same_as<void>;
      // weights += sum_k coefficients[k] difference(k); a GrowingModel extends them
      {
        model.add_differences(i, labellings, coefficients, workspace, weights)
      } -> std::same_as<void>;
    };

/// Optional for such a model: computes only the products that new labellings add.
template <class M>
concept AppendedProducts =
    ImplicitDifferences<M> &&
    requires(const M& model, std::size_t i, std::span<const typename M::Labelling> labellings,
             std::size_t known, typename M::Workspace& workspace, std::vector<double>& products) {
      // <difference(j), difference(k)>, j >= known, k <= j, row after row, appended
      { model.append_products(i, labellings, known, workspace, products) } -> std::same_as<void>;
    };

/// Optional for such a model: gives a weight an index when add_differences() first needs it, so
/// that num_weights() grows. Weights beyond the end of an array are 0. add_differences() and
/// changes of places() may run on one thread only, while no other uses the model.
template <class M>
concept GrowingModel = ImplicitDifferences<M> &&
                       requires(const M& model, double growth, std::span<const std::uint64_t> list,
                                std::span<const std::uint32_t> order, std::vector<float>& weights) {
                         // gives all weights new indices, those that are used together next to each
                         // other, if there are more than `growth` times as many as after the last
                         // time; otherwise returns nothing
                         {
                           model.places().sort(growth)
                         } -> std::same_as<std::vector<std::uint32_t>>;
                         // moves weights accordingly; order: what sort() has returned
                         { model.places().follow(order, weights) } -> std::same_as<void>;
                         // the indices given so far, for a checkpoint
                         { model.places().list() } -> std::same_as<std::vector<std::uint64_t>>;
                         // takes those of an earlier run on the same problem; false if they do not
                         // fit
                         { model.places().set(list) } -> std::same_as<bool>;
                       };

/// Optional for such a model: bounds on the scores of parts, by which its oracles skip parts
/// without changing their answers. The solver keeps the bounds beside the weights.
template <class M>
concept BoundedModel =
    ImplicitDifferences<M> &&
    requires(const M& model, std::size_t i, std::span<const typename M::Labelling> labellings,
             ScaledWeights w, std::span<const float> known, typename M::Workspace& workspace,
             std::span<const double> coefficients, std::vector<float>& weights,
             std::span<float> bounds) {
      { model.num_bounds() } -> std::convertible_to<std::size_t>;  // all 0 at weights of 0
      { model.bound_weights(weights, bounds) } -> std::same_as<void>;
      { model.oracle(i, w, known, workspace) } -> Oracle;  // known: the bounds of w, or empty
      // as above, and updates the bounds
      {
        model.add_differences(i, labellings, coefficients, workspace, weights, bounds)
      } -> std::same_as<void>;
    };

/// Optional for a model: weights += factor * difference(i, y), without storing the difference.
template <class M>
concept AddingModel =
    StructuredModel<M> && requires(const M& model, std::size_t i, const typename M::Labelling& y,
                                   double factor, std::span<float> weights) {
      { model.add_difference(i, y, factor, weights) } -> std::same_as<void>;
    };

/// Why a run ended that has filled in all of `fit` but the stop, the one definition for all
/// solvers. A gap within the tolerance is `converged` only if it is certified, and otherwise
/// `stalled`: the searches find nothing that would lower the objective, but prove nothing. `limit`:
/// what else ended the run.
Stop stop_of(const StructuredFit& fit, double tolerance, Stop limit);

/// Throws InvalidInput that begins with `solver` unless there are no example weights or one that is
/// finite and >= 0 per example.
void check_example_weights(std::span<const double> weights, std::size_t num_examples,
                           std::string_view solver);

/// Sorts by index, as the product of two sparse vectors needs it.
void sort_indices(SparseVector& vector);
/// <w, v>
double dot(ScaledWeights w, const SparseVector& v);
/// <a, b>; both must be sorted.
double dot(const SparseVector& a, const SparseVector& b);
/// w += a v
void add_scaled(double a, const SparseVector& v, std::span<float> w);
/// ||w||^2, accumulated in double.
double squared_norm(ScaledWeights w);

}  // namespace margrove
