#pragma once
// Synthetic rows with the shape of the large sets of texts: many labels in a tree or DAG, few of
// them frequent, and short rows of word counts.

#include <cstdint>
#include <span>
#include <vector>

#include "base/alias_table.hpp"
#include "data/generators.hpp"

namespace margrove {

struct ZipfTextOptions {
  std::int64_t num_rows = 8000;
  std::int64_t first_row = 0;
  int num_features = 1000;
  std::uint64_t seed = 0;
  int num_labels = 100;
  double branching = 5;
  double mean_parents = 1;
  double mean_labels = 1;
  double mean_nonzeros = 60;
  double label_exponent = 1;
  double word_exponent = 1;
  double topic_share = 0.2;
  static auto fields() {
    using Options = ZipfTextOptions;
    return std::tuple_cat(
        generated_row_fields<Options>(),
        std::tuple{
            field("num_labels", &Options::num_labels, at_least(2),
                  "number of leaves, of which each row has one or several"),
            field("branching", &Options::branching, at_least(2),
                  "mean number of children of an inner node"),
            field("mean_parents", &Options::mean_parents, between(1, 10),
                  "mean number of parents of a node, where the level above has so many; 1: a tree"),
            field("mean_labels", &Options::mean_labels, between(1, 100),
                  "mean number of labels of a row; 1: each row has exactly one"),
            field("mean_nonzeros", &Options::mean_nonzeros, at_least(1),
                  "mean number of different words of a row, at most a quarter of the columns"),
            field("label_exponent", &Options::label_exponent, between(0, 3),
                  "the label of rank r is drawn in proportion to r^-x; 0: all are as frequent"),
            field("word_exponent", &Options::word_exponent, between(0, 3),
                  "the word of rank r is drawn in proportion to r^-x"),
            field("topic_share", &Options::topic_share, between(0, 1),
                  "share of the words of a row that nodes above and at its labels choose; with a "
                  "smaller one labels are harder to learn"),
        });
  }
};

/// A problem of which each row is made by itself, from the seed and its number.
///
/// Hierarchy: level 0 is the root, and each level has `branching` times as many nodes as the one
/// above, down to the leaves. A node has a parent in the level above, and with mean_parents > 1
/// further ones there, so that there are no cycles. Nodes are numbered 1 (the root), 2, 3, ... by
/// level. Labels are the leaves; their ranks of frequency are drawn.
///
/// Labels of a row: one by Zipf's law; with mean_labels > 1 further ones in the same way, whose
/// number has the Poisson distribution. So that all labels occur, row 4 k has the label of rank k
/// in place of a drawn one, for all ranks k.
///
/// Words of a row: each comes with probability topic_share from the topic of a node, otherwise from
/// the background, which is all words by Zipf's law. The node is found by walks up from one of the
/// row's labels, and each level below the root is as likely. A topic is a random list of words that
/// it, too, draws by Zipf's law. On a level of n nodes, lists have num_features / n words: those
/// of deeper nodes are more specific. Values are counts. The number of different words is
/// log-normal.
class ZipfText {
 public:
  /// Throws InvalidOption. O(features + nodes).
  explicit ZipfText(const ZipfTextOptions& options);

  const Hierarchy& hierarchy() const { return hierarchy_; }
  /// The labels of rows.
  const LabelCodec& codec() const { return codec_; }

  struct Row {
    std::span<const LabelId> labels;  // ascending
    SparseRow features;
  };
  /// Row 0, 1, .... Valid until the next call. O(its nonzeros * log of them).
  Row row(std::uint64_t number);

 private:
  using Node = std::uint32_t;  // from 0, the root

  void make_levels();
  void draw_parents(Random& random);
  void add_parents(Node node, std::size_t level, Random& random);
  void name_nodes();
  void draw_labels(std::uint64_t number, Random& random);
  void draw_words(Random& random);
  std::size_t draw_length(Random& random) const;
  FeatureId topic_word(Random& random) const;
  void count_word(FeatureId word);

  ZipfTextOptions options_;
  std::vector<Node> level_starts_;  // of the first node of each level, and the number of nodes
  std::vector<std::size_t> parent_starts_;  // in parents_, of each node, and their number
  std::vector<Node> parents_;
  Hierarchy hierarchy_;
  LabelCodec codec_;

  AliasTable label_ranks_, word_ranks_;
  std::vector<LabelId> label_of_rank_;
  std::vector<FeatureId> word_of_rank_;
  std::vector<AliasTable> topic_ranks_;  // of the levels below the root
  std::uint64_t topic_seed_ = 0;

  // Of the present row.
  std::vector<LabelId> labels_;
  std::vector<FeatureId> columns_;
  std::vector<float> values_;
  std::vector<std::uint32_t> counts_;  // of each word
};

}  // namespace margrove
