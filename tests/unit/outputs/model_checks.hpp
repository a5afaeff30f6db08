#pragma once
// What every structured model must satisfy, checked against the list of all its labellings.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/surrogates.hpp"
#include "structured/angular.hpp"
#include "structured/convex_hull.hpp"
#include "structured/enumeration.hpp"
#include "structured/oracle.hpp"
#include "structured/structured_fit.hpp"

namespace margrove::testing {

inline std::vector<float> random_weights(Random& random, std::size_t size, double spread = 1.0) {
  std::vector<float> w(size);
  for (float& x : w) x = static_cast<float>(spread * random.normal());
  return w;
}

// All labellings placed in the plane by the model's own features and loss, not by its oracle:
// m = <w, difference(y)> + constant.
template <StructuredModel M>
EnumerationOracle<typename M::Labelling> enumerate(const M& model, std::size_t i, ScaledWeights w,
                                                   std::vector<typename M::Labelling> all,
                                                   const auto& constant_and_loss) {
  std::vector<Candidate<typename M::Labelling>> candidates;
  std::size_t truth = all.size();
  for (const auto& y : all) {
    SparseVector difference;
    model.difference(i, y, difference);
    double m = 0;
    for (std::size_t j = 0; j < difference.indices.size(); ++j) {
      m += static_cast<double>(difference.values[j]) *
           static_cast<double>(w.values[difference.indices[j]]) * w.scale;
    }
    auto sorted = difference.indices;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end()) << "repeated index";
    const auto [constant, g] = constant_and_loss(y);
    if (y == model.truth(i)) truth = candidates.size();
    candidates.push_back({y, m + constant, g, constant});
  }
  EXPECT_LT(truth, all.size());
  return {candidates, truth};
}

// And where so many are banned, the same best of the others.
template <class O, class Y>
void expect_same_k_best(const O& oracle, const EnumerationOracle<Y>& reference, double w_m,
                        double w_g, double scale, Random& random) {
  const auto value = [&](const Candidate<Y>& c) { return w_m * c.m + w_g * c.g; };
  const int k = 1 + static_cast<int>(random.below(6));
  const auto best = reference.k_best(w_m, w_g, k), got = oracle.k_best(w_m, w_g, k);
  EXPECT_EQ(best.size(), got.size());
  for (std::size_t j = 0; j < std::min(best.size(), got.size()); ++j) {
    EXPECT_NEAR(value(got[j]), value(best[j]), scale) << "rank " << j;
    for (std::size_t l = 0; l < j; ++l) EXPECT_NE(got[j].y, got[l].y);
  }
  if constexpr (BanListOracle<O>) {
    std::vector<Y> banned;
    for (const auto& c : got) banned.push_back(c.y);
    const auto without = oracle.argmax_without(w_m, w_g, banned);
    const auto without_expected = reference.argmax_without(w_m, w_g, banned);
    EXPECT_EQ(without.has_value(), without_expected.has_value());
    if (without && without_expected) {
      EXPECT_NEAR(value(*without), value(*without_expected), scale);
      EXPECT_EQ(std::find(banned.begin(), banned.end(), without->y), banned.end());
    }
  }
}

// The largest m of every loss, and a labelling there.
template <LossFrontOracle O, class Y>
void expect_same_loss_front(const O& oracle, const EnumerationOracle<Y>& reference) {
  std::vector<double> expected;
  for (const auto& c : reference.labellings()) {
    const auto g = static_cast<std::size_t>(c.g);
    if (expected.size() <= g) expected.resize(g + 1, -std::numeric_limits<double>::infinity());
    expected[g] = std::max(expected[g], c.m);
  }
  const auto first = oracle.loss_front(1);  // a shorter front than the one that follows
  const std::vector<double> begin(first.begin(), first.end());
  const auto span = oracle.loss_front(kAllLosses);
  const std::vector<double> front(span.begin(), span.end());
  ASSERT_LE(expected.size(), front.size());
  for (std::size_t g = 0; g < begin.size(); ++g) EXPECT_EQ(begin[g], front[g]);
  expected.resize(front.size(), -std::numeric_limits<double>::infinity());
  for (std::uint32_t g = 0; g < front.size(); ++g) {
    ASSERT_EQ(std::isfinite(front[g]), std::isfinite(expected[g])) << "loss " << g;
    if (!std::isfinite(front[g])) continue;
    EXPECT_NEAR(front[g], expected[g], 2e-5) << "loss " << g;
    EXPECT_EQ(oracle.at_loss(g).g, g);
    EXPECT_NEAR(oracle.at_loss(g).m, front[g], 1e-9 * (1 + std::abs(front[g])));
  }
}

