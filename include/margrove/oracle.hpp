#pragma once
// What a structured model of your own must offer so that train_structured()
// (margrove/structured.hpp) can fit its weights. Notation: f(x, y) = <w, phi(x, y)>, and for
// example i with the true labelling y_i
//   m(y) = f(x_i, y) - f(x_i, y_i)   the margin violation,
//   g(y) = L(y, y_i)                 the task loss, >= 0, and 0 at y_i.
// docs/adding_an_oracle.md explains an example.

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

/// A labelling and its point in the (m, g) plane.
template <class Labelling>
struct Candidate {
  Labelling y;
  double m;               // margin violation, plus `constant`
  double g;               // task loss
  double constant = 0.0;  // the part of m that does not depend on the weights: the Hamming loss for
                          // Micro-F1, whose m is Hamming loss + margin violation, otherwise 0
};

/// The lambda-oracle of one example at fixed weights: argmax_y w_m m(y) + w_g g(y), exactly, over
/// all labellings, y_i included. w_m, w_g >= 0, and not both are 0. Ties at w_m = 0 go to the
/// larger m, at w_g = 0 to the larger g, other ties to the lowest labelling. truth() is y_i with m
/// = g = 0, except for Micro-F1, where g = -2|y_i|.
template <class O>
concept Oracle = requires(const O& oracle, double w_m, double w_g) {
  typename O::Labelling;
  { oracle.argmax(w_m, w_g) } -> std::same_as<Candidate<typename O::Labelling>>;
  { oracle.truth() } -> std::same_as<Candidate<typename O::Labelling>>;
};

/// Optional: argmax over all labellings except the banned ones; none if all are banned.
template <class O>
concept BanListOracle = Oracle<O> && requires(const O& oracle, double w_m, double w_g,
                                              std::span<const typename O::Labelling> banned) {
  {
    oracle.argmax_without(w_m, w_g, banned)
  } -> std::same_as<std::optional<Candidate<typename O::Labelling>>>;
};

/// The part of the (h, g) plane, h = 1 + m, between two rays from the origin: h > 0, g > 0 and
/// lower h <= g <= upper h, where either inequality may be strict.
struct SlopeBounds {
  double lower = 0.0;
  double upper = std::numeric_limits<double>::infinity();
  bool lower_strict = true;
  bool upper_strict = false;
  /// An oracle may ignore labellings whose w_m m + w_g g does not exceed this.
  double floor = -std::numeric_limits<double>::infinity();

  bool contain(double h, double g) const {
    return h > 0 && g > 0 && (lower_strict ? lower * h < g : lower * h <= g) &&
           (upper == std::numeric_limits<double>::infinity() ||
            (upper_strict ? g < upper * h : g <= upper * h));
  }
};

/// Optional: argmax over the labellings within the bounds, exactly; none if there is none above the
/// floor.
template <class O>
concept ConstrainedOracle =
    Oracle<O> && requires(const O& oracle, double w_m, double w_g, const SlopeBounds& bounds) {
      {
        oracle.constrained_argmax(w_m, w_g, bounds)
      } -> std::same_as<std::optional<Candidate<typename O::Labelling>>>;
    };

/// A sparse vector over the flat weights of a structured model; indices need not be sorted but do
/// not repeat.
struct SparseVector {
  std::vector<std::uint64_t> indices;
  std::vector<float> values;
  void clear() {
    indices.clear();
    values.clear();
  }
  void add(std::uint64_t index, float value) {
    indices.push_back(index);
    values.push_back(value);
  }
};

/// Flat weights times a scalar, so that shrinking all of them costs O(1).
struct ScaledWeights {
  std::span<const float> values;
  double scale = 1.0;
};

/// A joint feature map with inference over a fixed set of training examples. It has no other state.
/// Each thread has a Workspace of its own.
template <class M>
concept StructuredModel =
    requires(const M& model, std::size_t i, ScaledWeights w, typename M::Workspace& workspace,
             const typename M::Labelling& y, SparseVector& difference) {
      typename M::Labelling;  // regular (copyable, ==); ordered if k_best is offered
      typename M::Workspace;  // default-constructible scratch
      { model.num_examples() } -> std::convertible_to<std::size_t>;
      { model.num_weights() } -> std::convertible_to<std::size_t>;
      // Scores example i under w; the oracle refers to the workspace and to the model.
      { model.oracle(i, w, workspace) } -> Oracle;
      // phi(x_i, y) - phi(x_i, y_i), appended to `difference` (which the caller cleared).
      { model.difference(i, y, difference) } -> std::same_as<void>;
      { model.truth(i) } -> std::convertible_to<typename M::Labelling>;
    };

}  // namespace margrove
