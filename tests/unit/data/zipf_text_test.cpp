#include "data/zipf_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/csr_operations.hpp"
#include "files.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {
namespace {

Dataset rows_of(const ZipfTextOptions& options) {
  ZipfText text(options);
  Dataset data;
  data.X.set_num_columns(static_cast<std::uint32_t>(options.num_features));
  data.codec = text.codec();
  for (std::int64_t i = 0; i < options.num_rows; ++i) {
    const auto row = text.row(static_cast<std::uint64_t>(options.first_row + i));
    data.X.append_row(row.features.columns, row.features.values);
    data.labels.append(row.labels);
  }
  return data;
}

/// Rows with each label, descending.
std::vector<double> label_counts(const Dataset& data) {
  std::vector<double> counts(data.codec.size(), 0.0);
  for (std::size_t i = 0; i < data.labels.num_rows(); ++i) {
    for (const LabelId label : data.labels[i]) ++counts[label];
  }
  std::ranges::sort(counts, std::greater());
  return counts;
}

/// The counts of all words, descending.
std::vector<double> word_counts(const Dataset& data) {
  std::vector<double> counts(data.X.num_columns(), 0.0);
  for (std::size_t i = 0; i < data.X.num_rows(); ++i) {
    const SparseRow row = data.X.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) counts[row.columns[k]] += row.values[k];
  }
  std::ranges::sort(counts, std::greater());
  return counts;
}

/// The shares of ranks 1, 2, 5 and 20 among counts against Zipf's law of this exponent.
void expect_zipf(const std::vector<double>& counts, double exponent) {
  double sum = 0;
  for (std::size_t r = 1; r <= counts.size(); ++r) {
    sum += std::pow(static_cast<double>(r), -exponent);
  }
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (const std::size_t r : {1U, 2U, 5U, 20U}) {
    const double expected = std::pow(static_cast<double>(r), -exponent) / sum;
    EXPECT_NEAR(counts[r - 1] / total / expected, 1, 0.15) << "rank " << r << " of " << exponent;
  }
}

LabelGraph graph_of(const ZipfText& text) {
  std::vector<LabelEdge> edges;
  for (const auto& edge : text.hierarchy().edges) edges.push_back({edge.parent, edge.child});
  return LabelGraph::build(static_cast<std::uint32_t>(text.hierarchy().codec.size()), edges);
}

TEST(ZipfText, labels_follow_zipfs_law) {
  for (const double exponent : {0.5, 1.0}) {
    // Further rows than those that have a label of each rank.
    const Dataset data = rows_of(
        {.num_rows = 20000, .first_row = 400, .mean_nonzeros = 1, .label_exponent = exponent});
    EXPECT_TRUE(data.labels.single_label());
    expect_zipf(label_counts(data), exponent);
  }
}

TEST(ZipfText, words_of_the_background_follow_zipfs_law) {
  for (const double exponent : {0.8, 1.2}) {
    const Dataset data = rows_of({.num_rows = 10000,
                                  .num_features = 3000,
                                  .mean_nonzeros = 15,
                                  .word_exponent = exponent,
                                  .topic_share = 0});
    expect_zipf(word_counts(data), exponent);
  }
}

TEST(ZipfText, every_label_occurs_where_rows_are_four_times_as_many) {
  const ZipfTextOptions options{.num_rows = 1200, .num_labels = 300, .label_exponent = 2};
  EXPECT_EQ(label_counts(rows_of(options)).back(), 1);
}

TEST(ZipfText, rows_have_the_mean_numbers_of_words_and_labels) {
  const Dataset data = rows_of({.num_rows = 3000, .mean_labels = 2.5, .mean_nonzeros = 30});
  EXPECT_NEAR(static_cast<double>(data.X.num_nonzeros()) / 3000, 30, 1);
  EXPECT_NEAR(static_cast<double>(data.labels.num_labels_total()) / 3000, 2.5, 0.1);
  check_csr(data.X);
  for (const float value : data.X.view().values()) {
    ASSERT_GE(value, 1);
    ASSERT_EQ(value, std::floor(value));
  }
  EXPECT_GT(word_counts(data)[0], 3000);  // some counts are above 1
}

TEST(ZipfText, a_steep_law_still_gives_rows_of_the_mean_length) {
  const Dataset data = rows_of({.num_rows = 500, .word_exponent = 3, .topic_share = 0});
  EXPECT_NEAR(static_cast<double>(data.X.num_nonzeros()) / 500, 60, 3);
}

TEST(ZipfText, a_tree_has_one_root_and_all_labels_on_the_last_level) {
  const ZipfText text({.num_labels = 1000, .branching = 3.5});
  const LabelGraph graph = graph_of(text);
  EXPECT_TRUE(graph.is_tree());
  EXPECT_EQ(graph.roots().size(), 1U);
  EXPECT_EQ(graph.num_nodes(), 1000U + 286 + 82 + 23 + 7 + 2 + 1);
  ASSERT_EQ(graph.leaves().size(), 1000U);
  for (const NodeId leaf : graph.leaves()) {
    ASSERT_EQ(graph.depth(leaf), 6U);
    ASSERT_TRUE(text.codec().find(text.hierarchy().codec.name(leaf)).has_value());
  }
}

