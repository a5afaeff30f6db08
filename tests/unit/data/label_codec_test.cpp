#include "margrove/label_codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Pair;

TEST(LabelCodec, alternative_ids_stand_for_labels_and_are_none) {
  LabelCodec codec({"cat", "fish"});
  codec.add_alternative("tomcat", 0);
  EXPECT_EQ(codec.find("tomcat"), 0U);
  EXPECT_EQ(codec.add("tomcat"), 0U);
  EXPECT_EQ(codec.add("bird"), 2U);
  EXPECT_THAT(codec.names(), ElementsAre("cat", "fish", "bird"));
  EXPECT_THAT(codec.alternatives(), ElementsAre(Pair("tomcat", 0)));
  for (const auto& [other, label, says] :
       {std::tuple{"", 0U, "an alternative id is empty"},
        std::tuple{"fish", 0U, "the alternative id 'fish' stands for a label already"},
        std::tuple{"tomcat", 1U, "the alternative id 'tomcat' stands for a label already"},
        std::tuple{"worm", 3U, "the alternative id 'worm' stands for label 3, but there are 3"}}) {
    EXPECT_THAT(message_of([&, id = other, to = label] { codec.add_alternative(id, to); }),
                HasSubstr(says));
  }
}

TEST(LabelCodec, numbers_are_added_in_any_spelling) {
  LabelCodec codec({"1", "-1"});
  codec.set_are_numbers();
  EXPECT_EQ(codec.add("+1"), 0U);
  EXPECT_EQ(codec.add("x"), 2U);
}

}  // namespace
}  // namespace margrove
