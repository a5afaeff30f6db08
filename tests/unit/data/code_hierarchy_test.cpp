#include "data/code_hierarchy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> edges(const std::vector<std::string>& codes) {
  const Hierarchy h = hierarchy_of_codes(codes, "f");
  std::vector<std::string> named;
  for (const auto& [parent, child] : h.edges) {
    named.push_back(h.codec.name(parent) + " -> " + h.codec.name(child));
  }
  return named;
}

TEST(CodeHierarchy, has_codes_below_codes_that_they_begin_with) {
  EXPECT_THAT(edges({"631.5", "6", "63", "9"}), ElementsAre("6 -> 63", "63 -> 631.5"));
}

TEST(CodeHierarchy, has_a_node_where_codes_part) {
  EXPECT_THAT(edges({"6312", "6315", "639"}),
              ElementsAre("63 -> 631", "631 -> 6312", "631 -> 6315", "63 -> 639"));
}

TEST(CodeHierarchy, cuts_punctuation_at_the_end_of_what_codes_share) {
  EXPECT_THAT(edges({"A01.1", "A01.2"}), ElementsAre("A01 -> A01.1", "A01 -> A01.2"));
  EXPECT_THAT(edges({"A01", "A01.1", "A01.2"}), ElementsAre("A01 -> A01.1", "A01 -> A01.2"));
  EXPECT_THAT(edges({"-1", "-2"}), IsEmpty());
}

TEST(CodeHierarchy, cuts_between_characters) {
  EXPECT_THAT(edges({"x\u00e4", "x\u00f6"}), ElementsAre("x -> x\u00e4", "x -> x\u00f6"));
  EXPECT_THAT(edges({"\u00e4", "\u00f6"}), IsEmpty());
}

TEST(CodeHierarchy, of_codes_without_shared_beginnings_are_roots) {
  const std::vector<std::string> codes{"b", "a"};
  EXPECT_EQ(hierarchy_of_codes(codes, "f").codec.size(), 2U);
  EXPECT_THAT(edges(codes), IsEmpty());
  EXPECT_THAT(edges({}), IsEmpty());
}

}  // namespace
}  // namespace margrove