/// Equal, but for the order in which node weights are added up. Whole numbers have no rounding.
inline void expect_same_criteria(const auto& found, const auto& expected) {
  EXPECT_NEAR(found.g, expected.g, 1e-13 * std::abs(expected.g));
  EXPECT_NEAR(found.constant, expected.constant, 1e-13 * std::abs(expected.constant));
}

// The maximum of slack rescaling by angular search, and that of other surrogates by convex hull
// search where the front makes it exact.
template <BoundedSlopeOracle O, class Y>
void expect_same_maxima(const O& oracle, const EnumerationOracle<Y>& reference) {
  const auto maximum = [&](const auto& psi) {
    double best = 0.0;
    for (const auto& c : reference.labellings()) {
      if (c.g > 0) best = std::max(best, psi.value(c.m, c.g));
    }
    return best;
  };
  LabelCache<Y> cache;
  const double best = maximum(SlackRescaling{});
  const auto found = AngularSearch{.tolerance = 0.0}(oracle, SlackRescaling{}, cache);
  EXPECT_NEAR(found.value, best, 1e-4 * (1 + best));
  EXPECT_NEAR(found.upper_bound, best, 1e-4 * (1 + best));
  if constexpr (LossFrontOracle<O>) {
    if (!oracle.has_cheap_front()) return;
    LabelCache<Y> none;
    const auto hull = ConvexHullSearch{}(oracle, ProbLoss{}, none);
    const double of_prob = maximum(ProbLoss{});
    EXPECT_NEAR(hull.value, of_prob, 1e-4 * (1 + of_prob));
  }
}

// The oracle's answers lie where enumeration's do, for every weight.
template <class O, class Y>
void expect_same_answers(const O& oracle, const EnumerationOracle<Y>& reference, Random& random) {
  constexpr double kTolerance = 2e-5;
  const auto value = [](double w_m, double w_g, const Candidate<Y>& c) {
    return w_m * c.m + w_g * c.g;
  };
  const auto truth = oracle.truth();
  EXPECT_NEAR(truth.m, reference.truth().m, kTolerance);
  expect_same_criteria(truth, reference.truth());
  for (const auto& c : reference.labellings()) {
    const auto same = oracle.evaluate(c.y);
    EXPECT_NEAR(same.m, c.m, kTolerance);
    expect_same_criteria(same, c);
    if constexpr (NeighbourOracle<O>) {
      std::vector<CandidateCriteria> places;
      oracle.neighbours(c.y, places);
      for (std::size_t part = 0; part < places.size(); ++part) {
        const auto other = oracle.evaluate(oracle.neighbour(c.y, part));
        EXPECT_NEAR(places[part].m, other.m, kTolerance);
        expect_same_criteria(places[part], other);
      }
      EXPECT_FALSE(places.empty());
    }
  }
  if constexpr (LossFrontOracle<O>) {
    if (oracle.has_loss_front()) expect_same_loss_front(oracle, reference);
  }
  if constexpr (BoundedSlopeOracle<O>) {
    if (has_slope_bounds(oracle) && oracle.truth().g == 0) expect_same_maxima(oracle, reference);
  }
  for (const double lambda : {0.0, 1e-3, 0.1, 0.5, 1.0, 2.0, 10.0, 1e3, -1.0}) {
    const double w_m = lambda < 0 ? 0.0 : 1.0, w_g = lambda < 0 ? 1.0 : lambda;
    const auto expected = reference.argmax(w_m, w_g);
    const auto found = oracle.argmax(w_m, w_g);
    const double scale = kTolerance * (1 + std::abs(value(w_m, w_g, expected)));
    EXPECT_NEAR(value(w_m, w_g, found), value(w_m, w_g, expected), scale) << "lambda " << lambda;
    if (w_m == 0) {
      EXPECT_NEAR(found.m, expected.m, kTolerance);
    }
    if constexpr (KBestOracle<O>) {
      if (has_k_best(oracle)) expect_same_k_best(oracle, reference, w_m, w_g, scale, random);
    }
    if constexpr (ConstrainedOracle<O>) {
      SlopeBounds bounds;
      if (random.below(3)) bounds.lower = std::exp(1.5 * random.normal());
      if (random.below(3)) bounds.upper = bounds.lower + std::exp(1.5 * random.normal());
      bounds.upper_strict = random.below(2);
      const auto best = reference.constrained_argmax(w_m, w_g, bounds);
      const auto got = oracle.constrained_argmax(w_m, w_g, bounds);
      EXPECT_EQ(best.has_value(), got.has_value());
      if (best && got) {
        EXPECT_NEAR(value(w_m, w_g, *got), value(w_m, w_g, *best), scale);
        EXPECT_TRUE(bounds.contain(1 + got->m, got->g));
      }
    }
  }
}

