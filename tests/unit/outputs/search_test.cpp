#include "structured/search.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "structured/angular.hpp"
#include "structured/any_search.hpp"
#include "structured/convex_hull.hpp"
#include "structured/enumeration.hpp"
#include "structured/product_searches.hpp"
#include "structured/surrogate.hpp"

namespace margrove {
namespace {

using Labels = EnumerationOracle<int>;
using Point = Candidate<int>;

Labels labels_at(std::vector<std::pair<double, double>> points, bool with_truth = true) {
  std::vector<Point> labels;
  if (with_truth) labels.push_back({0, 0.0, 0.0});
  for (const auto& [m, g] : points) labels.push_back({static_cast<int>(labels.size()), m, g});
  return {labels, 0};
}

// Labellings spread over both signs of m; whole-number losses if asked.
Labels random_labels(Random& random, int size, bool integer_loss, int max_loss = 8) {
  std::vector<std::pair<double, double>> points;
  const double spread = 0.2 + 3 * random.uniform();
  for (int k = 0; k < size; ++k) {
    double g = max_loss * random.uniform();
    if (integer_loss) g = 1.0 + static_cast<double>(random.below(static_cast<unsigned>(max_loss)));
    points.push_back({spread * random.normal() - 0.3 * g * random.uniform(), g});
  }
  return labels_at(points);
}

// The plane of Micro-F1: m = Hamming + margin violation, g = -|y| - |y_i|.
Labels random_f1_labels(Random& random, int size) {
  const int truth = static_cast<int>(random.below(4));
  std::vector<Point> labels{{0, 0.0, -2.0 * truth}};
  for (int k = 1; k <= size; ++k) {
    const int y = static_cast<int>(random.below(6));
    if (y + truth == 0) continue;
    const int common = static_cast<int>(random.below(1 + std::min(y, truth)));
    const double hamming = y + truth - 2 * common;
    labels.push_back({k, hamming + 2 * random.normal(), -double(y + truth), hamming});
  }
  return {labels, 0};
}

template <class S>
double brute_force(const Labels& labels, const S& psi) {
  double best = 0;
  for (const auto& c : labels.labellings()) {
    if (c.y != 0) best = std::max(best, psi.value(c.m, c.g));
  }
  return best;
}

// max psi over all segments between two points, on a fine grid with refinement.
template <class S>
double brute_force_hull(const Labels& labels, const S& psi) {
  double best = brute_force(labels, psi);
  for (const auto& a : labels.labellings()) {
    for (const auto& b : labels.labellings()) {
      if (b.y <= a.y) continue;
      const auto at = [&](double t) {
        return psi.value(a.m + t * (b.m - a.m), a.g + t * (b.g - a.g));
      };
      constexpr int kGrid = 200;
      int top = 1;
      for (int k = 1; k < kGrid; ++k) {
        if (at(double(k) / kGrid) > at(double(top) / kGrid)) top = k;
      }
      double low = (top - 1.0) / kGrid, high = (top + 1.0) / kGrid;
      for (int k = 0; k < 60; ++k) {
        const double third = (high - low) / 3;
        if (at(low + third) < at(high - third)) {
          low += third;
        } else {
          high -= third;
        }
      }
      best = std::max(best, at(0.5 * (low + high)));
    }
  }
  return best;
}

// Corners of the hull that some w_m, w_g >= 0 reaches: V+.
int reachable_corners(const Labels& labels) {
  std::vector<PlanePoint> points;
  for (const auto& c : labels.labellings()) points.push_back({c.m, c.g, 0.0, 0});
  keep_upper_right_chain(points);
  return static_cast<int>(points.size());
}

template <class Search, class S>
SearchResult<int> run(const Search& search, const Labels& labels, const S& psi) {
  LabelCache<int> cache;
  return search(labels, psi, cache);
}

static_assert(SearchFor<const MarginSearch, Labels, MarginRescaling>);
static_assert(SearchFor<const SarawagiGuptaSearch, Labels, SlackRescaling>);
static_assert(SearchFor<const BinarySearch, Labels, SlackRescaling>);
static_assert(SearchFor<const BisectingSearch, Labels, SlackRescaling>);
static_assert(SearchFor<const AngularSearch, Labels, SlackRescaling>);
static_assert(SearchFor<const ConvexHullSearch, Labels, ProbLoss>);
static_assert(ConstrainedOracle<Labels> && KBestOracle<Labels> && BanListOracle<Labels> &&
              EvaluatingOracle<Labels>);

// Theorem 1 with h = 1 + m: A = (e, G), B = (H, e), C = (H/2, G/2 less a hair), below the line AB.
Labels theorem_1_labels() {
  const double H = 10, G = 8, e = 1e-3;
  return labels_at({{e - 1, G}, {H - 1, e}, {H / 2 - 1 - 1e-3, G / 2 - 1e-3}});
}

TEST(PureLambdaSearches, miss_theorem_1s_label_and_angular_finds_it) {
  const Labels labels = theorem_1_labels();
  const SlackRescaling slack;
  const double best = brute_force(labels, slack);
  EXPECT_NEAR(best, 20, 0.1);
  SarawagiGuptaSearch sarawagi;
  for (const double xi : {0.0, 0.1, 5.0, 25.0}) {
    sarawagi.slack = xi;
    EXPECT_LT(run(sarawagi, labels, slack).value, 0.02);
  }
  EXPECT_LT(run(BinarySearch{}, labels, slack).value, 0.02);
  EXPECT_LT(run(BisectingSearch{}, labels, slack).value, 0.02);
  ConvexHullSearch no_bans;
  no_bans.max_bans = 0;
  EXPECT_LT(run(no_bans, labels, slack).value, 0.02);
  EXPECT_DOUBLE_EQ(run(AngularSearch{.tolerance = 0}, labels, slack).value, best);
  EXPECT_DOUBLE_EQ(run(ConvexHullSearch{}, labels, slack).value, best);  // by its ban list
}

TEST(PureLambdaSearches, never_exceed_the_maximum_and_their_bound_never_undercuts_it) {
  Random random(11);
  const SlackRescaling slack;
  for (int round = 0; round < 2000; ++round) {
    const Labels labels = random_labels(random, 1 + static_cast<int>(random.below(30)), round % 2);
    const double best = brute_force(labels, slack);
    SarawagiGuptaSearch sarawagi;
    sarawagi.slack = 3 * random.uniform();
    for (const auto& result : {run(sarawagi, labels, slack), run(BinarySearch{}, labels, slack),
                               run(BisectingSearch{}, labels, slack)}) {
      EXPECT_LE(result.value, best + 1e-12);
      EXPECT_GE(result.upper_bound, best - 1e-9) << "round " << round;
      EXPECT_NEAR(result.value, result.best.y == 0 ? 0 : slack.value(result.best.m, result.best.g),
                  1e-12);
      EXPECT_LE(result.oracle_calls, 50);
      EXPECT_GE(result.oracle_calls, 1);
    }
  }
}

TEST(PureLambdaSearches, find_the_maximum_where_it_is_a_corner_at_the_right_angle) {
  // y = (h 4, g 4) dominates all others but y_i.
  const Labels labels = labels_at({{3, 4}, {2, 3}, {-0.5, 4}, {3, 1}});
  const SlackRescaling slack;
  EXPECT_EQ(run(SarawagiGuptaSearch{.slack = 1}, labels, slack).value, 16);
  EXPECT_EQ(run(BinarySearch{}, labels, slack).value, 16);
  EXPECT_EQ(run(BisectingSearch{}, labels, slack).value, 16);
}

TEST(ProductBound, is_at_most_lemma_5_and_holds_for_points_below_all_cuts) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<PlaneCut> cuts;
    double lemma_5 = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 4; ++k) {
      const double lambda = std::exp(2 * random.normal()), value = 1 + 5 * random.uniform();
      cuts.push_back({lambda, value});
      lemma_5 = std::min(lemma_5, value * value / (4 * lambda));
    }
    const double bound = product_bound(cuts);
    EXPECT_LE(bound, lemma_5 * (1 + 1e-12));
    double reached = 0;
    for (double g = 0; g < 50; g += 0.01) {
      double h = std::numeric_limits<double>::infinity();
      for (const auto& cut : cuts) h = std::min(h, cut.value - cut.lambda * g);
      reached = std::max(reached, h * g);
    }
    EXPECT_GE(bound, reached - 1e-9);
    EXPECT_NEAR(bound, reached, 0.06 * (1 + reached));
  }
  EXPECT_TRUE(std::isinf(product_bound({{0.0, 3.0}})));
}

