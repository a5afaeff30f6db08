// Weights that are read from a store when they are needed.
#include "data/stored_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "base/random.hpp"
#include "data/weight_matrix.hpp"
#include "files.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using testing::message_of;

/// Counts the bytes that are read.
class Memory final : public ByteStore {
 public:
  template <class T>
  std::uint64_t append(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return bytes_.size() - bytes.size();
  }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    num_read_ += out.size();
    ++num_calls_;
  }
  std::size_t num_read() const { return num_read_; }
  std::size_t num_calls() const { return num_calls_; }

 private:
  std::vector<std::byte> bytes_;
  mutable std::atomic<std::size_t> num_read_{0}, num_calls_{0};
};

struct Stored {
  std::shared_ptr<Memory> memory = std::make_shared<Memory>();
  std::shared_ptr<const StoredWeights> stored;
  WeightMatrix weights;
};

Stored dense(std::uint32_t num_features, std::uint32_t num_nodes,
             const std::vector<float>& values) {
  Stored stored;
  stored.memory->append(std::vector<float>(3));  // something before
  StoredWeights::Place place{.store = stored.memory, .tensor = "m: tensor w"};
  place.values = stored.memory->append(values);
  stored.stored = std::make_shared<StoredWeights>(std::move(place), num_features, num_nodes);
  stored.weights = WeightMatrix::stored(stored.stored);
  return stored;
}

Stored sparse(std::uint32_t num_nodes, const std::vector<std::int64_t>& pointers,
              const std::vector<FeatureId>& nodes, const std::vector<float>& values) {
  Stored stored;
  StoredWeights::Place place{.store = stored.memory, .tensor = "m: tensor w"};
  place.nodes = stored.memory->append(nodes);
  place.values = stored.memory->append(values);
  stored.stored = std::make_shared<StoredWeights>(std::move(place), pointers, num_nodes);
  stored.weights = WeightMatrix::stored(stored.stored);
  return stored;
}

Stored like(const WeightMatrix& W) {
  if (W.is_dense()) {
    const auto values = W.dense_values();
    return dense(W.num_features(), W.num_nodes(), {values.begin(), values.end()});
  }
  const CsrView rows = W.sparse_values();
  return sparse(W.num_nodes(), {rows.row_pointers().begin(), rows.row_pointers().end()},
                {rows.columns().begin(), rows.columns().end()},
                {rows.values().begin(), rows.values().end()});
}

WeightMatrix random_weights(bool is_dense, int num_features = 40, FeatureId num_nodes = 70) {
  Random random(4);
  CsrMatrix rows(num_nodes);
  for (int j = 0; j < num_features; ++j) {
    std::vector<FeatureId> nodes;
    std::vector<float> values;
    for (FeatureId n = 0; n < num_nodes; ++n) {
      if (!is_dense && random.uniform() < 0.8) continue;
      nodes.push_back(n);
      values.push_back(static_cast<float>(random.normal()));
    }
    rows.append_row(nodes, values);
  }
  return WeightMatrix::sparse(std::move(rows)).compacted();
}

TEST(StoredWeights, give_the_scores_of_weights_in_memory) {
  for (const bool is_dense : {false, true}) {
    const WeightMatrix W = random_weights(is_dense);
    ASSERT_EQ(W.is_dense(), is_dense);
    const WeightMatrix stored = like(W).weights;
    EXPECT_EQ(stored.is_dense(), is_dense);
    EXPECT_EQ(stored.num_bytes(), W.num_bytes());
    const std::vector<FeatureId> columns{3, 7, 38, 39, 50};
    const std::vector<float> a{1, 2, 3, 4, 5}, b{-1, 0.5F, 3, 0.25F, 1};
    const std::vector<SparseRow> rows{{columns, a}, {columns, b}};
    std::vector<float> expected(2 * 70), found(2 * 70);
    W.scores(rows, expected);
    stored.scores(rows, found);
    EXPECT_EQ(found, expected);
    W.scores(rows[0], std::span(expected).first(70));
    stored.scores(rows[0], std::span(found).first(70));
    EXPECT_EQ(found, expected);
    EXPECT_EQ(stored.at(7, 3), W.at(7, 3));
    EXPECT_EQ(stored.num_nonzeros(), W.num_nonzeros());
  }
}

