#include "numerics/row_lists.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RowLists, rows_are_what_was_appended_between_their_ends) {
  RowLists lists;
  EXPECT_EQ(lists.size(), 0U);
  lists.items = {4, 2};
  lists.end_row();
  lists.end_row();
  lists.items.push_back(7);
  lists.end_row();
  ASSERT_EQ(lists.size(), 3U);
  EXPECT_THAT(lists[0], ElementsAre(4, 2));
  EXPECT_THAT(lists[1], IsEmpty());
  EXPECT_THAT(lists[2], ElementsAre(7));
  lists.append_row(std::vector<std::uint32_t>{4, 2});
  EXPECT_THAT(lists[3], ElementsAre(4, 2));
  lists.clear();
  EXPECT_EQ(lists.size(), 0U);
}

// The rows that hold each number.
RowLists inverse(const RowLists& lists, std::size_t num_keys) {
  RowLists result;
  result.items.resize(lists.items.size());
  const auto pairs = [&](const auto& visit) {
    for (std::uint32_t row = 0; row < lists.size(); ++row) {
      for (const auto key : lists[row]) visit(key, row);
    }
  };
  group_by_key(num_keys, pairs, result.pointers,
               [&](std::size_t place, std::uint32_t row) { result.items[place] = row; });
  return result;
}

TEST(GroupByKey, no_keys_and_no_entries) {
  EXPECT_EQ(inverse({}, 0).size(), 0U);
  const RowLists empty = inverse({}, 3);
  ASSERT_EQ(empty.size(), 3U);
  for (std::size_t key = 0; key < 3; ++key) EXPECT_THAT(empty[key], IsEmpty());
}

TEST(GroupByKey, the_inverse_holds_each_pair_once_and_in_order) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t num_keys = 1 + random.below(20);
    RowLists lists;
    for (std::size_t row = random.below(20); row > 0; --row) {
      for (std::size_t k = random.below(6); k > 0; --k) {
        lists.items.push_back(static_cast<std::uint32_t>(random.below(num_keys)));
      }
      lists.end_row();
    }
    const RowLists result = inverse(lists, num_keys);
    ASSERT_EQ(result.size(), num_keys);
    for (std::uint32_t key = 0; key < num_keys; ++key) {
      std::vector<std::uint32_t> expected;
      for (std::uint32_t row = 0; row < lists.size(); ++row) {
        for (const auto item : lists[row]) {
          if (item == key) expected.push_back(row);
        }
      }
      EXPECT_THAT(result[key], ::testing::ElementsAreArray(expected));
    }
  }
}

}  // namespace
}  // namespace margrove::detail
