#include "data/row_formats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "compression.hpp"
#include "files.hpp"

namespace margrove {
namespace {

Examples numbers(const std::string&, const ReadOptions&, RunControl*) { return Dataset(); }
Examples documents(const std::string&, const ReadOptions&, RunControl*) { return TextDataset(); }

constexpr std::array kFormats{
    RowFormat{RowKind::numbers, ".tsv", numbers},
    RowFormat{RowKind::numbers, "", numbers},
    RowFormat{RowKind::documents, ".jsonl", documents},
    RowFormat{RowKind::documents, "", documents},
};

TEST(RowFormats, are_chosen_by_kind_and_extension) {
  const auto place = [](std::string_view path, RowKind kind) {
    return &row_format_of(kFormats, path, kind) - kFormats.data();
  };
  EXPECT_EQ(place("a.tsv", RowKind::numbers), 0);
  EXPECT_EQ(place("a.tsv.gz", RowKind::numbers), 0);
  EXPECT_EQ(place("a.tsv.zst", RowKind::numbers), 0);
  EXPECT_EQ(place("a.tsv", RowKind::documents), 3);
  EXPECT_EQ(place("a.jsonl", RowKind::documents), 2);
  EXPECT_EQ(place("a.jsonl", RowKind::numbers), 1);
  EXPECT_EQ(place("a.gz", RowKind::numbers), 1);
  EXPECT_THROW(row_format_of(std::span(kFormats).first(1), "a", RowKind::numbers),
               std::logic_error);
  EXPECT_THROW(row_format_of(kFormats, "a", RowKind::numbers, "foo"), InvalidOption);
}

TEST(RowFormats, claim_every_file_of_both_kinds) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "any", "");
  for (const RowKind kind : {RowKind::numbers, RowKind::documents}) {
    EXPECT_EQ(row_format_of(row_formats(), folder / "any", kind).kind, kind);
  }
}

TEST(RowFormats, have_a_declared_kind_and_are_among_the_choices) {
  const std::vector<std::string> choices = format_choices();
  EXPECT_EQ(choices.size(), row_formats().size() + 1);  // and auto
  for (const RowFormat& format : row_formats()) {
    EXPECT_EQ(std::ranges::count(choices, format.name), 1);
    EXPECT_EQ(row_kind(false, false, format.name), format.kind);
    EXPECT_FALSE(info_of(format.kind).name.empty());
  }
}

TEST(RowFormats, read_rows_of_their_kind) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "numbers", "a 1:1\nb 2:1\n");
  testing::write_bytes(folder / "texts", "a\tred apple\nb\tblue sky\n");
  testing::write_bytes(folder / "broken", "a 1:1\nb 2:x\n");
  const auto read = [&](std::string_view file, RowKind kind) {
    const std::string path = folder / file;
    return row_format_of(row_formats(), path, kind).read(path, {}, nullptr);
  };
  EXPECT_EQ(read("numbers", RowKind::numbers).X.num_rows(), 2U);
  EXPECT_EQ(read("texts", RowKind::documents).documents.size(), 2U);
  EXPECT_THROW(read("broken", RowKind::numbers), InvalidInput);
  EXPECT_THROW(read("none", RowKind::numbers), InvalidInput);
  EXPECT_THROW(read("none", RowKind::documents), InvalidInput);
}

TEST(RowFormats, of_records_are_chosen_by_name_or_by_the_first_bytes) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "rows", "\xEF\xBB\xBF\n {\"a\": 1}\n");
  testing::write_bytes(folder / "packed.gz", testing::gzip("{\"a\": 1}\n"));
  testing::write_bytes(folder / "table", "a,b\n");
  const auto name = [&](std::string_view file, std::string_view given = {}) {
    return row_format_of(row_formats(), folder / file, RowKind::records, given).name;
  };
  testing::write_bytes(folder / "late", " \r\n\t\n{\"a\": 1}\n");
  testing::write_bytes(folder / "blank", "\n \n");
  EXPECT_EQ(name("late"), "jsonl");
  EXPECT_EQ(name("blank"), "csv");
  EXPECT_EQ(name("rows"), "jsonl");
  EXPECT_EQ(name("packed.gz"), "jsonl");
  EXPECT_EQ(name("table"), "csv");
  EXPECT_EQ(name("rows", "csv"), "csv");
  EXPECT_EQ(name("missing", "tsv"), "tsv");
  EXPECT_THROW(name("missing"), InvalidInput);
}

}  // namespace
}  // namespace margrove
