#include "data/npy_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/out_of_time.hpp"
#include "data/examples.hpp"
#include "files.hpp"

namespace margrove {
namespace {

using margrove::testing::message_of;
using margrove::testing::ScratchFolder;
using margrove::testing::write_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A file of a version with this text as its header.
std::string npy(std::string header, std::string_view numbers, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, '\0'};
  header += '\n';
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k) {
    bytes += static_cast<char>(header.size() >> (8 * k));
  }
  return bytes + header + std::string(numbers);
}

std::string header(const std::string& type, const std::string& shape, bool is_fortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (is_fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }";
}

template <class T>
std::string bytes_of(std::initializer_list<T> numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), std::data(numbers), bytes.size());
  return bytes;
}

std::vector<std::vector<float>> rows_of(NpyArray array) {
  std::vector<std::vector<float>> rows;
  for (std::uint64_t i = 0; i < array.num_rows(); ++i) {
    const auto row = array.row(i);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::string fault_of(const std::string& bytes) {
  return message_of([&] { rows_of(parse_npy(bytes, "f")); });
}

const std::string kSix = bytes_of<float>({1, 0, -3, 4.5F, 0, 6});

TEST(Npy, versions_orders_and_types_give_the_same_rows) {
  const std::vector<std::vector<float>> expected{{1, 0, -3}, {4.5F, 0, 6}};
  for (const char version : {'\1', '\2', '\3'}) {
    const std::string bytes = npy(header("<f4", "(2, 3)"), kSix, version);
    EXPECT_EQ(rows_of(parse_npy(bytes, "f")), expected);
  }
  const std::string by_columns =
      npy(header("<f8", "(2, 3)", /*is_fortran=*/true), bytes_of<double>({1, 4.5, 0, 0, -3, 6}));
  EXPECT_EQ(rows_of(parse_npy(by_columns, "f")), expected);
  const std::string half =
      npy(header("<f2", "(2, 3)"),
          bytes_of<std::uint16_t>({0x3C00, 0x8000, 0xC200, 0x4480, 0, 0x4600}));
  EXPECT_EQ(rows_of(parse_npy(half, "f")), expected);
}

TEST(Npy, float16_has_its_whole_range) {
  const std::string bytes =
      npy(header("<f2", "(1, 4)"), bytes_of<std::uint16_t>({1, 0x3FF, 0x400, 0xFBFF}));
  const float tiny = std::ldexp(1.0F, -24);
  EXPECT_THAT(rows_of(parse_npy(bytes, "f"))[0],
              ElementsAre(tiny, 1023 * tiny, 1024 * tiny, -65504));
}

TEST(Npy, headers_of_other_writers_are_read) {
  for (const std::string text :
       {"{\"shape\":(2L,3L),\"descr\":\"<f4\",\"fortran_order\":False}",
        " { 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' }   ",
        "{'descr': '<f4', 'more': {'a': [1, (2, ')')]}, 'fortran_order': False, 'shape': (2, "
        "3)}"}) {
    EXPECT_EQ(rows_of(parse_npy(npy(text, kSix), "f")).size(), 2U) << text;
  }
}

TEST(Npy, rows_of_many_blocks_are_those_of_the_file) {
  constexpr std::size_t kRows = 70'000, kColumns = 40;
  std::string numbers(kRows * kColumns * sizeof(float), '\0');
  for (const bool is_fortran : {false, true}) {
    for (std::size_t k = 0; k < kRows * kColumns; ++k) {
      const std::size_t i = is_fortran ? k % kRows : k / kColumns;
      const std::size_t j = is_fortran ? k / kRows : k % kColumns;
      const auto value = static_cast<float>(i * 100 + j);
      std::memcpy(numbers.data() + k * sizeof(float), &value, sizeof(float));
    }
    const std::string bytes = npy(header("<f4", "(70000, 40)", is_fortran), numbers);
    NpyArray array = parse_npy(bytes, "f");
    for (const std::size_t i : {0UL, 1UL, 26'214UL, 26'215UL, 69'999UL, 5UL}) {
      const auto row = array.row(i);
      ASSERT_EQ(row.size(), kColumns);
      EXPECT_EQ(row[0], static_cast<float>(i * 100));
      EXPECT_EQ(row[39], static_cast<float>(i * 100 + 39));
    }
  }
}

TEST(Npy, arrays_without_rows_or_columns_are_empty) {
  EXPECT_TRUE(rows_of(parse_npy(npy(header("<f4", "(0, 3)"), ""), "f")).empty());
  EXPECT_THAT(rows_of(parse_npy(npy(header("<f4", "(2, 0)"), ""), "f")),
              ElementsAre(std::vector<float>(), std::vector<float>()));
}

TEST(Npy, other_files_are_refused) {
  for (const std::string& bytes : {std::string(), std::string("a 1:1\n"), std::string("\x93NUM")}) {
    EXPECT_THAT(fault_of(bytes), StartsWith("f: it does not begin as a file of NumPy"));
  }
  EXPECT_THAT(fault_of(npy("{}", "", 4)),
              HasSubstr("f: the version of the format is 4.0, but must be 1.0, 2.0 or 3.0"));
  const std::string bytes = npy(header("<f4", "(2, 3)"), kSix, 2);
  for (const std::size_t size : {6U, 9U, 11U, 12U, 40U}) {
    EXPECT_EQ(fault_of(bytes.substr(0, size)), "f: the file ends in its header") << size;
  }
  EXPECT_THAT(fault_of(npy(std::string(70'000, ' '), "", 2)),
              HasSubstr("f: the header has 70001 bytes, but must have at most 65536"));
}

TEST(Npy, headers_that_are_no_dict_of_the_three_keys_are_refused) {
  for (const std::string text :
       {"", "{", "{}", "[]", "{'descr'}", "{'descr': }", "{'descr': '<f4", "{:}", "{'a': (1}",
        "{'descr': '<f4', 'shape': (2, 3)}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 18446744073709551616)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 184467440737095516160)}"}) {
    EXPECT_THAT(fault_of(npy(text, kSix)),
                ::testing::AllOf(StartsWith("f: the header is '"),
                                 HasSubstr("must be a dict with descr, fortran_order and shape")))
        << text;
  }
}

TEST(Npy, other_types_and_dimensions_are_named) {
  for (const std::string type : {"<i8", ">f4", "|O", "<c8", "<f16"}) {
    EXPECT_THAT(fault_of(npy(header(type, "(2, 3)"), kSix)),
                HasSubstr("f: the numbers have dtype '" + type +
                          "', but must be float32, float64 "
                          "or float16 ('<f4', '<f8', '<f2')"));
  }
  EXPECT_THAT(fault_of(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (6,)}", "")),
              HasSubstr("f: the numbers have dtype '[('x', '<f4')]', but"));
  for (const std::string shape : {"()", "(6,)", "(2, 3, 1)"}) {
    EXPECT_THAT(fault_of(npy(header("<f4", shape), kSix)),
                HasSubstr("f: the array has the shape " + shape +
                          ", but must have two dimensions, rows and columns"));
  }
}

TEST(Npy, sizes_that_are_not_those_of_the_file_are_refused_before_anything_is_allocated) {
  EXPECT_EQ(fault_of(npy(header("<f4", "(2, 3)"), kSix.substr(1))),
            "f: the array has the shape (2, 3) of float32, but its numbers take 23 bytes of the "
            "file");
  for (const std::string shape : {"(1, 3)", "(4611686018427387904, 4)", "(1, 4611686018427387904)",
                                  "(9223372036854775808, 9223372036854775808)"}) {
    EXPECT_THAT(fault_of(npy(header("<f4", shape), kSix)),
                HasSubstr("f: the array has the shape " + shape +
                          " of float32, but its numbers "
                          "take 24 bytes"));
  }
  EXPECT_THAT(fault_of(npy(header("<f4", "(0, 4294967295)"), "")),
              HasSubstr("f: the array has 4294967295 columns, but must have fewer than"));
}

TEST(Npy, numbers_that_are_not_finite_are_named_by_row_and_column) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::string wanted = ", but must be a number that fits a 32-bit float, not NaN or infinity";
  EXPECT_EQ(fault_of(npy(header("<f4", "(2, 3)"), bytes_of<float>({1, 2, 3, 4, -kInf, 6}))),
            "f: row 2, column 2: the number is -inf" + wanted);
  EXPECT_EQ(fault_of(npy(header("<f8", "(2, 3)", true), bytes_of<double>({1, 2, 3, 1e300, 5, 6}))),
            "f: row 2, column 2: the number is 1e+300" + wanted);
  for (const std::uint16_t bits : {std::uint16_t{0x7E00}, std::uint16_t{0xFC00}}) {
    EXPECT_THAT(fault_of(npy(header("<f2", "(1, 1)"), bytes_of<std::uint16_t>({bits}))),
                StartsWith("f: row 1, column 1: the number is "));
  }
}

TEST(Npy, refused_numbers_stay_refused) {
  const std::string bytes = npy(header("<f8", "(1, 1)"), bytes_of<double>({1e300}));
  NpyArray array = parse_npy(bytes, "f");
  message_of([&] { array.row(0); });
  EXPECT_THAT(message_of([&] { array.row(0); }), HasSubstr("1e+300"));
}

TEST(Npy, files_are_read_in_place) {
  const ScratchFolder folder;
  const std::string path = folder / "x.npy";
  write_bytes(path, npy(header("<f4", "(2, 3)"), kSix));
  EXPECT_THAT(rows_of(open_npy(path))[1], ElementsAre(4.5F, 0, 6));
  NpyArray array = open_npy(path);
  std::filesystem::resize_file(path, 80);
  EXPECT_EQ(message_of([&] { array.row(0); }),
            path + ": the file became shorter while it was read");
  EXPECT_THAT(message_of([&] { open_npy(folder / "y.npy"); }),
              StartsWith(folder / "y.npy" + ": cannot open: No such file"));
  EXPECT_THAT(message_of([&] { open_npy(folder.string()); }), HasSubstr("cannot read: Is a dir"));
  ASSERT_EQ(::mkfifo((folder / "pipe.npy").c_str(), 0600), 0);
  EXPECT_THAT(message_of([&] { open_npy(folder / "pipe.npy"); }), HasSubstr("cannot read: "));
}

class NpyViews : public ::testing::Test {
 protected:
  NpyViews() {
    write_bytes(rows_, "a 1:1 2:2\nb 2:3\n");
    write_bytes(vectors_, npy(header("<f4", "(2, 3)"), kSix));
  }
  Examples rows() const { return read_rows(rows_, RowKind::numbers); }

  ScratchFolder folder_;
  std::string rows_ = folder_ / "rows", vectors_ = folder_ / "e.npy";
};

TEST_F(NpyViews, have_all_columns_in_all_rows) {
  Examples raw = rows();
  const std::vector<ViewFile> files{{"e", vectors_}};
  read_views(raw, files);
  EXPECT_EQ(raw.views[1], (View{"e", 2, 5}));
  EXPECT_THAT(raw.X.row(0).columns, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(raw.X.row(0).values, ElementsAre(1, 2, 1, 0, -3));
  EXPECT_THAT(raw.X.row(1).columns, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(raw.X.row(1).values, ElementsAre(3, 4.5F, 0, 6));
  Examples again = rows();
  read_views_of_model(again, files, raw.views);
  EXPECT_THAT(again.X.row(1).values, ElementsAre(3, 4.5F, 0, 6));
}

TEST_F(NpyViews, must_have_the_rows_and_the_columns_of_the_others) {
  Examples raw = rows();
  const std::vector<ViewFile> files{{"e", vectors_}};
  const std::vector<View> views{{"main", 0, 2}, {"e", 2, 6}};
  EXPECT_EQ(message_of([&] { read_views_of_model(raw, files, views); }),
            vectors_ + ": it has 3 columns, but view 'e' of the model has 4");
  write_bytes(vectors_, npy(header("<f4", "(3, 2)"), kSix));
  EXPECT_EQ(message_of([&] { read_views(raw, files); }),
            vectors_ + ": it has 3 rows, but must have 2 as " + rows_);
}

TEST_F(NpyViews, with_more_columns_than_a_matrix_has_are_refused) {
  write_bytes(vectors_, npy(header("<f4", "(0, 4294967294)"), ""));
  Examples raw;  // without rows
  const std::vector<ViewFile> files{{"e", vectors_}, {"f", vectors_}};
  EXPECT_EQ(message_of([&] { read_views(raw, files); }),
            vectors_ +
                ": it has 4294967294 columns, which with the 4294967294 before them are too "
                "many");
}

TEST_F(NpyViews, end_where_the_time_does) {
  RunControl control;
  control.interrupt();
  write_bytes(vectors_, npy(header("<f4", "(2, 20000)"), std::string(160'000, '\0')));
  Examples raw = rows();
  const std::vector<ViewFile> files{{"e", vectors_}};
  EXPECT_EQ(message_of<OutOfTimeLimit>([&] { read_views(raw, files, &control); }),
            vectors_ + ": the time limit ended reading; nothing is trained");
}

#ifndef MARGROVE_SANITIZED
TEST_F(NpyViews, take_no_more_than_the_memory_limit) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "a 1:1\n";
  write_bytes(rows_, text);
  write_bytes(vectors_, npy(header("<f4", "(20000, 600)"), ""));
  std::filesystem::resize_file(vectors_, std::filesystem::file_size(vectors_) + 48'000'000);
  RunControl control;
  control.limit_memory(40e6);
  Examples raw = rows();
  const std::vector<ViewFile> files{{"e", vectors_}};
  EXPECT_THAT(message_of([&] { read_views(raw, files, &control); }),
              StartsWith(vectors_ + ": reading has taken 0.0"));
}
#endif

}  // namespace
}  // namespace margrove