// Each answer K(lambda) = max h + lambda g proves max h g <= K^2 / (4 lambda); binary search's
// convex bound F(lambda) = max_{h > 0} (h/lambda + lambda g)^2 / 4 is the same at lambda^2.
TEST(ProductBound, of_one_answer_holds_and_binary_searchs_is_convex) {
  Random random(6);
  for (int round = 0; round < 1000; ++round) {
    const Labels labels = random_labels(random, 20, round % 2);
    const double best = brute_force(labels, SlackRescaling{});
    const auto bound = [&](double lambda) {
      const auto y = labels.argmax(1, lambda * lambda);
      const double K = 1 + y.m + lambda * lambda * y.g;
      EXPECT_GE(product_bound({{lambda * lambda, K}}), best * (1 - 1e-12));
      EXPECT_NEAR(product_bound({{lambda * lambda, K}}), K * K / (4 * lambda * lambda),
                  1e-9 * K * K);
      double F = 0;
      for (const auto& c : labels.labellings()) {
        if (c.m > -1) F = std::max(F, 0.25 * std::pow((1 + c.m) / lambda + lambda * c.g, 2));
      }
      EXPECT_GE(F, best);
      if (y.m > -1) {
        EXPECT_NEAR(F, K * K / (4 * lambda * lambda), 1e-9 * F);
      }
      return F;
    };
    const double a = std::exp(random.normal()), b = std::exp(random.normal());
    const double t = random.uniform();
    EXPECT_LE(bound(t * a + (1 - t) * b), (t * bound(a) + (1 - t) * bound(b)) * (1 + 1e-12));
  }
}