TEST(ZipfText, a_dag_has_the_mean_number_of_parents_and_no_cycle) {
  for (const double mean_parents : {1.3, 2.0, 3.6}) {
    const ZipfText text({.num_labels = 5000, .mean_parents = mean_parents});
    const LabelGraph graph = graph_of(text);  // throws for a cycle, or an edge that repeats
    EXPECT_FALSE(graph.is_tree());
    EXPECT_EQ(graph.roots().size(), 1U);
    EXPECT_EQ(graph.leaves().size(), 5000U);
    EXPECT_NEAR(static_cast<double>(text.hierarchy().edges.size()) / (graph.num_nodes() - 1),
                mean_parents, 0.03);
  }
}

/// Parents are in the level above, so that more than the only node of the first level has are not
/// possible.
TEST(ZipfText, a_level_of_few_nodes_limits_the_parents) {
  const ZipfText text({.num_labels = 4, .branching = 2, .mean_parents = 10});
  EXPECT_EQ(text.hierarchy().edges.size(), 2U + 4 * 2);
}

TEST(ZipfText, siblings_share_words) {
  ZipfText text({.num_features = 20000, .num_labels = 100, .branching = 10, .topic_share = 0.5});
  std::map<std::string, LabelId> parents;
  for (const auto& edge : text.hierarchy().edges) {
    parents[text.hierarchy().codec.name(edge.child)] = edge.parent;
  }
  std::vector<std::set<FeatureId>> words(100);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const auto row = text.row(i);
    words[row.labels[0]].insert(row.features.columns.begin(), row.features.columns.end());
  }
  // Of all words of labels, the most frequent ones are everywhere, in both.
  double of_siblings = 0, of_others = 0, num_siblings = 0, num_others = 0;
  for (LabelId one = 0; one < 100; ++one) {
    for (LabelId other = 0; other < one; ++other) {
      std::vector<FeatureId> common;
      std::ranges::set_intersection(words[one], words[other], std::back_inserter(common));
      const double overlap = static_cast<double>(common.size()) /
                             static_cast<double>(std::min(words[one].size(), words[other].size()));
      const bool are_siblings =
          parents.at(text.codec().name(one)) == parents.at(text.codec().name(other));
      (are_siblings ? of_siblings : of_others) += overlap;
      (are_siblings ? num_siblings : num_others) += 1;
    }
  }
  EXPECT_GT(of_siblings / num_siblings, 1.2 * of_others / num_others);
}

TEST(ZipfText, the_same_seed_gives_the_same_rows_in_parts_or_at_once) {
  const ZipfTextOptions options{.num_rows = 60, .seed = 3, .mean_parents = 1.5, .mean_labels = 2};
  const Dataset whole = rows_of(options);
  ZipfTextOptions last = options, other = options;
  last.first_row = 40;
  last.num_rows = 20;
  other.seed = 4;
  const Dataset tail = rows_of(last);
  for (std::size_t i = 0; i < 20; ++i) {
    const SparseRow row = tail.X.row(i), same = whole.X.row(40 + i);
    EXPECT_TRUE(std::ranges::equal(row.columns, same.columns));
    EXPECT_TRUE(std::ranges::equal(row.values, same.values));
    EXPECT_TRUE(std::ranges::equal(tail.labels[i], whole.labels[40 + i]));
  }
  EXPECT_TRUE(std::ranges::equal(rows_of(options).X.view().columns(), whole.X.view().columns()));
  EXPECT_FALSE(std::ranges::equal(rows_of(other).X.view().columns(), whole.X.view().columns()));
}

TEST(ZipfText, options_out_of_range_throw) {
  const auto message = [](const ZipfTextOptions& options) {
    return testing::message_of<InvalidOption>([&] { ZipfText{options}; });
  };
  EXPECT_EQ(message({.num_rows = 0}), "option num_rows is 0, but must be >= 1");
  EXPECT_EQ(message({.first_row = -1}), "option first_row is -1, but must be >= 0");
  EXPECT_EQ(message({.num_features = 0}), "option num_features is 0, but must be >= 1");
  EXPECT_EQ(message({.num_labels = 1}), "option num_labels is 1, but must be >= 2");
  EXPECT_EQ(message({.branching = 1.5}), "option branching is 1.5, but must be >= 2");
  EXPECT_EQ(message({.mean_parents = 0}), "option mean_parents is 0, but must be in [1, 10]");
  EXPECT_EQ(message({.mean_labels = 0.5}), "option mean_labels is 0.5, but must be in [1, 100]");
  EXPECT_EQ(message({.mean_nonzeros = 0}), "option mean_nonzeros is 0, but must be >= 1");
  EXPECT_EQ(message({.label_exponent = 4}), "option label_exponent is 4, but must be in [0, 3]");
  EXPECT_EQ(message({.word_exponent = -1}), "option word_exponent is -1, but must be in [0, 3]");
  EXPECT_EQ(message({.topic_share = 1.1}), "option topic_share is 1.1, but must be in [0, 1]");
  EXPECT_EQ(message({.num_features = 100}),
            "option mean_nonzeros is 60, but must be at most a quarter of num_features, 25");
  EXPECT_EQ(message({.num_labels = 3, .mean_labels = 2}),
            "option mean_labels is 2, but must be at most half of num_labels, 1.5");
}

}  // namespace
}  // namespace margrove