TEST(StoredWeights, are_read_once_where_they_are_needed) {
  const Stored stored = dense(3, 2, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(stored.memory->num_read(), 0U);
  EXPECT_THAT(stored.weights.dense_row(1), ElementsAre(3, 4));
  EXPECT_EQ(stored.memory->num_read(), 2 * sizeof(float));
  const WeightMatrix copy = stored.weights;
  EXPECT_EQ(copy.at(1, 0), 3);
  EXPECT_EQ(stored.memory->num_read(), 2 * sizeof(float));
  EXPECT_THAT(copy.dense_values(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(stored.memory->num_read(), 6 * sizeof(float));
}

TEST(StoredWeights, are_read_once_by_many_threads) {
  const WeightMatrix W = random_weights(false);
  const Stored stored = like(W);
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (FeatureId k = 0; k < 40; ++k) {
        const FeatureId feature = t % 2 == 0 ? k : 39 - k;
        if (!std::ranges::equal(stored.weights.sparse_row(feature).values,
                                W.sparse_row(feature).values)) {
          ++num_wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
  const auto size = static_cast<std::size_t>(W.num_nonzeros());
  EXPECT_EQ(stored.memory->num_read(), size * (sizeof(float) + sizeof(FeatureId)));
}

struct Entry {
  std::uint32_t node;
  float weight;
  bool operator==(const Entry&) const = default;
};

template <class Rows>
std::vector<Entry> row_of(Rows& rows, FeatureId feature) {
  std::vector<Entry> row;
  rows.for_each_of(feature, [&](std::uint32_t n, float w) { row.push_back({n, w}); });
  return row;
}

TEST(StoredWeights, of_a_pass_are_those_in_memory_and_are_not_kept) {
  for (const bool is_dense : {false, true}) {
    // Several blocks, and rows that no block of full size holds.
    for (const auto& [num_features, num_nodes] : {std::pair{700, 2000U}, std::pair{3, 300'000U}}) {
      const WeightMatrix W = random_weights(is_dense, num_features, num_nodes);
      const Stored stored = like(W);
      const auto size = static_cast<std::size_t>(W.is_dense() ? W.dense_values().size()
                                                              : W.sparse_values().values().size());
      const std::size_t bytes = size * (is_dense ? 4 : 8);
      for (const std::size_t times : {1U, 2U}) {
        WeightPass pass(stored.weights);
        for (FeatureId j = 0; j < W.num_features(); ++j) ASSERT_EQ(row_of(pass, j), row_of(W, j));
        EXPECT_EQ(row_of(pass, W.num_features()), std::vector<Entry>{});
        EXPECT_EQ(stored.memory->num_read(), times * bytes);
      }
      EXPECT_EQ(stored.weights.num_nonzeros(), W.num_nonzeros());
    }
  }
}

TEST(StoredWeights, of_a_pass_are_read_in_blocks_and_not_again_if_they_are_in_memory) {
  const WeightMatrix W = random_weights(false);
  const Stored stored = like(W);
  WeightPass pass(stored.weights);
  for (FeatureId j = 0; j < 40; ++j) row_of(pass, j);
  EXPECT_EQ(stored.memory->num_calls(), 2U);  // values and nodes
  stored.weights.at(7, 0);
  EXPECT_EQ(stored.memory->num_calls(), 4U);
  WeightPass second(stored.weights);
  EXPECT_EQ(row_of(second, 7), row_of(W, 7));
  EXPECT_EQ(stored.memory->num_calls(), 4U);
  for (FeatureId j = 20; j-- > 0;) EXPECT_EQ(row_of(second, j), row_of(W, j));  // any order
}

TEST(StoredWeights, are_all_read_in_blocks_around_those_in_memory) {
  for (const bool is_dense : {false, true}) {
    const WeightMatrix W = random_weights(is_dense, 700, 1000);
    const Stored stored = like(W);
    for (const FeatureId j : {0U, 5U, 6U, 699U}) stored.weights.at(j, 0);
    const std::size_t calls = stored.memory->num_calls();
    if (is_dense) {
      EXPECT_TRUE(std::ranges::equal(stored.weights.dense_values(), W.dense_values()));
    } else {
      EXPECT_TRUE(
          std::ranges::equal(stored.weights.sparse_values().values(), W.sparse_values().values()));
      EXPECT_TRUE(std::ranges::equal(stored.weights.sparse_values().columns(),
                                     W.sparse_values().columns()));
    }
    EXPECT_LT(stored.memory->num_calls() - calls, 10U);
    EXPECT_EQ(stored.memory->num_read(),
              is_dense ? 4 * W.dense_values().size() : 8 * W.sparse_values().values().size());
  }
}

TEST(StoredWeights, that_are_checked_are_not_kept) {
  for (const bool is_dense : {false, true}) {
    const Stored stored = like(random_weights(is_dense));
    StoredWeights::check(stored.stored);
    const std::size_t all = stored.memory->num_read();
    EXPECT_EQ(all, (is_dense ? 4 : 8) * stored.stored->num_values());
    EXPECT_EQ(stored.memory->num_calls(), is_dense ? 1U : 2U);
    stored.weights.at(0, 0);
    EXPECT_GT(stored.memory->num_read(), all);
  }
}

TEST(StoredWeights, that_are_wrong_throw_at_the_feature_that_has_them) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto message = [](const Stored& stored) {
    EXPECT_NO_THROW(stored.weights.at(0, 0));
    const std::string first = message_of<ModelFileError>([&] { stored.weights.at(1, 0); });
    EXPECT_EQ(message_of<ModelFileError>([&] { stored.weights.at(1, 1); }),
              first);  // again
    const WeightMatrix& W = stored.weights;
    EXPECT_EQ(message_of<ModelFileError>(
                  [&] { W.is_dense() ? (void)W.dense_values() : (void)W.sparse_values(); }),
              first);
    EXPECT_EQ(message_of<ModelFileError>([&] { StoredWeights::check(stored.stored); }), first);
    WeightPass pass(W);
    EXPECT_NO_THROW(row_of(pass, 0));
    EXPECT_EQ(message_of<ModelFileError>([&] { row_of(pass, 1); }), first);
    return first;
  };
  EXPECT_EQ(message(dense(2, 2, {1, 2, 3, kNan})),
            "m: tensor w: weight 1 of feature 1 must be a finite number");
  EXPECT_EQ(message(sparse(3, {0, 1, 3}, {0, 1, 2}, {1, kNan, 2})),
            "m: tensor w: weight 0 of feature 1 must be a finite number");
  EXPECT_EQ(message(sparse(3, {0, 1, 3}, {0, 1, 3}, {1, 2, 3})),
            "m: tensor w: weight 1 of feature 1 is of a node that does not exist");
  EXPECT_EQ(message(sparse(3, {0, 1, 3}, {0, 2, 2}, {1, 2, 3})),
            "m: tensor w: weight 1 of feature 1 is not in the order of the nodes");
}

}  // namespace
}  // namespace margrove
