#include "data/row_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/sentence_lines.hpp"
#include "files.hpp"
#include "margrove/control.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

/// Gives at most so many bytes at once, as a pipe may.
class Trickle final : public ByteSource {
 public:
  Trickle(std::string bytes, std::size_t most) : bytes_(std::move(bytes)), most_(most) {}
  std::size_t read(std::span<char> out) override {
    const std::size_t count = std::min({most_, out.size(), bytes_.size() - at_});
    std::copy_n(bytes_.data() + at_, count, out.data());
    at_ += count;
    return count;
  }
  std::uint64_t num_stored() const override { return at_; }
  std::size_t num_read() const { return at_; }

 private:
  std::string bytes_;
  std::size_t most_;
  std::size_t at_ = 0;
};

RowParts parts_of(const std::string& bytes, std::size_t most, RowKind kind,
                  const ReadOptions& options) {
  return {LineBlocks(std::make_unique<Trickle>(bytes, most), "pipe"), kind, options};
}

std::vector<std::string> documents_of(const Examples& rows) { return rows.texts(); }

/// The documents of all parts, read part by part and row by row.
std::vector<std::string> all_documents(const std::string& bytes, std::size_t most, RowKind kind,
                                       const ReadOptions& options) {
  RowParts parts = parts_of(bytes, most, kind, options);
  std::vector<std::string> all, by_row;
  while (parts.next()) {
    const FilePart part = parts.part();
    for (std::string& each : documents_of(parts.read(part))) all.push_back(std::move(each));
    for (std::size_t begin = 0; begin < part.rows.size();) {
      const FilePart row = parts.first_row(begin);
      for (std::string& each : documents_of(parts.read(row))) by_row.push_back(std::move(each));
      begin += row.rows.size();
    }
  }
  EXPECT_EQ(all, by_row);
  return all;
}

const RecordSelection kTitles{.text = {"title"}, .label = "kind"};
const ReadOptions kRecords{.selection = &kTitles, .labels_optional = true};

constexpr std::string_view kCsv =
    "\n\"title\",kind\n\"a \"\"big\"\" cat,\nand a dog\",pet\n\n5\" pipe,tool\n,\nlast,x";

TEST(RowParts, give_the_rows_of_the_file_however_it_comes) {
  for (std::size_t most = 1; most < 40; ++most) {
    SCOPED_TRACE(most);
    EXPECT_THAT(all_documents(std::string(kCsv), most, RowKind::records, kRecords),
                ElementsAre("a \"big\" cat,\nand a dog", "5\" pipe", "", "last"));
    EXPECT_THAT(all_documents("{\"title\": \"a\"}\n\n{\"title\": \"b\"}\r\n{\"title\": null}\n",
                              most, RowKind::records, kRecords),
                ElementsAre("a", "b", ""));
    EXPECT_THAT(all_documents("x\tone two\n\ny\tthree\r\n\t", most, RowKind::documents, {}),
                ElementsAre("one two", "three", ""));
    EXPECT_THAT(all_documents("one two\t<http://x/1>\nthree\n", most, RowKind::documents, {}),
                ElementsAre("one two", "three"));
  }
}

TEST(RowParts, of_numbers_know_the_header) {
  for (std::size_t most = 1; most < 30; ++most) {
    RowParts parts = parts_of("3 5 2\n0 4:2.5\n1 0:1\n\n 3:7", most, RowKind::numbers, {});
    std::vector<FeatureId> columns;
    while (parts.next()) {
      const Examples rows = parts.read(parts.part());
      EXPECT_EQ(rows.X.num_columns(), 5U);
      for (std::size_t i = 0; i < rows.X.num_rows(); ++i) {
        columns.push_back(rows.X.row(i).columns[0]);
      }
    }
    EXPECT_THAT(columns, ElementsAre(4, 0, 3)) << most;
  }
}

TEST(RowParts, a_row_is_given_before_the_next_one_comes) {
  auto source = std::make_unique<Trickle>("1\n2\n3\n", 2);
  const Trickle& pipe = *source;
  const ReadOptions options;
  RowParts parts(LineBlocks(std::move(source), "pipe"), RowKind::numbers, options);
  for (std::size_t row = 1; row <= 3; ++row) {
    ASSERT_TRUE(parts.next());
    EXPECT_EQ(pipe.num_read(), 2 * row);
    EXPECT_EQ(parts.part().rows, concat(row, "\n"));
  }
  EXPECT_FALSE(parts.next());
}

