// Multi-label fields that start from one-vs-rest.
#include "outputs/field/field_start.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "files.hpp"
#include "margrove/surrogates.hpp"
#include "structured/bcfw.hpp"
#include "structured/convex_hull.hpp"

namespace margrove {
namespace {

struct Rows {
  CsrMatrix X{7};
  LabelSets labels;
};

// Labels that follow one feature each, and label 0 the others, with noise.
Rows noisy_rows(std::uint64_t seed, int count, LabelId num_labels) {
  Random random(seed);
  Rows rows;
  for (int i = 0; i < count; ++i) {
    std::vector<float> values{1.0F, 0, 0, 0, 0, 0, 0};
    std::vector<LabelId> set;
    for (std::size_t f = 1; f < 7; ++f) values[f] = static_cast<float>(random.normal());
    for (LabelId l = 0; l < num_labels; ++l) {
      if (static_cast<double>(values[1 + l % 6]) + 0.7 * random.normal() > 0.8) set.push_back(l);
    }
    rows.X.append_row(std::vector<FeatureId>{0, 1, 2, 3, 4, 5, 6}, values);
    rows.labels.append(set);
  }
  return rows;
}

TEST(FieldStart, mixtures_have_the_marginals_of_one_vs_rest) {
  const LabelId K = 9;
  const Rows rows = noisy_rows(1, 40, K);
  Executor executor(1);
  RunControl control;
  const double pair_scale = 0.5, C = 0.7;
  const OneVsRestOptions options{.C = C, .tolerance = 1e-4};
  const auto start = field_start(rows.X, rows.labels, K, pair_scale, options, executor, control);
  OneVsRestExtras extras;
  extras.keep_duals = true;
  const CsrMatrix X = with_intercept(rows.X, pair_scale * std::sqrt(K - 1.0));
  const auto fit = train_one_vs_rest(X, rows.labels, K, options, executor, control, extras);
  std::map<std::pair<std::size_t, LabelId>, double> expected;
  for (LabelId k = 0; k < K; ++k) {
    for (std::size_t j = 0; j < fit.duals[k].rows.size(); ++j) {
      expected[{fit.duals[k].rows[j], k}] = fit.duals[k].values[j];
    }
  }
  const FieldModel model(rows.X, rows.labels, K);
  std::size_t sets = 0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::vector<double> marginals(K, 0.0);
    double total = 0.0;
    for (std::size_t s = 0; s < start[i].labellings.size(); ++s, ++sets) {
      EXPECT_GT(start[i].weights[s], 0.0);
      total += start[i].weights[s];
      for (LabelId k = 0; k < K; ++k) {
        if (start[i].labellings[s][k] != model.truth(i)[k]) marginals[k] += start[i].weights[s];
      }
    }
    EXPECT_LE(total, C * (1 + 1e-12));
    for (LabelId k = 0; k < K; ++k) EXPECT_NEAR(marginals[k], (expected[{i, k}]), 1e-12);
  }
  EXPECT_GT(sets, start.size());
}

// A field whose interactions count for nothing is one-vs-rest.
TEST(FieldStart, is_the_optimum_where_pairs_do_not_count) {
  const LabelId K = 20;
  const Rows rows = noisy_rows(2, 60, K);
  Executor executor(1);
  RunControl control;
  const double pair_scale = 1e-4;
  const FieldModel model(rows.X, rows.labels, K, {.pair_scale = pair_scale});
  const OneVsRestOptions one_vs_rest{.C = 0.5, .tolerance = 1e-4};
  const auto start =
      field_start(rows.X, rows.labels, K, pair_scale, one_vs_rest, executor, control);
  const BcfwOptions options{.C = 0.5, .tolerance = 1e-3, .cached_passes = 0};
  Bcfw solver(model, MarginRescaling{}, MarginSearch{}, options, executor, control);
  solver.start_from(start);
  const double at_once = solver.dual();
  const StructuredFit fit = solver.run();
  EXPECT_LE(fit.passes, 2);
  EXPECT_TRUE(fit.certified);
  EXPECT_NEAR(at_once, fit.primal, 1e-3 * fit.primal);
}

template <class Psi>
void expect_same_objective(const FieldModel& model, const Psi& psi,
                           std::span<const Mixture<LabelVector>> start) {
  Executor executor(1);
  RunControl control;
  const BcfwOptions options{.C = 0.5, .tolerance = 2e-4, .max_passes = 2000};
  const ConvexHullSearch search{.max_bans = 1000};
  Bcfw cold(model, psi, search, options, executor, control);
  const StructuredFit expected = cold.run();
  Bcfw warm(model, psi, search, options, executor, control);
  warm.start_from(start);
  const double at_once = warm.dual();
  const StructuredFit found = warm.run();
  EXPECT_TRUE(expected.certified && found.certified);
  EXPECT_EQ(found.stop, Stop::converged);
  EXPECT_NEAR(found.primal, expected.primal, 4e-4 * expected.primal);
  EXPECT_GT(at_once, 0.3 * expected.dual);
  EXPECT_LE(at_once, expected.primal);
  for (const auto& set : warm.active()) {
    double total = 0.0;
    for (const double dual : set.duals) {
      EXPECT_GE(dual, 0.0);
      total += dual;
    }
    EXPECT_LE(total, 0.5 * (1 + 1e-9));
  }
}

TEST(FieldStart, leads_every_affine_surrogate_to_its_optimum) {
  const LabelId K = 5;
  const Rows rows = noisy_rows(3, 30, K);
  Executor executor(1);
  RunControl control;
  const FieldModel hamming(rows.X, rows.labels, K, {.pair_scale = 0.5});
  const FieldModel f1(rows.X, rows.labels, K, {.criteria = Criteria::micro_f1, .pair_scale = 0.5});
  const auto start =
      field_start(rows.X, rows.labels, K, 0.5, {.C = 0.5, .tolerance = 1e-3}, executor, control);
  expect_same_objective(hamming, MarginRescaling{}, start);
  expect_same_objective(hamming, GeneralisedScaling::of_beta(0.5), start);
  expect_same_objective(hamming, SlackRescaling{}, start);
  expect_same_objective(f1, MicroF1{}, start);
}

TEST(FieldStart, of_another_size_throws) {
  const Rows rows = noisy_rows(4, 3, 2);
  const FieldModel model(rows.X, rows.labels, 2);
  Executor executor(1);
  RunControl control;
  Bcfw solver(model, MarginRescaling{}, MarginSearch{}, {}, executor, control);
  EXPECT_EQ(testing::message_of([&] { solver.start_from({}); }),
            "bcfw: start of 0 examples, but must be 3");
}

}  // namespace
}  // namespace margrove
