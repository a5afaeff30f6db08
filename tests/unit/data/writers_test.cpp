#include "margrove/writers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <set>

#include "base/random.hpp"
#include "compression.hpp"
#include "data/prediction_lines.hpp"
#include "files.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "margrove/svmlight_reader.hpp"

namespace margrove {
namespace {
using testing::message_of;
using testing::read_bytes;
using testing::ScratchFolder;

/// A data set with every kind of float, row and label.
Dataset random_dataset(Random& random) {
  Dataset data;
  const std::size_t num_rows = 1 + random.below(8);
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    FeatureId column = 0;
    const std::size_t size = random.below(5);
    for (std::size_t k = 0; k < size; ++k) {
      column += static_cast<FeatureId>(random.below(random.below(2) == 0 ? 3 : 1U << 28U));
      float value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
      if (!std::isfinite(value)) value = -0.0F;
      columns.push_back(column++);
      values.push_back(value);
    }
    data.X.append_row(columns, values);
    std::vector<LabelId> labels;
    const std::size_t num_labels = random.below(4);
    for (std::size_t k = 0; k < num_labels; ++k) {
      labels.push_back(data.codec.add(concat("l\xC3\xA9:", random.below(6))));
    }
    data.labels.append(labels);
  }
  return data;
}

std::vector<std::set<std::string>> label_names(const LabelSets& labels, const LabelCodec& codec) {
  std::vector<std::set<std::string>> names(labels.num_rows());
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const LabelId label : labels[i]) names[i].insert(codec.name(label));
  }
  return names;
}

void assert_equal(const Dataset& a, const Dataset& b) {
  RC_ASSERT(a.X.num_columns() == b.X.num_columns());
  const auto equal = [](const auto& x, const auto& y) { return std::ranges::equal(x, y); };
  RC_ASSERT(equal(a.X.view().row_pointers(), b.X.view().row_pointers()));
  RC_ASSERT(equal(a.X.view().columns(), b.X.view().columns()));
  for (std::size_t k = 0; k < a.X.view().values().size(); ++k) {
    RC_ASSERT(std::bit_cast<std::uint32_t>(a.X.view().values()[k]) ==
              std::bit_cast<std::uint32_t>(b.X.view().values()[k]));
  }
  RC_ASSERT(label_names(a.labels, a.codec) == label_names(b.labels, b.codec));
}

RC_GTEST_PROP(SvmlightRoundTrip, keeps_every_bit_plain_or_compressed, (std::uint64_t seed)) {
  Random random(seed);
  const Dataset data = random_dataset(random);
  const ScratchFolder folder;
  write_svmlight(folder / "f", data.X, data.labels, data.codec);
  assert_equal(data, read_svmlight(folder / "f"));
  const std::string bytes = read_bytes(folder / "f");
  assert_equal(data, parse_svmlight(testing::gzip(bytes), "f"));
  assert_equal(data, parse_svmlight(testing::zstd(bytes), "f"));
}

RC_GTEST_PROP(SvmlightRoundTrip, renaming_labels_renames_the_answer, (std::uint64_t seed)) {
  Random random(seed);
  const Dataset data = random_dataset(random);
  LabelCodec renamed;
  for (const auto& name : data.codec.names()) renamed.add(name + "'");
  const ScratchFolder folder;
  write_svmlight(folder / "f", data.X, data.labels, data.codec);
  write_svmlight(folder / "g", data.X, data.labels, renamed);
  const Dataset first = read_svmlight(folder / "f");
  const Dataset second = read_svmlight(folder / "g");
  for (std::size_t i = 0; i < first.labels.num_rows(); ++i) {
    RC_ASSERT(std::ranges::equal(first.labels[i], second.labels[i]));
  }
  for (LabelId label = 0; label < first.codec.size(); ++label) {
    RC_ASSERT(first.codec.name(label) + "'" == second.codec.name(label));
  }
}

