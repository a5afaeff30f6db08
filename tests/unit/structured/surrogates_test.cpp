#include "margrove/surrogates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "margrove/errors.hpp"
#include "structured/surrogate.hpp"

namespace margrove {
namespace {

/// Those of psi.
template <class S>
CustomSurrogate::Functions functions_of(const S& psi) {
  CustomSurrogate::Functions functions;
  functions.value = [psi](double m, double g) { return psi.value(m, g); };
  functions.derivative_m = [psi](double m, double g) { return psi.derivative_m(m, g); };
  functions.derivative_g = [psi](double m, double g) { return psi.derivative_g(m, g); };
  if constexpr (AffineSurrogate<S>) {
    functions.slope = [psi](double g) { return psi.slope(g); };
    functions.offset = [psi](double g) { return psi.offset(g); };
  }
  if constexpr (requires { psi.in_domain(0.0, 0.0); }) {
    functions.in_domain = [psi](double m, double g) { return psi.in_domain(m, g); };
  }
  return functions;
}

std::vector<AnySurrogate> all_surrogates() {
  return {MarginRescaling{},
          SlackRescaling{},
          GeneralisedScaling(0.5, 1.25),
          GeneralisedScaling::of_beta(0.25),
          GeneralisedScaling::of_beta(0.75),
          GeneralisedScaling(1.5, 1.5),
          LossScaledLog{},
          ProbLoss{},
          ConvexProbLoss{},
          MicroF1{},
          CustomSurrogate(functions_of(SlackRescaling{}))};
}

double number(double low, double high) {
  return low + (high - low) * 1e-6 * static_cast<double>(*rc::gen::inRange(0, 1000001));
}

// A point of the surrogate's plane: g > 0, but for Micro-F1, where g < 0.
struct Point {
  double m, g;
};
template <class S>
Point draw(const S&) {
  const double g = number(0.05, 12.0);
  if constexpr (std::same_as<S, MicroF1>) return {number(-10, 10), -g};
  return {number(-10, 10), g};
}

RC_GTEST_PROP(Surrogates, increase_in_both_arguments_where_not_negative, ()) {
  for (const auto& any : all_surrogates()) {
    std::visit(
        [](const auto& psi) {
          const Point p = draw(psi);
          const double value = psi.value(p.m, p.g);
          if (value < 0) return;
          const double step = number(0, 2);
          const double tolerance = 1e-12 * (1 + value);
          RC_ASSERT(psi.value(p.m + step, p.g) >= value - tolerance);
          if (p.g < 0 && p.g + step >= 0) return;  // Micro-F1 ends at g = 0
          RC_ASSERT(psi.value(p.m, p.g + step) >= value - tolerance);
        },
        any);
  }
}

RC_GTEST_PROP(Surrogates, are_quasi_concave_where_not_negative, ()) {
  for (const auto& any : all_surrogates()) {
    std::visit(
        [](const auto& psi) {
          const Point a = draw(psi), b = draw(psi);
          const double low = std::min(psi.value(a.m, a.g), psi.value(b.m, b.g));
          if (low < 0) return;
          const double t = number(0, 1);
          RC_ASSERT(psi.value(a.m + t * (b.m - a.m), a.g + t * (b.g - a.g)) >=
                    low - 1e-12 * (1 + low));
        },
        any);
  }
}

RC_GTEST_PROP(Surrogates, domain_holds_what_is_not_negative_and_is_quasi_concave, ()) {
  for (const auto& any : all_surrogates()) {
    std::visit(
        [](const auto& psi) {
          if constexpr (requires { psi.in_domain(0.0, 0.0); }) {
            const Point a = draw(psi), b = draw(psi);
            if (psi.value(a.m, a.g) >= 0) RC_ASSERT(psi.in_domain(a.m, a.g));
            if (!psi.in_domain(a.m, a.g) || !psi.in_domain(b.m, b.g)) return;
            const double t = number(0, 1);
            const double low = std::min(psi.value(a.m, a.g), psi.value(b.m, b.g));
            RC_ASSERT(psi.value(a.m + t * (b.m - a.m), a.g + t * (b.g - a.g)) >=
                      low - 1e-12 * (1 + std::abs(low)));
          }
        },
        any);
  }
}

RC_GTEST_PROP(Surrogates, derivatives_equal_difference_quotients, ()) {
  for (const auto& any : all_surrogates()) {
    std::visit(
        [](const auto& psi) {
          Point p = draw(psi);
          if (std::abs(p.g) < 0.2) p.g = p.g < 0 ? -0.2 : 0.2;
          if (std::abs(p.m) < 1e-3) p.m = 0.01;  // the convex extension's second derivative jumps
          const double e = 1e-5;
          const double by_m = (psi.value(p.m + e, p.g) - psi.value(p.m - e, p.g)) / (2 * e);
          const double by_g = (psi.value(p.m, p.g + e) - psi.value(p.m, p.g - e)) / (2 * e);
          const double scale = 1e-4 * (1 + std::abs(by_m) + std::abs(by_g));
          RC_ASSERT(std::abs(psi.derivative_m(p.m, p.g) - by_m) < scale);
          RC_ASSERT(std::abs(psi.derivative_g(p.m, p.g) - by_g) < scale);
        },
        any);
  }
}

RC_GTEST_PROP(Surrogates, affine_ones_are_slope_times_m_plus_offset, ()) {
  for (const auto& any : all_surrogates()) {
    std::visit(
        [](const auto& psi) {
          if constexpr (AffineSurrogate<std::decay_t<decltype(psi)>>) {
            const Point p = draw(psi);
            const double value = psi.value(p.m, p.g);
            RC_ASSERT(std::abs(psi.slope(p.g) * p.m + psi.offset(p.g) - value) <
                      1e-12 * (1 + std::abs(value)));
          }
        },
        any);
  }
}

RC_GTEST_PROP(Surrogates, bound_the_task_loss_from_above_where_y_scores_as_high_as_truth, ()) {
  const double m = number(0, 10), g = number(0.05, 12);
  for (const auto& any : all_surrogates()) {
    std::visit(
        [&](const auto& psi) {
          using S = std::decay_t<decltype(psi)>;
          if constexpr (std::same_as<S, LossScaledLog>) {
            RC_ASSERT(psi.value(m, g) >= g * std::log(2.0) - 1e-12);
          } else if constexpr (!std::same_as<S, MicroF1> && !std::same_as<S, GeneralisedScaling>) {
            RC_ASSERT(psi.value(m, g) >= g - 1e-12);
          }
        },
        any);
  }
}

TEST(Surrogates, special_cases_coincide) {
  for (const double m : {-2.0, -0.5, 0.0, 3.0}) {
    for (const double g : {0.5, 1.0, 4.0}) {
      EXPECT_DOUBLE_EQ(GeneralisedScaling::of_beta(0).value(m, g), MarginRescaling{}.value(m, g));
      EXPECT_DOUBLE_EQ(GeneralisedScaling::of_beta(1).value(m, g), SlackRescaling{}.value(m, g));
    }
    // ProbLoss has slope sqrt(g) at m = 0 and value g there.
    EXPECT_DOUBLE_EQ(ProbLoss{}.value(0, 4), 4.0);
    EXPECT_DOUBLE_EQ(ProbLoss{}.derivative_m(0, 4), 2.0);
  }
  EXPECT_NEAR(ProbLoss{}.value(1.0, 1.0), 1.7899085945560627, 1e-12);  // 2 Phi(sqrt(pi/2))
  EXPECT_NEAR(LossScaledLog{}.value(0.0, 3.0), 3 * std::log(2.0), 1e-15);
  EXPECT_DOUBLE_EQ(MicroF1{}.value(2.0, -5.0), 0.4);
}

TEST(Surrogates, vanish_at_zero_loss) {
  EXPECT_EQ(LossScaledLog{}.value(2.0, 0.0), 0.0);
  EXPECT_EQ(ProbLoss{}.value(2.0, 0.0), 0.0);
  EXPECT_EQ(SlackRescaling{}.value(2.0, 0.0), 0.0);
  EXPECT_EQ(MicroF1{}.value(2.0, 0.0), 0.0);
}

TEST(Surrogates, outside_the_ranges_they_are_not_quasi_concave_or_increasing) {
  // a - beta = 2 (m g^0 + g^2): the middle of two points of equal value lies lower.
  const auto psi = [](double m, double g) { return m + g * g; };
  EXPECT_LT(psi(0.5 * (4 + 0), 0.5 * (0 + 2)), std::min(psi(4, 0), psi(0, 2)));
  // beta = -1 (m / g + g) falls in g at m > 0.
  const auto falls = [](double m, double g) { return m / g + g; };
  EXPECT_LT(falls(9, 2), falls(9, 1));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidOption& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Surrogates, parameters_out_of_range_throw) {
  EXPECT_EQ(message_of([] { GeneralisedScaling::of_beta(1.5); }),
            "beta scaling: beta is 1.5, but must be between 0 and 1");
  EXPECT_EQ(message_of([] { GeneralisedScaling(-1, 0); }),
            "generalised scaling: beta is -1, but must be >= 0");
  EXPECT_EQ(message_of([] { GeneralisedScaling(0.5, 2); }),
            "generalised scaling: a - beta is 1.5, but must be between 0 and 1");
}

TEST(Surrogates, names_go_there_and_back) {
  for (const auto* name : {"margin", "slack", "generalised:0.5,1.25", "beta:0.25", "log", "prob",
                           "prob-convex", "micro-f1", "normalized-difference"}) {
    EXPECT_EQ(AnySurrogate::parse(name).to_text(), name);
  }
  for (const auto* name : {"", "slac", "beta", "margin:1", "generalised:1"}) {
    EXPECT_EQ(message_of([&] { AnySurrogate::parse(name); }),
              concat("option surrogate is '", name,
                     "', but must be one of margin, slack, generalised:BETA,A, beta:BETA, log, "
                     "prob, prob-convex, micro-f1, normalized-difference"));
  }
}

TEST(CustomSurrogate, takes_the_functions_of_all_surrogates_that_increase_with_the_loss) {
  const auto expect_properties = [](const auto& psi, bool is_affine) {
    for (const bool is_convex : {false, true}) {
      CustomSurrogate::Functions functions = functions_of(psi);
      functions.is_convex = is_convex;
      const DynamicSurrogate custom{AnySurrogate(CustomSurrogate(functions))};
      EXPECT_EQ(custom.is_affine(), is_affine);
      EXPECT_EQ(custom.is_convex(), is_convex || is_affine);
      EXPECT_TRUE(custom.is_increasing());
      EXPECT_EQ(custom.any().to_text(), "custom");
      EXPECT_EQ(custom.value(0.5, 2), psi.value(0.5, 2));
      EXPECT_EQ(custom.derivative_m(0.5, 2), psi.derivative_m(0.5, 2));
      EXPECT_EQ(custom.derivative_g(0.5, 2), psi.derivative_g(0.5, 2));
    }
  };
  expect_properties(MarginRescaling{}, true);
  expect_properties(SlackRescaling{}, true);
  expect_properties(GeneralisedScaling::of_beta(0.5), true);
  expect_properties(GeneralisedScaling(1.5, 1.5), true);
  expect_properties(LossScaledLog{}, false);
  expect_properties(ConvexProbLoss{}, false);
  EXPECT_NO_THROW(CustomSurrogate(functions_of(ProbLoss{})));
}

TEST(CustomSurrogate, without_a_domain_has_the_properties_where_it_is_not_negative) {
  CustomSurrogate::Functions functions =
      functions_of(SlackRescaling{});  // decreases with g at m < -1
  functions.in_domain = {};
  EXPECT_NO_THROW(CustomSurrogate{functions});
  functions.in_domain = [](double, double) { return true; };
  EXPECT_THROW(CustomSurrogate{functions}, InvalidOption);
}

TEST(CustomSurrogate, functions_that_are_no_surrogate_are_errors) {
  const auto message = [](const auto& change) {
    CustomSurrogate::Functions functions = functions_of(LossScaledLog{});
    change(functions);
    return message_of([&] { CustomSurrogate{functions}; });
  };
  using F = CustomSurrogate::Functions;
  using ::testing::HasSubstr;
  EXPECT_EQ(message([](F& f) { f.value = {}; }),
            "surrogate: it must have value, derivative_m and derivative_g");
  EXPECT_EQ(message([](F& f) { f.slope = [](double g) { return g; }; }),
            "surrogate: it has one of slope and offset, but must have both or none");
  EXPECT_THAT(message([](F& f) { f.derivative_m = [](double, double g) { return g; }; }),
              HasSubstr("surrogate: derivative_m at m = -8.71, g = 0.13 is 0.13, but difference "
                        "quotients of value are 2.1"));
  EXPECT_THAT(message([](F& f) { f.derivative_g = [](double, double) { return 1.0; }; }),
              HasSubstr("surrogate: derivative_g at m = -8.71, g = 0.13 is 1, but"));
  EXPECT_THAT(message([](F& f) { f.value = [](double, double) { return NAN; }; }),
              HasSubstr("surrogate: value at m = -8.71, g = 0.13 is nan, but must be finite"));
  EXPECT_THAT(message([](F& f) {
                f.slope = [](double g) { return g; };
                f.offset = [](double g) { return g; };
              }),
              HasSubstr("surrogate: slope(g) m + offset(g) at m = -8.71, g = 0.13 is -1.0"));
  EXPECT_THAT(message([](F& f) { f.in_domain = [](double, double) { return false; }; }),
              HasSubstr("surrogate: its domain holds no point"));
  EXPECT_THAT(message([](F& f) { f.derivative_m = [](double, double) { return NAN; }; }),
              HasSubstr("surrogate: derivative_m at m = -8.71, g = 0.13 is nan"));
}

TEST(CustomSurrogate, wrong_shapes_are_errors) {
  CustomSurrogate::Functions falling;
  falling.value = [](double m, double g) { return m + 1 / (1 + g); };
  falling.derivative_m = [](double, double) { return 1.0; };
  falling.derivative_g = [](double, double g) { return -1 / ((1 + g) * (1 + g)); };
  EXPECT_THAT(message_of([&] { CustomSurrogate{falling}; }),
              ::testing::HasSubstr("but value must increase with m and with g"));
  CustomSurrogate::Functions squares;  // convex, and so not quasi-concave
  squares.value = [](double m, double g) { return m > 0 ? m * m + g * g : g * g; };
  squares.derivative_m = [](double m, double) { return m > 0 ? 2 * m : 0.0; };
  squares.derivative_g = [](double, double g) { return 2 * g; };
  EXPECT_THAT(message_of([&] { CustomSurrogate{squares}; }),
              ::testing::HasSubstr("it must be quasi-concave"));
  CustomSurrogate::Functions prob = functions_of(ProbLoss{});
  prob.is_convex = true;
  EXPECT_THAT(message_of([&] { CustomSurrogate{prob}; }),
              ::testing::HasSubstr("is_convex says that it is convex in m"));
}

}  // namespace
}  // namespace margrove
