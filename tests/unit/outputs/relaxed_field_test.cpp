#include "outputs/field/relaxed_field.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "margrove/executor.hpp"
#include "margrove/surrogates.hpp"
#include "model_checks.hpp"
#include "structured/bcfw.hpp"
#include "structured/convex_hull.hpp"

namespace margrove {
namespace {

static_assert(StructuredModel<RelaxedFieldModel> && ImplicitDifferences<RelaxedFieldModel> &&
              EvaluatingOracle<RelaxedFieldOracle> && ConvexOracle<RelaxedFieldOracle>);

constexpr std::uint32_t kLabels = 4;

// One example of labels 1 and 2.
struct Problem {
  explicit Problem(std::uint64_t seed)
      : random(seed),
        X(testing::random_rows(random, 1, 3)),
        labels(),
        field(X, with_one_row(), 4, {.pair_scale = seed % 2 ? 1.0 : 0.5}),
        model(field),
        w(testing::random_weights(random, model.num_weights())) {}
  RelaxedFieldOracle oracle() { return model.oracle(0, {w}, workspace); }
  const LabelSets& with_one_row() {
    labels.append(std::vector<LabelId>{1, 2});
    return labels;
  }
  Random random;
  CsrMatrix X;
  LabelSets labels;
  FieldModel field;
  RelaxedFieldModel model;
  std::vector<float> w;
  FieldWorkspace workspace;
};

// All points whose labels are 0, 1/2 or 1 and whose pairs are at either of their limits: the
// corners of the local polytope are among them (Boros, Hammer 2002).
std::vector<FieldShares> half_points() {
  std::vector<FieldShares> points;
  for (const auto& halves : testing::all_vectors<int>(kLabels, 3)) {
    std::vector<std::pair<float, float>> limits;
    for (std::size_t k = 0; k < kLabels; ++k) {
      for (std::size_t l = k + 1; l < kLabels; ++l) {
        const float a = 0.5F * static_cast<float>(halves[k]);
        const float b = 0.5F * static_cast<float>(halves[l]);
        limits.emplace_back(std::max(0.0F, a + b - 1.0F), std::min(a, b));
      }
    }
    for (unsigned bits = 0; bits < (1U << limits.size()); ++bits) {
      FieldShares y;
      bool is_new = true;
      for (const int h : halves) y.labels.push_back(0.5F * static_cast<float>(h));
      for (std::size_t p = 0; p < limits.size(); ++p) {
        const bool upper = (bits >> p) & 1U;
        is_new = is_new && !(upper && limits[p].first == limits[p].second);
        y.pairs.push_back(upper ? limits[p].second : limits[p].first);
      }
      if (is_new) points.push_back(y);
    }
  }
  return points;
}

TEST(RelaxedField, argmax_is_the_best_corner_of_the_local_polytope) {
  const auto points = half_points();
  int fractional = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem(seed);
    const RelaxedFieldOracle oracle = problem.oracle();
    EXPECT_NEAR(oracle.truth().m, 0.0, 1e-6);
    EXPECT_EQ(oracle.truth().g, 0.0);
    for (const double lambda : {0.0, 0.3, 1.0, 4.0}) {
      double best = -1e9;
      for (const FieldShares& y : points) {
        const auto c = oracle.evaluate(y);
        best = std::max(best, c.m + lambda * c.g);
      }
      const auto found = oracle.argmax(1.0, lambda);
      EXPECT_NEAR(found.m + lambda * found.g, best, 1e-5) << "lambda " << lambda;
      fractional += std::count(found.y.labels.begin(), found.y.labels.end(), 0.5F) > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(fractional, 5);
}

TEST(RelaxedField, differences_are_linear_and_agree_with_the_oracle) {
  const auto points = half_points();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem(seed);
    const RelaxedFieldModel& model = problem.model;
    const RelaxedFieldOracle oracle = problem.oracle();
    std::vector<FieldShares> some{model.truth(0)};
    for (int k = 0; k < 6; ++k) some.push_back(points[problem.random.below(points.size())]);
    some.push_back(oracle.mix(some[1], some[2], 0.3));
    for (const FieldShares& y : some) {
      SparseVector difference;
      model.difference(0, y, difference);
      EXPECT_NEAR(dot({problem.w}, difference), oracle.evaluate(y).m, 1e-5);
    }
    const auto a = oracle.evaluate(some[1]), b = oracle.evaluate(some[2]);
    EXPECT_NEAR(oracle.evaluate(some.back()).m, 0.7 * a.m + 0.3 * b.m, 1e-5);
    EXPECT_NEAR(oracle.evaluate(some.back()).g, 0.7 * a.g + 0.3 * b.g, 1e-5);
    testing::expect_implicit_differences(model, 0, some, problem.random);
    // Label sets are labellings of the relaxation, with the same difference.
    SparseVector exact, relaxed;
    FieldShares ones{{1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}};
    problem.field.difference(0, LabelVector{1, 1, 1, 1}, exact);
    model.difference(0, ones, relaxed);
    sort_indices(exact);
    sort_indices(relaxed);
    EXPECT_EQ(exact.indices, relaxed.indices);
    EXPECT_EQ(exact.values, relaxed.values);
  }
}

TEST(RelaxedField, convex_hull_search_finds_the_maximum_of_all_mixtures) {
  const auto points = half_points();
  int mixtures = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem(seed);
    const RelaxedFieldOracle oracle = problem.oracle();
    LabelCache<FieldShares> cache;
    const auto found = ConvexHullSearch{}(oracle, SlackRescaling{}, cache);
    EXPECT_NEAR(found.upper_bound, found.value, 1e-7 * found.value);
    const auto place = oracle.evaluate(found.best.y);
    EXPECT_NEAR(SlackRescaling{}.value(place.m, place.g), found.value, 1e-4 * found.value);
    EXPECT_NEAR(place.g, found.best.g, 1e-5);
    mixtures += std::any_of(found.best.y.labels.begin(), found.best.y.labels.end(),
                            [](float y) { return y != 0.0F && y != 0.5F && y != 1.0F; })
                    ? 1
                    : 0;
    for (int k = 0; k < 300; ++k) {
      const auto a = oracle.evaluate(points[problem.random.below(points.size())]);
      const auto b = oracle.evaluate(points[problem.random.below(points.size())]);
      for (const double t : {0.0, 0.25, 0.5, 0.75}) {
        const double value =
            SlackRescaling{}.value((1 - t) * a.m + t * b.m, (1 - t) * a.g + t * b.g);
        EXPECT_LE(value, found.value * (1 + 1e-6) + 1e-6);
      }
    }
  }
  EXPECT_GT(mixtures, 5);
}

TEST(RelaxedField, training_is_certified_and_bounds_the_exact_problem) {
  Random random(5);
  const CsrMatrix X = testing::random_rows(random, 12, 3);
  LabelSets labels;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    std::vector<LabelId> set;
    for (LabelId l = 0; l < kLabels; ++l) {
      if (random.below(2)) set.push_back(l);
    }
    labels.append(set);
  }
  const FieldModel field(X, labels, kLabels);
  const RelaxedFieldModel relaxed(field);
  Executor executor(1);
  RunControl control;
  const BcfwOptions options{.C = 1.0, .tolerance = 1e-3, .max_passes = 500, .minibatch = 1};
  const ConvexHullSearch search{.max_bans = 100};
  Bcfw on_sets(field, SlackRescaling{}, search, options, executor, control);
  Bcfw on_shares(relaxed, SlackRescaling{}, search, options, executor, control);
  const StructuredFit exact = on_sets.run(), wider = on_shares.run();
  EXPECT_TRUE(exact.certified);
  EXPECT_TRUE(wider.certified);
  EXPECT_LE(wider.relative_gap, 1e-3);
  EXPECT_GE(wider.primal, exact.dual);  // more labellings, larger losses
}

}  // namespace
}  // namespace margrove