RC_GTEST_PROP(HierarchyRoundTrip, keeps_edges_in_order, (std::uint64_t seed)) {
  Random random(seed);
  Hierarchy h;
  const std::size_t num_nodes = 2 + random.below(20);
  for (std::size_t n = 1; n < num_nodes; ++n) {
    const LabelId parent = h.codec.add(concat("n", random.below(n)));
    const LabelId child = h.codec.add(concat("n", n));
    h.edges.push_back({parent, child});
  }
  const ScratchFolder folder;
  write_hierarchy(folder / "f", h);
  const Hierarchy back = read_hierarchy(folder / "f");
  RC_ASSERT(std::ranges::equal(h.codec.names(), back.codec.names()));
  RC_ASSERT(h.edges.size() == back.edges.size());
  for (std::size_t e = 0; e < h.edges.size(); ++e) {
    RC_ASSERT(h.edges[e].parent == back.edges[e].parent);
    RC_ASSERT(h.edges[e].child == back.edges[e].child);
  }
}

TEST(TextRoundTrip, keeps_documents_and_labels) {
  const TextDataset data = parse_text("a,b\tone\ttwo\n\t\nb\t\xE6\x97\xA5\n", "f");
  const ScratchFolder folder;
  write_text(folder / "f", data);
  const TextDataset back = read_text(folder / "f");
  EXPECT_EQ(back.documents, data.documents);
  EXPECT_EQ(label_names(back.labels, back.codec), label_names(data.labels, data.codec));
}

TEST(Predictions, are_one_line_per_row) {
  const ScratchFolder folder;
  const LabelCodec codec({"a", "b"});
  LabelSets labels;
  labels.append(std::vector<LabelId>{0, 1});
  labels.append({});
  write_predictions(folder / "f", labels, codec);
  EXPECT_EQ(read_bytes(folder / "f"), "a,b\n\n");
  std::string line;
  append_scored_labels(line, std::vector<ScoredLabel>{{1, 0.5}, {0, -1e-9}}, codec.names());
  EXPECT_EQ(line, "b:0.5 a:-1e-09");
}

TEST(Writers, refuse_what_would_not_read_back) {
  const ScratchFolder folder;
  const std::string f = folder / "f";
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  LabelSets labels;
  labels.append(std::vector<LabelId>{0});
  const auto svmlight_error = [&](const std::string& name) {
    return message_of([&] { write_svmlight(f, X, labels, LabelCodec({name})); });
  };
  EXPECT_EQ(svmlight_error("a b"),
            f + ": label is 'a b', but must not contain blanks, commas or control characters");
  EXPECT_EQ(svmlight_error("#a"),
            f + ": label is '#a', but must not start with '#', which starts comments");
  EXPECT_EQ(message_of([&] { write_predictions(f, labels, LabelCodec({"a,b"})); }),
            f + ": label is 'a,b', but must not contain blanks, commas or control characters");
  EXPECT_EQ(svmlight_error("3:1"), f + ": label is '3:1', but must not look like a feature");
  labels.append({});
  EXPECT_EQ(svmlight_error("a"), f + ": 1 rows, but 2 label sets");
  TextDataset text = parse_text("a\tx\n", "f");
  text.documents[0] = "x\ny";
  EXPECT_EQ(message_of([&] { write_text(f, text); }),
            f + ": document 0 has a line end, but must be one line");
  EXPECT_EQ(folder.num_files(), 0U);
}

TEST(Writers, a_value_that_is_not_finite_leaves_the_old_file) {
  const ScratchFolder folder;
  testing::write_bytes(folder / "f", "old");
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{NAN});
  LabelSets labels;
  labels.append({});
  EXPECT_EQ(message_of([&] { write_svmlight(folder / "f", X, labels, {}); }),
            folder / "f" + ": value[0, 0] is not a finite number");
  EXPECT_EQ(read_bytes(folder / "f"), "old");
  EXPECT_EQ(folder.num_files(), 1U);
}

}  // namespace
}  // namespace margrove