// Margins, products and sums of differences as the differences themselves give them.
template <ImplicitDifferences M>
void expect_implicit_differences(const M& model, std::size_t i,
                                 const std::vector<typename M::Labelling>& labellings,
                                 Random& random) {
  constexpr double kTolerance = 1e-4;
  const std::vector<float> w = random_weights(random, model.num_weights());
  const std::size_t size = labellings.size();
  std::vector<double> margins(size), products(size * size), coefficients(size, 0.0);
  for (double& c : coefficients) c = random.below(4) ? random.normal() : 0.0;
  typename M::Workspace workspace;
  model.margins(i, labellings, {w, 2.0}, workspace, margins);
  model.difference_products(i, labellings, products);
  std::vector<float> moved = w, expected = w;
  model.add_differences(i, labellings, coefficients, workspace, moved);
  std::vector<SparseVector> differences(size);
  for (std::size_t k = 0; k < size; ++k) {
    model.difference(i, labellings[k], differences[k]);
    sort_indices(differences[k]);
    EXPECT_NEAR(margins[k], dot({w, 2.0}, differences[k]), kTolerance);
    add_scaled(coefficients[k], differences[k], expected);
    for (std::size_t j = 0; j <= k; ++j) {
      EXPECT_NEAR(products[j * size + k], dot(differences[j], differences[k]), kTolerance);
      EXPECT_EQ(products[j * size + k], products[k * size + j]);
    }
  }
  for (std::size_t c = 0; c < w.size(); ++c) EXPECT_NEAR(moved[c], expected[c], kTolerance);
}

// All vectors of `length` numbers below `base`.
template <class T>
std::vector<std::vector<T>> all_vectors(std::size_t length, T base) {
  std::vector<std::vector<T>> all{{}};
  for (std::size_t t = 0; t < length; ++t) {
    std::vector<std::vector<T>> longer;
    for (const auto& y : all) {
      for (T k = 0; k < base; ++k) {
        longer.push_back(y);
        longer.back().push_back(k);
      }
    }
    all = std::move(longer);
  }
  return all;
}

inline CsrMatrix random_rows(Random& random, std::size_t rows, std::uint32_t columns,
                             double density = 0.6) {
  CsrMatrix X(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<FeatureId> indices;
    std::vector<float> values;
    for (FeatureId j = 0; j < columns; ++j) {
      if (random.uniform() >= density) continue;
      indices.push_back(j);
      values.push_back(static_cast<float>(random.normal()));
    }
    X.append_row(indices, values);
  }
  return X;
}

}  // namespace margrove::testing
