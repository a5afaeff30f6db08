#include "model/weight_compression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.hpp"
#include "files.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
using ::testing::HasSubstr;
using testing::message_of;

constexpr std::array kPrecisions{WeightPrecision::float32, WeightPrecision::bfloat16,
                                 WeightPrecision::int8};

/// About `density` of the weights are not zero.
WeightMatrix random_weights(std::uint32_t num_features, std::uint32_t num_nodes, double density,
                            std::uint64_t seed) {
  Random random(seed);
  WeightMatrix W = WeightMatrix::dense(num_features, num_nodes);
  for (float& w : W.dense_values()) {
    const double size = std::exp(6 * random.uniform() - 3);
    const double drawn = random.uniform();
    if (drawn < density) w = static_cast<float>(drawn < density / 2 ? size : -size);
  }
  return W.compacted();
}

std::vector<float> values_of(const WeightMatrix& W) {
  std::vector<float> values;
  for (FeatureId j = 0; j < W.num_features(); ++j) {
    for (std::uint32_t n = 0; n < W.num_nodes(); ++n) values.push_back(W.at(j, n));
  }
  return values;
}

WeightMatrix matrix(std::uint32_t num_features, std::uint32_t num_nodes,
                    std::vector<float> values) {
  return WeightMatrix::dense(num_features, num_nodes, std::move(values));
}

TEST(WeightCompression, keeps_the_largest_weights_and_all_intercepts) {
  const WeightMatrix W = matrix(3, 3, {1, -5, 0, 3, 4, -2, 0.1F, 0, -0.2F});
  const WeightCompression half{.keep = 0.5, .precision = WeightPrecision::float32};
  // Three of the five weights of the first two features.
  EXPECT_THAT(values_of(compressed(W, true, half)),
              ::testing::ElementsAre(0, -5, 0, 3, 4, 0, 0.1F, 0, -0.2F));
  // Four of seven, where the intercepts are weights like the others.
  EXPECT_THAT(values_of(compressed(W, false, half)),
              ::testing::ElementsAre(0, -5, 0, 3, 4, -2, 0, 0, 0));
}

TEST(WeightCompression, keeps_all_that_are_as_large_as_the_smallest_kept) {
  const WeightMatrix W = matrix(1, 5, {1, -2, 2, 2, 3});
  const WeightCompression two{.keep = 0.4, .precision = WeightPrecision::float32};
  EXPECT_THAT(values_of(compressed(W, false, two)), ::testing::ElementsAre(0, -2, 2, 2, 3));
}

TEST(WeightCompression, keeps_the_share_of_random_weights) {
  for (const double density : {0.02, 0.9}) {
    const WeightMatrix W = random_weights(60, 300, density, 3);
    for (const double keep : {1.0, 0.5, 0.1, 0.001}) {
      const WeightMatrix kept = compressed(W, false, {keep, WeightPrecision::float32});
      const double wanted = std::ceil(keep * static_cast<double>(W.num_nonzeros()));
      EXPECT_EQ(static_cast<double>(kept.num_nonzeros()), wanted) << keep;
      float smallest_kept = std::numeric_limits<float>::infinity(), largest_left_out = 0;
      for (FeatureId j = 0; j < 60; ++j) {
        for (std::uint32_t n = 0; n < 300; ++n) {
          const float before = W.at(j, n), after = kept.at(j, n);
          if (after != 0) {
            EXPECT_EQ(after, before);
            smallest_kept = std::min(smallest_kept, std::abs(after));
          } else {
            largest_left_out = std::max(largest_left_out, std::abs(before));
          }
        }
      }
      EXPECT_LE(largest_left_out, smallest_kept);
    }
  }
}

/// The number of weights that are kept, by sorting.
std::size_t num_kept(std::vector<float> values, double keep) {
  std::erase(values, 0.0F);
  const auto wanted =
      static_cast<std::ptrdiff_t>(std::ceil(keep * static_cast<double>(values.size())));
  if (wanted == 0) return 0;
  for (float& value : values) value = std::abs(value);
  const auto last = values.begin() + wanted - 1;
  std::nth_element(values.begin(), last, values.end(), std::greater<>());
  return static_cast<std::size_t>(
      std::ranges::count_if(values, [&](float value) { return value >= *last; }));
}

