#include "data/path_ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace margrove {
namespace {
using ::testing::ElementsAre;
using Names = std::vector<std::string>;

TEST(PathIds, escape_the_separator_and_backslashes_in_names) {
  EXPECT_EQ(join_path(Names{"Books", "Accessories"}, " > "), "Books > Accessories");
  EXPECT_EQ(join_path(Names{"A > B", "C"}, " > "), "A \\> B > C");
  EXPECT_EQ(join_path(Names{"a\\", "b"}, "/"), "a\\\\/b");
  EXPECT_EQ(join_path(Names{"x→y", "z"}, "→"), "x\\→y→z");
}

TEST(PathIds, are_read_as_people_write_them) {
  EXPECT_THAT(split_path("A > B", " > "), ElementsAre("A", "B"));
  EXPECT_THAT(split_path(" A>B ", ">"), ElementsAre("A", "B"));
  EXPECT_THAT(split_path("A > B >=2", " > "), ElementsAre("A", "B >=2"));
  EXPECT_THAT(split_path("C:\\a > b", " > "), ElementsAre("C:\\a", "b"));
  EXPECT_THAT(split_path("A >  > B", " > "), ElementsAre("A", "", "B"));
}

RC_GTEST_PROP(PathIds, read_back_to_the_same_names, ()) {
  const std::string separator =
      *rc::gen::elementOf(std::vector<std::string>{" > ", ">", "/", ">>", "::", " / ", "\t", "ab"});
  const auto character = rc::gen::elementOf(std::string("ab>\\/: "));
  Names names = *rc::gen::nonEmpty(
      rc::gen::container<Names>(rc::gen::nonEmpty(rc::gen::container<std::string>(character))));
  for (std::string& name : names) name = "x" + name + "x";
  const std::string id = join_path(names, separator);
  RC_ASSERT(split_path(id, separator) == names);
  RC_ASSERT(join_path(split_path(id, separator), separator) == id);
}

}  // namespace
}  // namespace margrove
