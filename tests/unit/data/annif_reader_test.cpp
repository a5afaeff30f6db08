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
  EXPECT_EQ(error_of("{\"text\": \"owls\", \"subjects\": []}\n"),
            "f:1:1: the line has no tab, but must be text<TAB><URI> <URI>; the line is JSON, whose "
            "keys are columns: --text-column text --label-column labels without --text and "
            "--format, or in JSON lines of Annif --text-column text --label-column subjects.uri");
  EXPECT_EQ(parse_annif("{a} b\t<http://x/dog>\n{a} b\n", "f").documents.size(), 2U);
  EXPECT_EQ(error_of(""), "f: the file has no rows, but must have at least one");
}

TEST(AnnifReader, reads_folders_of_documents_with_their_subjects_beside_them) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "b.txt", "an owl\nat night\r\n");
  testing::write_bytes(folder / "b.tsv", "<http://x/bird>\tbirds\n\nhttp://x/night\tnight\r\n");
  testing::write_bytes(folder / "a.txt", "stones");
  testing::write_bytes(folder / "a.key", "stone\n");
  testing::write_bytes(folder / "c.txt", "");
  testing::write_bytes(folder / "b.ann", "other");
  const std::string path = folder.string();
  EXPECT_EQ(row_format_of(row_formats(), path, RowKind::documents).name, "annif");
  const TextDataset data = read_annif(path, {});
  EXPECT_THAT(data.documents, ElementsAre("stones", "an owl\nat night", ""));
  EXPECT_THAT(data.codec.names(), ElementsAre("stone", "http://x/bird", "http://x/night"));
  EXPECT_THAT(data.labels[1], ElementsAre(1U, 2U));
  EXPECT_TRUE(data.labels[2].empty());

  const LabelCodec known({"http://x/bird"});
  testing::write_bytes(folder / "a.key", "\nbig stone\n");
  EXPECT_EQ(message_of([&] { read_annif(path, {}); }),
            path +
                "/a.key:2:1: label is 'big stone', but must not contain blanks, commas or "
                "control characters");
  testing::write_bytes(folder / "a.key", "<http://x/stone>\n");
  EXPECT_EQ(message_of([&] { read_annif(path, {.codec = &known, .known_labels_only = true}); }),
            path + "/a.key:1:2: label is 'http://x/stone', but must be one of the 1 known labels");
  testing::write_bytes(folder / "a.txt", std::string("a\0b", 3));
  EXPECT_EQ(message_of([&] { read_annif(path, {}); }),
            path + "/a.txt:1:2: the line has a NUL byte, but must be UTF-8 text");
  const testing::ScratchFolder empty;
  EXPECT_EQ(message_of([&] { read_annif(empty.string(), {}); }),
            empty.string() + ": the folder has no documents NAME.txt, but must have at least one");
  EXPECT_EQ(message_of([&] {
              row_format_of(row_formats(), path, RowKind::numbers).read(path, {}, nullptr);
            }),
            path + ": cannot read: Is a directory");
}

}  // namespace
}  // namespace margrove
