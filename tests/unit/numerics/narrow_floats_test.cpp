#include "numerics/narrow_floats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

float random_float(Random& random) {
  return static_cast<float>(random.normal() * std::pow(2.0, 40 * random.uniform() - 20));
}

TEST(BFloat16, what_it_can_hold_comes_back) {
  for (const float x : {0.0F, -0.0F, 1.0F, -1.5F, 0.0078125F, 3e38F}) {
    const float once = wide(narrow(x));
    EXPECT_EQ(wide(narrow(once)), once);
    EXPECT_EQ(std::signbit(once), std::signbit(x));
  }
  EXPECT_EQ(wide(narrow(1.0078125F)), 1.0078125F);
}

TEST(BFloat16, rounding_is_to_the_nearest) {
  Random random(1);
  for (int trial = 0; trial < 10000; ++trial) {
    const float x = random_float(random);
    const float rounded = wide(narrow(x));
    EXPECT_LE(std::abs(rounded - x), std::abs(x) / 256) << x;
    const auto bits = narrow(x).bits;
    for (const int step : {-1, 1}) {
      const float other = wide({static_cast<std::uint16_t>(bits + step)});
      EXPECT_LE(std::abs(rounded - x), std::abs(other - x)) << x;
    }
  }
}

TEST(BFloat16, two_halves_lose_nothing) {
  Random random(2);
  for (int trial = 0; trial < 10000; ++trial) {
    const float x = random_float(random);
    BFloat16 high, low;
    split(x, high, low);
    EXPECT_EQ(join(high, low), x);
  }
}

TEST(Float8, numbers_up_to_the_largest_come_back_to_a_sixteenth) {
  Random random(3);
  for (int trial = 0; trial < 10000; ++trial) {
    const float largest = std::abs(random_float(random)) + 1e-12F;
    const std::int32_t base = float8_base(largest);
    const auto x = static_cast<float>(largest * std::pow(2.0, -31.5 * random.uniform()));
    EXPECT_LE(std::abs(decode(encode(x, base), base) - x), x / 16) << x << " of " << largest;
    EXPECT_EQ(encode(2 * largest, base).bits, 255);
  }
}

TEST(Float8, zero_and_what_is_next_to_it_are_zero) {
  const std::int32_t base = float8_base(1.0F);
  EXPECT_EQ(decode(encode(0.0F, base), base), 0.0F);
  EXPECT_EQ(decode(encode(1e-12F, base), base), 0.0F);
  EXPECT_EQ(decode(encode(1.0F, base), base), 1.0F);
}

}  // namespace
}  // namespace margrove::detail
