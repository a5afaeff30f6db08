#include "data/vector_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/out_of_time.hpp"
#include "data/examples.hpp"
#include "data/jsonl_reader.hpp"
#include "files.hpp"

namespace margrove {
namespace {

using margrove::testing::message_of;
using margrove::testing::ScratchFolder;
using margrove::testing::write_bytes;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class VectorFile : public ::testing::Test {
 protected:
  VectorFile() {
    write_bytes(texts_, "a\tred apple\nb\tfast car\n");
    write_bytes(table_, "kind,size\na,1\nb,2\n");
    write_array("(2, 3)");
  }
  void write_array(const std::string& shape) const {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
    const std::array<float, 6> numbers{1, 0, -3, 4.5F, 0, 6};
    std::string bytes(sizeof numbers, '\0');
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    const std::string start("\x93NUMPY\x01\0", 8);
    write_bytes(vectors_, start + static_cast<char>(header.size()) + '\0' + header + bytes);
  }
  std::string message(ExampleOptions options, const std::string& path) const {
    options.vector_file = vectors_;
    return message_of([&] { read_examples(path, options); });
  }

  ScratchFolder folder_;
  std::string texts_ = folder_ / "texts", table_ = folder_ / "table.csv";
  std::string vectors_ = folder_ / "e.npy";
};

TEST_F(VectorFile, makes_records_of_texts) {
  const Examples rows = read_examples(texts_, {.text = true, .vector_file = vectors_});
  EXPECT_EQ(rows.kind, RowKind::records);
  EXPECT_EQ(rows.selection,
            (RecordSelection{.text = {"text"}, .vectors = {"vectors"}, .of_texts = true}));
  EXPECT_THAT(rows.texts(), ElementsAre("red apple", "fast car"));
  EXPECT_THAT(rows.fields.vector_widths, ElementsAre(3));
  EXPECT_THAT(rows.fields.vectors, ElementsAre(1, 0, -3, 4.5F, 0, 6));
  EXPECT_EQ(rows.codec.name(rows.labels[1][0]), "b");
  EXPECT_TRUE(rows.documents.empty());
}

TEST_F(VectorFile, is_a_column_of_records) {
  const ExampleOptions options{.columns = {.numeric = {"size"}, .label = "kind"},
                               .vector_file = vectors_};
  const Examples rows = read_examples(table_, options);
  EXPECT_TRUE(takes_vector_file(rows.selection));
  EXPECT_THAT(rows.selection.numeric, ElementsAre("size"));
  EXPECT_EQ(rows.fields.vectors.size(), 6U);
  const Examples alone =
      read_examples(table_, {.columns = {.label = "kind"}, .vector_file = vectors_});
  EXPECT_EQ(alone.fields.vectors, rows.fields.vectors);
  EXPECT_EQ(alone.num_rows(), 2U);
}

TEST_F(VectorFile, must_fit_the_rows) {
  EXPECT_THAT(message({}, table_), HasSubstr("must be"));  // rows of numbers
  write_bytes(table_, "vectors,kind\n1,a\n2,b\n");
  EXPECT_EQ(message({.columns = {.numeric = {"vectors"}, .label = "kind"}}, table_),
            table_ +
                ": column 'vectors' is selected, but option vector_file gives the column of that "
                "name");
  EXPECT_THAT(message({.columns = {.vectors = {"vectors"}}}, table_),
              HasSubstr("vector_file and vector_columns are both given"));
  write_array("(3, 2)");
  EXPECT_EQ(message({.text = true}, texts_),
            vectors_ + ": it has 3 rows, but must have 2 as " + texts_);
}

TEST_F(VectorFile, has_the_columns_of_training) {
  const std::vector<std::uint32_t> widths{4};
  ReadOptions options{.vector_widths = widths, .vector_file = vectors_};
  EXPECT_EQ(message_of([&] { read_rows(texts_, RowKind::documents, options); }),
            vectors_ + ": it has 3 columns, but must have 4 as in training");
}

TEST_F(VectorFile, is_not_read_beyond_the_time) {
  RunControl control;
  control.interrupt();
  Examples rows = read_examples(texts_, {.text = true});
  const ReadOptions options{.vector_file = vectors_};
  EXPECT_EQ(message_of<OutOfTimeLimit>([&] { add_vectors(rows, options, &control); }),
            texts_ + ": the time limit ended reading; nothing is trained");
}

TEST_F(VectorFile, is_named_where_it_lacks) {
  const RecordSelection both{.text = {"text"}, .vectors = {"vectors"}};
  const RecordSelection alone{.vectors = {"vectors"}};
  const auto fault = [](const RecordSelection& selection) {
    const ReadOptions options{.selection = &selection, .may_need_vector_file = true};
    return message_of([&] { parse_jsonl("{\"text\": \"x\"}\n", "f", options, nullptr); });
  };
  EXPECT_THAT(fault(both), EndsWith("no gaps; option vector_file gives vectors of a file"));
  EXPECT_THAT(fault(alone), EndsWith("at least one; option vector_file gives vectors of a file"));
  const std::vector<std::uint32_t> widths{4};
  const ReadOptions options{
      .selection = &both, .vector_widths = widths, .may_need_vector_file = true};
  EXPECT_THAT(message_of([&] { read_rows(table_, RowKind::records, options); }),
              HasSubstr("table.csv: the model takes vectors of a file, --vector-file FILE.npy"));
}

}  // namespace
}  // namespace margrove
