#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "margrove/errors.hpp"
#include "margrove/surrogates.hpp"

namespace margrove {
namespace {

struct Point {
  double m, g, value;
};

/// Six digits, as the rounding errors of differences are no news.
std::string brief(double number) { return fmt::format("{:.6g}", number); }

/// Checks the functions on a grid. Its numbers are not round, so that kinks do not lie on it.
class Check {
 public:
  explicit Check(const CustomSurrogate::Functions& functions) : psi_(functions) {
    constexpr std::array kGrid{-8.71, -4.37, -2.23, -1.31, -0.73, -0.31, -0.07,
                               0.09,  0.37,  0.83,  1.43,  2.57,  4.61,  8.93};
    constexpr std::array kLosses{0.13, 0.29, 0.61, 1.07, 1.93, 3.19, 5.41, 8.67};
    for (const double g : kLosses) {
      for (const double m : kGrid) {
        if (is_in_domain(m, g)) points_.push_back({m, g, value(m, g)});
      }
    }
    // Where there is no in_domain, values say what it holds.
    if (!psi_.in_domain) std::erase_if(points_, [](const Point& p) { return !(p.value >= 0); });
    require<InvalidOption>(!points_.empty(),
                           "surrogate: its domain holds no point with m from -9 to 9 and g from .1 "
                           "to 9");
  }

  void run() const {
    for (const Point& p : points_) {
      check_derivatives(p);
      if (psi_.slope) check_slope(p);
    }
    for (std::size_t a = 0; a < points_.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) check_between(points_[a], points_[b]);
    }
  }

 private:
  bool is_in_domain(double m, double g) const { return !psi_.in_domain || psi_.in_domain(m, g); }

  static double finite(double number, const char* name, double m, double g) {
    require<InvalidOption>(std::isfinite(number), "surrogate: ", name, " at m = ", m, ", g = ", g,
                           " is ", number, ", but must be finite where in_domain is not false");
    return number;
  }
  double value(double m, double g) const { return finite(psi_.value(m, g), "value", m, g); }

  static double tolerance_at(double number) { return 1e-9 * (1 + std::abs(number)); }

  void check_derivatives(const Point& p) const {
    constexpr double kStep = 1e-5;
    const double by_m = finite(psi_.derivative_m(p.m, p.g), "derivative_m", p.m, p.g);
    const double by_g = finite(psi_.derivative_g(p.m, p.g), "derivative_g", p.m, p.g);
    const auto difference = [&](double m, double g) {
      return (value(p.m + m, p.g + g) - value(p.m - m, p.g - g)) / (2 * kStep);
    };
    check_derivative(p, "derivative_m", by_m, difference(kStep, 0));
    check_derivative(p, "derivative_g", by_g, difference(0, kStep));
  }

  static void check_derivative(const Point& p, const char* name, double given, double expected) {
    constexpr double kError = 1e-4;
    require<InvalidOption>(std::abs(given - expected) <= kError * (1 + std::abs(expected)),
                           "surrogate: ", name, " at m = ", p.m, ", g = ", p.g, " is ",
                           brief(given), ", but difference quotients of value are ",
                           brief(expected));
    require<InvalidOption>(given >= -kError, "surrogate: ", name, " at m = ", p.m, ", g = ", p.g,
                           " is ", given, ", but value must increase with m and with g");
  }

  void check_slope(const Point& p) const {
    const double affine = finite(psi_.slope(p.g), "slope", p.m, p.g) * p.m +
                          finite(psi_.offset(p.g), "offset", p.m, p.g);
    require<InvalidOption>(std::abs(affine - p.value) <= tolerance_at(p.value),
                           "surrogate: slope(g) m + offset(g) at m = ", p.m, ", g = ", p.g, " is ",
                           affine, ", but value is ", p.value);
  }

  void check_between(const Point& a, const Point& b) const {
    const double m = (a.m + b.m) / 2, g = (a.g + b.g) / 2;
    if (!is_in_domain(m, g)) return;
    const double between = value(m, g), low = std::min(a.value, b.value);
    require<InvalidOption>(between >= low - tolerance_at(low), "surrogate: value at m = ", m,
                           ", g = ", g, " is ", between, ", but must be at least ", low,
                           ", the smaller one of the values at (", a.m, ", ", a.g, ") and (", b.m,
                           ", ", b.g, "): it must be quasi-concave");
    if (a.g != b.g || !psi_.is_convex) return;
    const double mean = (a.value + b.value) / 2;
    require<InvalidOption>(between <= mean + tolerance_at(mean), "surrogate: value at m = ", m,
                           ", g = ", g, " is ", between, ", but must be at most ", mean,
                           ": is_convex says that it is convex in m");
  }

  const CustomSurrogate::Functions& psi_;
  std::vector<Point> points_;
};

}  // namespace

CustomSurrogate::CustomSurrogate(Functions functions)
    : functions_(std::make_shared<const Functions>(std::move(functions))) {
  require<InvalidOption>(functions_->value && functions_->derivative_m && functions_->derivative_g,
                         "surrogate: it must have value, derivative_m and derivative_g");
  require<InvalidOption>((functions_->slope == nullptr) == (functions_->offset == nullptr),
                         "surrogate: it has one of slope and offset, but must have both or none");
  Check(*functions_).run();
}

}  // namespace margrove