TEST(WeightCompression, keeps_those_that_sorting_would_keep) {
  const auto of = [](int kind, Random& random) {
    const double drawn = random.normal();
    switch (kind) {
      case 0:
        return static_cast<float>(drawn);
      case 1:  // many ties and zeros
        return static_cast<float>(std::round(2 * drawn));
      case 2:  // of the same upper half of the bits
        return 1 + static_cast<float>(random.below(100)) * 1e-5F;
      case 3:  // of any size
        return static_cast<float>(std::exp(25 * drawn) * (drawn < 0 ? -1 : 1));
      default:
        return 0.0F;
    }
  };
  Random random(11);
  for (int kind = 0; kind < 5; ++kind) {
    std::vector<float> values(30 * 40);
    for (float& value : values) value = of(kind, random);
    const WeightMatrix W = matrix(30, 40, values);
    for (const double keep : {1.0, 0.9999, 0.7, 0.35, 0.05, 0.01, 1e-9}) {
      const WeightMatrix kept = compressed(W, false, {keep, WeightPrecision::float32});
      EXPECT_EQ(static_cast<std::size_t>(kept.num_nonzeros()), num_kept(values, keep))
          << kind << ' ' << keep;
    }
  }
}

TEST(WeightCompression, is_in_the_smaller_storage) {
  for (const double density : {0.02, 0.4, 0.9}) {
    for (const double keep : {1.0, 0.55, 0.1}) {
      for (const WeightPrecision precision : kPrecisions) {
        const WeightMatrix small =
            compressed(random_weights(60, 300, density, 3), true, {keep, precision});
        EXPECT_EQ(small.is_dense(), small.compacted().is_dense()) << density << ' ' << keep;
        TensorMap tensors;
        save_packed(tensors, "w", small, true, precision);
        EXPECT_EQ(load_packed(tensors, "w", 300, true).weights.is_dense(), small.is_dense());
      }
    }
  }
}

TEST(WeightCompression, rounds_to_the_nearest_that_the_precision_has) {
  const WeightMatrix W = random_weights(40, 100, 0.7, 5);
  const WeightMatrix halves = compressed(W, false, {1, WeightPrecision::bfloat16});
  const WeightMatrix bytes = compressed(W, false, {1, WeightPrecision::int8});
  for (FeatureId j = 0; j < 40; ++j) {
    float largest = 0;
    for (std::uint32_t n = 0; n < 100; ++n) largest = std::max(largest, std::abs(W.at(j, n)));
    for (std::uint32_t n = 0; n < 100; ++n) {
      const float w = W.at(j, n);
      EXPECT_LE(std::abs(halves.at(j, n) - w), std::abs(w) / 256);
      EXPECT_LE(std::abs(bytes.at(j, n) - w), 0.5001F * largest / 127);
    }
  }
}

TEST(WeightCompression, changes_nothing_the_second_time) {
  for (const WeightPrecision precision : kPrecisions) {
    const WeightMatrix once = compressed(random_weights(50, 80, 0.3, 7), true, {0.3, precision});
    EXPECT_EQ(values_of(compressed(once, true, {1, precision})), values_of(once));
  }
}

