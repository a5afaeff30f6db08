#include "kernel/indexed_map.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace margrove {
namespace {

/// A key that counts how often it is compared.
struct CountedKey {
  int value = 0;
  std::int64_t* comparisons = nullptr;
  bool operator==(const CountedKey& other) const {
    ++*comparisons;
    return value == other.value;
  }
};

}  // namespace
}  // namespace margrove

template <>
struct std::hash<margrove::CountedKey> {
  std::size_t operator()(const margrove::CountedKey& key) const {
    return std::hash<int>()(key.value);
  }
};

namespace margrove {
namespace {

template <class Key>
using Map = IndexedMap<Key, int, std::less<>, std::allocator<std::pair<const Key, int>>>;

TEST(IndexedMap, has_the_members_in_their_order_and_each_key_once) {
  Map<std::string> map;
  for (int k = 0; k < 40; ++k) {
    EXPECT_EQ(map.find(std::to_string(100 - k)), map.end());
    map[std::to_string(100 - k)] = k;
  }
  EXPECT_FALSE(map.emplace("100", 7).second);
  EXPECT_FALSE(map.emplace("61", 7).second);
  const Map<std::string> copy = map;
  ASSERT_EQ(copy.size(), 40U);
  EXPECT_EQ(copy.data()[3].first, "97");
  EXPECT_EQ(copy.find("61")->second, 39);
  EXPECT_EQ(copy.find("60"), copy.end());
}

TEST(IndexedMap, compares_a_key_with_few_others) {
  constexpr int kKeys = 2000;
  std::int64_t comparisons = 0;
  Map<CountedKey> map;
  for (int k = 0; k < kKeys; ++k) map[{k, &comparisons}] = k;
  for (int k = 0; k < kKeys; ++k) EXPECT_EQ(map.find({k, &comparisons})->second, k);
  EXPECT_LT(comparisons, 10 * kKeys);
}

}  // namespace
}  // namespace margrove