TEST(SlopeBounds, are_strict_where_asked_and_leave_out_what_is_not_positive) {
  const SlopeBounds open{.lower = 0.5, .upper = 2.0, .lower_strict = true, .upper_strict = true};
  const SlopeBounds closed{.lower = 0.5, .upper = 2.0, .lower_strict = false};
  for (const auto& [h, g] : {std::pair{2.0, 1.0}, {1.0, 2.0}}) {
    EXPECT_FALSE(open.contain(h, g));
    EXPECT_TRUE(closed.contain(h, g));
  }
  EXPECT_TRUE(open.contain(1, 1));
  EXPECT_FALSE(closed.contain(1, 2.1));
  EXPECT_FALSE(closed.contain(1, 0.4));
  for (const auto& [h, g] : {std::pair{0.0, 1.0}, {-1.0, 1.0}, {1.0, 0.0}, {-1.0, -1.0}}) {
    EXPECT_FALSE(SlopeBounds{}.contain(h, g));
  }
}

TEST(AngularSearch, is_exact_within_theorem_2s_calls) {
  Random random(7);
  const SlackRescaling slack;
  for (int round = 0; round < 2000; ++round) {
    const int size = 1 + static_cast<int>(random.below(40));
    const Labels labels = random_labels(random, size, round % 2);
    const auto result = run(AngularSearch{.tolerance = 0}, labels, slack);
    EXPECT_DOUBLE_EQ(result.value, brute_force(labels, slack)) << "round " << round;
    EXPECT_NEAR(result.upper_bound, result.value, 1e-9 * result.value);
    // M labellings of positive product; two calls find H and G for lambda_0.
    int positive = 0;
    for (const auto& c : labels.labellings()) positive += 1 + c.m > 0 && c.g > 0;
    EXPECT_LE(result.oracle_calls - 2, 2 * positive + 1);
  }
}

TEST(AngularSearch, stops_at_the_ratio_with_a_bound_that_holds) {
  Random random(8);
  const SlackRescaling slack;
  long exact_calls = 0, ratio_calls = 0;
  for (int round = 0; round < 1000; ++round) {
    const Labels labels = random_labels(random, 200, false);
    const double best = brute_force(labels, slack);
    const auto result = run(AngularSearch{.tolerance = 0.1}, labels, slack);
    EXPECT_GE(result.upper_bound, best * (1 - 1e-12));
    EXPECT_GE(result.value, 0.9 * best);
    ratio_calls += result.oracle_calls;
    exact_calls += run(AngularSearch{.tolerance = 0}, labels, slack).oracle_calls;
  }
  EXPECT_LT(ratio_calls, exact_calls);
}

TEST(AnySearch, gives_angular_search_its_limits) {
  const DynamicSurrogate slack{AnySurrogate(SlackRescaling{})};
  const auto calls = [&](const SearchLimits& limits) {
    Random random(8);
    AnySearch search = AnySearch::make(StructuredSearch::angular, limits);
    std::int64_t sum = 0;
    for (int round = 0; round < 100; ++round) {
      LabelCache<int> cache;
      sum += search(random_labels(random, 200, false), slack, cache).oracle_calls;
    }
    return sum;
  };
  EXPECT_LT(calls({.tolerance = 0.5}), calls({.tolerance = 0.0}));
  EXPECT_EQ(calls({}), calls({.tolerance = 1e-3}));
  EXPECT_LT(calls({.tolerance = 0.0, .max_calls = 3}), calls({.tolerance = 0.0}));
}

