#pragma once
// Linear chains as a type of output: `--model chain`.

#include <optional>
#include <string>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/chain/column_reader.hpp"
#include "outputs/chain/tag_constraints.hpp"
#include "outputs/output_type.hpp"

namespace margrove {

struct ChainSvmOptions : StructuredOptions {
  int order = 1;
  int min_feature_count = 1;
  bool word_pairs = true;
  std::optional<int> word_clusters;  // none: `auto`
  TagScheme constraints = TagScheme::automatic;
  ColumnComments comments = ColumnComments::automatic;

  static auto own_fields() {
    return std::tuple{
        field("order", &ChainSvmOptions::order, between(1, 2),
              "1: two tags in a row have a score; 2: and three tags in a row, in about K times the "
              "time of a search for K tags"),
        field("min_feature_count", &ChainSvmOptions::min_feature_count, at_least(1),
              "features that occur less often are left out"),
        field("word_pairs", &ChainSvmOptions::word_pairs,
              "whether a word together with the word before it, and with the word behind it, is a "
              "feature if it occurs twice"),
        field(
            "word_clusters", &ChainSvmOptions::word_clusters, non_negative,
            "number of hierarchical clusters (Brown et al.) into which the training words that "
            "occur twice are divided by their neighbours; the clusters of a token and of its "
            "neighbours are features; 0: none; auto: with start those of the earlier model, if it "
            "has some, otherwise 64 where tags stand for spans, and 0 elsewhere"),
        field("constraints", &ChainSvmOptions::constraints,
              "which tags may follow each other in answers: bio: I-X only after B-X or I-X; bioes: "
              "a span is S-X, or B-X, any number of I-X, and E-X; auto: one of these where the "
              "training tags have that form and obey it everywhere; none: any"),
        field(
            "comments", &ChainSvmOptions::comments,
            "lines of a file that stand before a sentence and begin with # and a blank: hash: they "
            "are comments, for the model's later files, too; none: they are tokens; auto: they "
            "are tokens, but an error if no other token is # or has their tag"),
    };
  }
};

/// Throws InvalidOption for a surrogate, search and solver that do not go together (bcfw needs a
/// surrogate affine in the margin, cutting planes a convex one), and what check_sequences() throws.
/// start: weights of the same features and tags to start from, or none. checkpoint: where bcfw and
/// sgd leave their state and find that of an earlier run, or null.
StructuredWeights fit_chain(const SequenceData& data, const ChainSvmOptions& options,
                            Executor& executor, RunControl& control,
                            std::span<const float> start = {}, Checkpoint* checkpoint = nullptr);

OutputType chain_output();

}  // namespace margrove