TEST(WeightCompression, a_share_outside_of_its_range_throws) {
  const WeightMatrix W = matrix(1, 1, {1});
  for (const double keep : {0.0, -1.0, 1.01, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(message_of<InvalidOption>([&] { compressed(W, false, {.keep = keep}); }),
                HasSubstr("but must be in (0, 1]"));
  }
}

TEST(WeightCompression, what_is_saved_reads_back_equal) {
  struct Shape {
    std::uint32_t features, nodes;
    double density;
  };
  for (const auto& [features, nodes, density] :
       {Shape{1, 1, 1}, Shape{1, 1, 0}, Shape{30, 70, 0.5}, Shape{5, 40000, 0.001},
        Shape{3, 200000, 0.00005}, Shape{20, 10, 1}}) {
    for (const WeightPrecision precision : kPrecisions) {
      for (const bool has_intercepts : {false, true}) {
        const WeightMatrix W = compressed(random_weights(features, nodes, density, features),
                                          has_intercepts, {1, precision});
        TensorMap tensors;
        save_packed(tensors, "w", W, has_intercepts, precision);
        ASSERT_TRUE(has_packed(tensors, "w"));
        const PackedWeights read = load_packed(tensors, "w", nodes, has_intercepts);
        EXPECT_EQ(read.precision, precision);
        EXPECT_EQ(values_of(read.weights), values_of(W)) << features << " x " << nodes;
      }
    }
  }
}

TEST(WeightCompression, very_small_and_very_large_weights_stay_finite) {
  const float least = std::numeric_limits<float>::denorm_min();
  const WeightMatrix W = matrix(2, 2, {least, -least, 1e38F, -2e38F});
  for (const WeightPrecision precision : kPrecisions) {
    for (const float w : values_of(compressed(W, false, {1, precision}))) {
      EXPECT_TRUE(std::isfinite(w));
    }
  }
}

/// Three features of four nodes as int8, with one part replaced.
template <class T>
std::string message_with(const std::string& part, const std::vector<T>& values) {
  TensorMap tensors("f");
  save_packed(tensors, "w", matrix(3, 4, {1, 0, 2, 0, 0, 0, 0, 3, 1, 1, 1, 1}), true,
              WeightPrecision::int8);
  tensors.put<T>("w.packed." + part, std::span<const T>(values));
  return message_of<std::runtime_error>([&] { load_packed(tensors, "w", 4, true); });
}

TEST(WeightCompression, damaged_parts_throw) {
  EXPECT_EQ(message_with<std::uint32_t>("counts", {2, 2}),
            "f: tensor w.packed.counts add up to 4, but there are 3 values");
  EXPECT_EQ(message_with<std::uint8_t>("gaps", {0, 1}),
            "f: tensor w.packed.gaps: no node of the model at byte 2");
  EXPECT_EQ(message_with<std::uint8_t>("gaps", {0, 1, 4}),
            "f: tensor w.packed.gaps: no node of the model at byte 3");
  EXPECT_EQ(message_with<std::uint8_t>("gaps", {0, 1, 3, 0}),
            "f: tensor w.packed.gaps has 4 bytes, but its numbers end at byte 3");
  EXPECT_EQ(message_with<std::uint8_t>("gaps", {0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}),
            "f: tensor w.packed.gaps: no node of the model at byte 7");
  EXPECT_THAT(message_with<std::int8_t>("values", {1, 2}), HasSubstr("add up to 3"));
  EXPECT_THAT(message_with<float>("values", {1, 2, 3}), HasSubstr("dtype F32, but must have I8"));
  EXPECT_THAT(message_with<float>("steps", {1}), HasSubstr("has 1 entries along axis 0"));
  EXPECT_EQ(message_with<float>("steps", {std::numeric_limits<float>::infinity(), 1}),
            "f: tensor w.packed: weights must be finite numbers");
  EXPECT_EQ(message_with<float>("intercepts", {1, std::numeric_limits<float>::quiet_NaN(), 0, 0}),
            "f: tensor w.packed: weights must be finite numbers");
  EXPECT_THAT(message_with<float>("intercepts", {1}), HasSubstr("has 1 entries along axis 0"));
}

TEST(WeightCompression, an_unknown_precision_throws) {
  TensorMap tensors("f");
  save_packed(tensors, "w", matrix(1, 1, {1}), false, WeightPrecision::int8);
  tensors.put_text("w.packed", "int3");
  EXPECT_EQ(message_of<ModelFileError>([&] { load_packed(tensors, "w", 1, false); }),
            "f: metadata w.packed is 'int3', which is not known");
}

}  // namespace
}  // namespace margrove