TEST(RowParts, all_rows_of_a_source_are_one_part) {
  for (std::size_t most = 1; most < 40; ++most) {
    const auto rows = [&](const std::string& bytes, RowKind kind) {
      const ReadOptions options = kind == RowKind::records ? kRecords : ReadOptions();
      RowParts parts = parts_of(bytes, most, kind, options);
      return parts.read_all();
    };
    EXPECT_THAT(rows(std::string(kCsv), RowKind::records).fields.documents,
                ElementsAre("a \"big\" cat,\nand a dog", "5\" pipe", "", "last"));
    EXPECT_THAT(rows("x\tone\n\ny\ttwo", RowKind::documents).documents, ElementsAre("one", "two"));
    EXPECT_EQ(rows("1 1:1\n2 2:1\n", RowKind::numbers).X.num_rows(), 2U);
    EXPECT_EQ(message_of([&] { rows(" \n\n", RowKind::numbers); }),
              "pipe: the file has no rows, but must have at least one");
  }
}

TEST(RowParts, errors_have_the_line_of_the_file) {
  const auto message = [](const std::string& bytes, std::size_t most, RowKind kind,
                          const ReadOptions& options) {
    return message_of([&] { all_documents(bytes, most, kind, options); });
  };
  for (const std::size_t most : {1U, 7U, 1000U}) {
    EXPECT_THAT(message("x\tone\n\nbad\n", most, RowKind::documents, {}),
                HasSubstr("pipe:3:4: the line has no tab"));
    EXPECT_THAT(message("title,kind\n\"a\nb\",c\n\na,b,c\n", most, RowKind::records, kRecords),
                HasSubstr("pipe:5:5: the line has 3 cells, but must have 2"));
    EXPECT_THAT(message("{\"title\": \"a\"}\n{\"title\": \n", most, RowKind::records, kRecords),
                HasSubstr("pipe:2:"));
    EXPECT_THAT(message("title,kind\na,b\n\"open,c\nd,e\n", most, RowKind::records, kRecords),
                HasSubstr("pipe:3:1: the quoted cell has no closing quote"));
    EXPECT_THAT(message("\n\nname,kind\na,b\n", most, RowKind::records, kRecords),
                HasSubstr("pipe:3:1: the header has no column 'title'"));
  }
  EXPECT_THAT(message_of([&] {
                RowParts parts = parts_of("a 1:1\n\nb 1:x\n", 3, RowKind::numbers, {});
                while (parts.next()) parts.read(parts.part());
              }),
              HasSubstr("pipe:3:5: value of feature 1 is 'x'"));
}

TEST(RowParts, of_sentences_end_after_their_blank_line) {
  const std::string bytes = "\n \na b\nc d\n\n\ne f\r\n\r\n\ng";
  for (const std::size_t most : {1, 2, 5, 100}) {
    RowParts parts(LineBlocks(std::make_unique<Trickle>(bytes, most), "pipe"),
                   detail::sentence_format());
    std::vector<std::string> sentences, places;
    while (parts.next()) {
      for (std::size_t begin = 0; begin < parts.part().rows.size();) {
        const FilePart sentence = parts.first_row(begin);
        begin += sentence.rows.size();
        sentences.emplace_back(sentence.rows);
        places.push_back(detail::place_of(sentence, parts.name()));
      }
    }
    EXPECT_THAT(sentences, ElementsAre("a b\nc d\n\n", "\ne f\r\n\r\n", "\ng\n"));
    EXPECT_THAT(places, ElementsAre("pipe:3", "pipe:7", "pipe:10"));
  }
}

TEST(RowParts, hold_a_row_of_several_lines_only_within_the_memory_for_it) {
  RunControl control;
  control.limit_memory(8 * 20e6);
  const std::string text = "title\n\"" + std::string(30 << 20, '\n') + "\"\n";
  EXPECT_THAT(message_of([&] {
                LineBlocks blocks(std::make_unique<Trickle>(text, 1 << 20), "pipe", &control);
                RowParts parts(std::move(blocks), RowKind::records, kRecords);
                while (parts.next()) continue;
              }),
              HasSubstr("pipe:2: the row has "));
}

TEST(RowParts, of_a_blank_source_are_none) {
  RowParts parts = parts_of(" \n\n\t\n", 2, RowKind::numbers, {});
  EXPECT_FALSE(parts.next());
}

}  // namespace
}  // namespace margrove