TEST(AngularSearch, converges_as_theorems_4_and_5_say) {
  Random random(9);
  const SlackRescaling slack;
  int checked = 0;
  for (int round = 0; round < 500; ++round) {
    const Labels labels = random_labels(random, 300, false);
    const double best = brute_force(labels, slack);
    if (best == 0) continue;
    const auto largest_g = labels.argmax(0, 1), largest_h = labels.argmax(1, 0);
    const double G = largest_g.g, H = 1 + largest_h.m, lambda_0 = H / G;
    // phi: the search knows the products of these two and looks between the slopes they leave.
    const double phi = std::max(
        {0.0, slack.value(largest_g.m, largest_g.g), slack.value(largest_h.m, largest_h.g)});
    if (!(phi > 0) || phi >= best) continue;
    ++checked;
    const auto first =
        labels.constrained_argmax(1, lambda_0, {phi / (H * H), G * G / phi, true, false});
    ASSERT_TRUE(first);
    const double slope = first->g / (1 + first->m);
    const double v = std::max(lambda_0 * slope, 1 / (lambda_0 * slope));
    EXPECT_LE(v, G * H / phi * (1 + 1e-9));  // Theorem 5's bound on v
    for (int t = 1; t <= 31; t = 2 * t + 1) {
      const auto result = run(AngularSearch{.tolerance = 0, .max_calls = 2 + t}, labels, slack);
      EXPECT_LE(best / result.value, std::pow(v, 4.0 / (t + 1)) * (1 + 1e-9))
          << "round " << round << ", t " << t;
    }
    for (const double epsilon : {0.5, 0.1}) {
      const int T = static_cast<int>(4 * std::log(G * H / phi) / epsilon) + 1;
      const auto result = run(AngularSearch{.tolerance = 0, .max_calls = 2 + T}, labels, slack);
      EXPECT_GE(result.value, (1 - epsilon) * best);
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(AngularSearch, cache_saves_calls_and_changes_nothing) {
  Random random(10);
  const SlackRescaling slack;
  int cold = 0, warm = 0;
  for (int round = 0; round < 300; ++round) {
    const Labels labels = random_labels(random, 100, true);
    LabelCache<int> cache;
    const AngularSearch search{.tolerance = 0};
    const auto first = search(labels, slack, cache);
    const auto second = search(labels, slack, cache);
    EXPECT_EQ(first.value, second.value);
    cold += first.oracle_calls;
    warm += second.oracle_calls;
  }
  EXPECT_LT(warm, cold);
}

template <class S>
void check_theorem_6(const Labels& labels, const S& psi) {
  LabelCache<int> cache;
  const auto hull = ConvexHullSearch{}.fractional(labels, psi, cache);
  const double expected = brute_force_hull(labels, psi);
  EXPECT_NEAR(hull.value, expected, 1e-6 * (1 + expected));
  EXPECT_LE(hull.oracle_calls, reachable_corners(labels) + 1);
}

TEST(ConvexHullSearch, finds_the_fractional_optimum_within_theorem_6s_calls) {
  Random random(12);
  for (int round = 0; round < 400; ++round) {
    const Labels labels = random_labels(random, 1 + static_cast<int>(random.below(20)), round % 2);
    check_theorem_6(labels, MarginRescaling{});
    check_theorem_6(labels, SlackRescaling{});
    check_theorem_6(labels, GeneralisedScaling(0.5, 1.25));
    check_theorem_6(labels, GeneralisedScaling::of_beta(0.25));
    check_theorem_6(labels, LossScaledLog{});
    check_theorem_6(labels, ProbLoss{});
    check_theorem_6(labels, ConvexProbLoss{});
    check_theorem_6(random_f1_labels(random, 12), MicroF1{});
  }
}

TEST(ConvexHullSearch, never_ends_below_truth_from_a_cold_start) {
  Random random(13);
  for (int round = 0; round < 3000; ++round) {
    const Labels labels = random_labels(random, 6, false);
    EXPECT_GE(run(ConvexHullSearch{}, labels, SlackRescaling{}).value, 0);
  }
}

TEST(ConvexHullSearch, needs_at_most_m_plus_2_calls_for_whole_losses_up_to_m) {
  Random random(14);
  for (int round = 0; round < 1000; ++round) {
    const int m = 1 + static_cast<int>(random.below(10));
    const Labels labels = random_labels(random, 200, true, m);
    LabelCache<int> cache;
    EXPECT_LE(ConvexHullSearch{}.fractional(labels, SlackRescaling{}, cache).oracle_calls, m + 2);
    EXPECT_LE(ConvexHullSearch{}.fractional(labels, ProbLoss{}, cache).oracle_calls, m + 2);
  }
}

template <class S>
void check_integral(const Labels& labels, const S& psi) {
  const double best = brute_force(labels, psi);
  const auto result = run(ConvexHullSearch{.max_bans = 1000}, labels, psi);
  EXPECT_NEAR(result.value, best, 1e-9 * (1 + best));
  EXPECT_NEAR(result.upper_bound, best, 1e-8 * (1 + best));
  const auto few = run(ConvexHullSearch{.max_bans = 1}, labels, psi);
  EXPECT_LE(few.value, best + 1e-12 * (1 + best));
  EXPECT_GE(few.upper_bound, best - 1e-9 * (1 + best));
}

TEST(ConvexHullSearch, becomes_exact_by_its_ban_list) {
  Random random(15);
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(round);
    const Labels labels = random_labels(random, 1 + static_cast<int>(random.below(25)), round % 2);
    check_integral(labels, MarginRescaling{});
    check_integral(labels, SlackRescaling{});
    check_integral(labels, GeneralisedScaling::of_beta(0.5));
    check_integral(labels, LossScaledLog{});
    check_integral(labels, ProbLoss{});
    check_integral(labels, ConvexProbLoss{});
    check_integral(random_f1_labels(random, 12), MicroF1{});
  }
}

TEST(ConvexHullSearch, micro_f1_has_its_optimum_at_a_corner) {
  Random random(16);
  for (int round = 0; round < 1000; ++round) {
    const Labels labels = random_f1_labels(random, 15);
    LabelCache<int> cache;
    const auto hull = ConvexHullSearch{}.fractional(labels, MicroF1{}, cache);
    EXPECT_NEAR(hull.value, brute_force(labels, MicroF1{}), 1e-9);
  }
}

TEST(ConvexHullSearch, settles_lemma_13s_example_in_three_calls) {
  // psi symmetric; A = (2, 4), B = (4, 2), C = (3 + e, 3); h = 1 + m for slack rescaling. y_i at
  // h = 1, g = 0. Only lambda = 1 shows C.
  for (const double e : {1e-2, 1e-5, 1e-8}) {
    const Labels labels = labels_at({{1, 4}, {3, 2}, {2 + e, 3}});
    EXPECT_EQ(labels.argmax(1, 1 + 2 * e).y, 1);
    EXPECT_EQ(labels.argmax(1, 1 - 2 * e).y, 2);
    LabelCache<int> cache;
    cache.labellings = {1, 2};
    const auto hull = ConvexHullSearch{}.fractional(labels, SlackRescaling{}, cache);
    EXPECT_NEAR(hull.value, (3 + e) * 3, 1e-12);
    EXPECT_LE(hull.oracle_calls, 3);
  }
}

TEST(ConvexHullSearch, warm_start_needs_one_call_where_nothing_changed) {
  Random random(17);
  for (int round = 0; round < 500; ++round) {
    const Labels labels = random_labels(random, 50, true);
    LabelCache<int> cache;
    const ConvexHullSearch search{.max_bans = 0};
    const auto cold = search(labels, ProbLoss{}, cache);
    const auto warm = search(labels, ProbLoss{}, cache);
    EXPECT_EQ(cold.value, warm.value);
    EXPECT_EQ(warm.oracle_calls, 1);
  }
}

TEST(ConvexHullSearch, stops_at_max_calls_with_a_bound_that_holds) {
  Random random(18);
  for (int round = 0; round < 1000; ++round) {
    const Labels labels = random_labels(random, 50, false);
    for (const int calls : {1, 2, 3}) {
      const auto result =
          run(ConvexHullSearch{.max_calls = calls, .max_bans = 0}, labels, ProbLoss{});
      EXPECT_LE(result.oracle_calls, calls);
      EXPECT_GE(result.upper_bound, brute_force(labels, ProbLoss{}) - 1e-9);
    }
  }
}

TEST(ConvexHullSearch, with_a_tolerance_asks_less_and_misses_little) {
  Random random(17);
  int calls = 0, exact_calls = 0;
  double sum = 0.0, exact_sum = 0.0;
  for (int round = 0; round < 300; ++round) {
    const Labels labels = random_labels(random, 40, true);
    LabelCache<int> cache, exact_cache;
    const auto rough = ConvexHullSearch{.tolerance = 0.01}(labels, ProbLoss{}, cache);
    const auto exact = ConvexHullSearch{.max_bans = 100}(labels, ProbLoss{}, exact_cache);
    EXPECT_LE(rough.value, exact.value * (1 + 1e-9));
    EXPECT_TRUE(std::isinf(rough.upper_bound));
    calls += rough.oracle_calls;
    exact_calls += exact.oracle_calls;
    sum += rough.value;
    exact_sum += exact.value;
  }
  EXPECT_LT(calls, exact_calls);
  EXPECT_GT(sum, 0.97 * exact_sum);
}

TEST(MarginSearch, is_one_exact_call) {
  Random random(19);
  for (int round = 0; round < 200; ++round) {
    const Labels labels = random_labels(random, 10, true);
    const auto result = run(MarginSearch{}, labels, MarginRescaling{});
    EXPECT_EQ(result.value, brute_force(labels, MarginRescaling{}));
    EXPECT_EQ(result.oracle_calls, 1);
  }
}

// A surrogate of one's own needs value and partial derivatives: here the geometric mean of loss and
// a softened margin violation, sqrt(g exp(m)).
struct GeometricSurrogate {
  double value(double m, double g) const { return std::sqrt(g) * std::exp(0.5 * m); }
  double derivative_m(double m, double g) const { return 0.5 * value(m, g); }
  double derivative_g(double m, double g) const { return 0.5 * value(m, g) / g; }
};
static_assert(Surrogate<GeometricSurrogate> && !AffineSurrogate<GeometricSurrogate>);

// What an exact oracle would have answered is known to nobody, so no search may promise a bound.
TEST(EverySearch, promises_no_bound_where_the_oracle_met_its_limit) {
  Random random(12);
  const std::uint32_t K = 9;
  const std::vector<std::uint8_t> truth(K, 0);
  int limited = 0;
  for (int round = 0; round < 50; ++round) {
    FieldWorkspace workspace;
    workspace.unary.resize(K);
    workspace.interactions.resize(K * K, 0.0);
    for (std::uint32_t k = 0; k < K; ++k) {
      workspace.unary[k] = random.normal();
      for (std::uint32_t l = 0; l < k; ++l) {
        workspace.interactions[k * K + l] = workspace.interactions[l * K + k] = random.normal();
      }
    }
    const auto expect_bound = [&](const auto& search, const auto& psi) {
      const auto answer = [&](std::int64_t max_nodes, bool& is_exact) {
        FieldWorkspace fresh = workspace;
        LabelCache<LabelVector> cache;
        const FieldOracle oracle(fresh, truth, {.max_nodes = max_nodes, .max_tabulated = 0});
        const auto result = search(oracle, psi, cache);
        is_exact = oracle.is_exact();
        return result;
      };
      bool is_exact = false;
      const auto exact = answer(100000, is_exact);
      EXPECT_TRUE(is_exact);
      EXPECT_TRUE(std::isfinite(exact.upper_bound));
      const auto rough = answer(1, is_exact);
      EXPECT_EQ(std::isfinite(rough.upper_bound), is_exact);
      limited += is_exact ? 0 : 1;
    };
    expect_bound(MarginSearch{}, MarginRescaling{});
    expect_bound(ConvexHullSearch{}, SlackRescaling{});
    expect_bound(AngularSearch{}, SlackRescaling{});
    expect_bound(BisectingSearch{}, SlackRescaling{});
    expect_bound(BinarySearch{}, SlackRescaling{});
    expect_bound(SarawagiGuptaSearch{.slack = 1.0}, SlackRescaling{});
  }
  EXPECT_GT(limited, 100);
}

TEST(CustomSurrogate, is_searched_exactly_without_further_code) {
  Random random(20);
  for (int round = 0; round < 500; ++round) {
    const Labels labels = random_labels(random, 20, round % 2);
    check_integral(labels, GeometricSurrogate{});
    check_theorem_6(labels, GeometricSurrogate{});
  }
}

}  // namespace
}  // namespace margrove
