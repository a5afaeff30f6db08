// The worked example of docs/adding_a_surrogate.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "structured/convex_hull.hpp"
#include "structured/enumeration.hpp"
#include "structured/surrogate.hpp"

namespace margrove {
namespace {

/// psi = max(0, m + 1)^2 g: slack rescaling whose slope grows with the violation.
struct SquaredSlack {
  double value(double m, double g) const { return hinge(m) * hinge(m) * g; }
  double derivative_m(double m, double g) const { return 2.0 * hinge(m) * g; }
  double derivative_g(double m, double) const { return hinge(m) * hinge(m); }
  bool in_domain(double m, double g) const { return m >= -1.0 && g >= 0.0; }

 private:
  static double hinge(double m) { return std::max(0.0, m + 1.0); }
};
static_assert(Surrogate<SquaredSlack>);
static_assert(!AffineSurrogate<SquaredSlack>);

TEST(SquaredSlack, derivatives_are_those_of_the_value) {
  const SquaredSlack psi;
  constexpr double h = 1e-6;
  for (const double m : {-0.9, -0.2, 0.0, 1.5}) {
    for (const double g : {0.5, 1.0, 4.0}) {
      EXPECT_NEAR(psi.derivative_m(m, g), (psi.value(m + h, g) - psi.value(m - h, g)) / (2 * h),
                  1e-4);
      EXPECT_NEAR(psi.derivative_g(m, g), (psi.value(m, g + h) - psi.value(m, g - h)) / (2 * h),
                  1e-4);
    }
  }
}

TEST(SquaredSlack, search_finds_what_enumeration_finds) {
  const SquaredSlack psi;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    std::vector<Candidate<int>> labellings{{0, 0.0, 0.0}};
    double best = 0;
    for (int y = 1; y < 12; ++y) {
      labellings.push_back({y, 2 * random.normal(), double(1 + random.below(5))});
      best = std::max(best, psi.value(labellings.back().m, labellings.back().g));
    }
    const EnumerationOracle<int> oracle(labellings, 0);
    LabelCache<int> cache;
    ConvexHullSearch search;
    search.max_bans = 100;
    const auto found = search(oracle, psi, cache);
    EXPECT_NEAR(found.value, best, 1e-9 * (1 + best)) << "seed " << seed;
    EXPECT_GE(found.upper_bound, best - 1e-9 * (1 + best));
  }
}

}  // namespace
}  // namespace margrove
