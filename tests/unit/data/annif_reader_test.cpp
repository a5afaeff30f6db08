#include "data/annif_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/row_formats.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;

constexpr std::string_view kBooks =
    "\nDogs, and\ttheir bones\t<http://x/dog> <http://x/bone>\nNo subject\t\nneither\n";

TEST(AnnifReader, reads_texts_and_the_uris_of_their_subjects) {
  const TextDataset data = parse_annif(kBooks, "f");
  EXPECT_THAT(data.documents, ElementsAre("Dogs, and\ttheir bones", "No subject", "neither"));
  EXPECT_THAT(data.codec.names(), ElementsAre("http://x/dog", "http://x/bone"));
  EXPECT_EQ(data.labels[0].size(), 2U);
  EXPECT_EQ(data.labels[1].size() + data.labels[2].size(), 0U);
}

TEST(AnnifReader, is_recognised_by_the_first_line_with_something_after_the_tab) {
  EXPECT_TRUE(starts_like_annif(kBooks));
  EXPECT_FALSE(starts_like_annif("sports\t<b> of a page\n"));
  EXPECT_TRUE(starts_like_annif("no\tsubject\t\r\nno tab\n\na\t<http://x/dog>\n"));
  EXPECT_FALSE(starts_like_annif("no subject\t\nsports\tnews\n"));
  EXPECT_FALSE(starts_like_annif("no tab\n"));
  EXPECT_FALSE(starts_like_annif("sports\tnews\n"));
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "books.tsv", kBooks);
  testing::write_bytes(folder / "documents", "sports\tnews\n");
  const auto name = [&](const std::string& file) {
    return row_format_of(row_formats(), folder / file, RowKind::documents).name;
  };
  EXPECT_EQ(name("books.tsv"), "annif");
  EXPECT_EQ(name("documents"), "text");
}

TEST(AnnifReader, errors_say_where_and_what) {
  const auto error_of = [](std::string_view bytes) {
    return message_of([&] { parse_annif(bytes, "f"); });
  };
  EXPECT_EQ(error_of("a\t<http://x/dog> cat\n"),
            "f:1:18: subject is 'cat', but must be a URI in angle brackets");
  EXPECT_EQ(error_of("a\t<http://x/dog\n"),
            "f:1:3: subject is '<http://x/dog', but must be a URI in angle brackets");
  EXPECT_EQ(error_of("a\t<>\n"), "f:1:4: label is empty, but must have at least one character");
  EXPECT_EQ(error_of(""), "f: the file has no rows, but must have at least one");
}

}  // namespace
}  // namespace margrove
