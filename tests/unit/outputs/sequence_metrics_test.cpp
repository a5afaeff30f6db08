#include "outputs/chain/sequence_metrics.hpp"

#include <gtest/gtest.h>

#include "outputs/tree/attachment_scores.hpp"

namespace margrove {
namespace {

using Tags = std::vector<std::string_view>;

std::vector<Span> spans(const Tags& tags) { return spans_of(tags); }

TEST(Spans, begin_and_end_where_the_conll_script_says) {
  EXPECT_EQ(spans({"B-PER", "I-PER", "O", "B-LOC"}),
            (std::vector<Span>{{0, 2, "PER"}, {3, 4, "LOC"}}));
  EXPECT_EQ(spans({"B-PER", "B-PER"}), (std::vector<Span>{{0, 1, "PER"}, {1, 2, "PER"}}));
  // IOB1: a chunk may begin with I, and a change of type begins another one.
  EXPECT_EQ(spans({"I-PER", "I-PER", "I-LOC", "O", "I-LOC"}),
            (std::vector<Span>{{0, 2, "PER"}, {2, 3, "LOC"}, {4, 5, "LOC"}}));
  EXPECT_EQ(spans({"I-PER", "B-PER", "I-PER"}), (std::vector<Span>{{0, 1, "PER"}, {1, 3, "PER"}}));
  // IOBES
  EXPECT_EQ(spans({"S-PER", "I-PER", "E-PER", "I-PER", "O"}),
            (std::vector<Span>{{0, 1, "PER"}, {1, 3, "PER"}, {3, 4, "PER"}}));
  EXPECT_EQ(spans({"O", "O"}), std::vector<Span>{});
  // BILOU
  EXPECT_EQ(spans({"U-PER", "B-PER", "I-PER", "L-PER", "I-PER", "O"}),
            (std::vector<Span>{{0, 1, "PER"}, {1, 4, "PER"}, {4, 5, "PER"}}));
  // Without types
  EXPECT_EQ(spans({"B", "I", "B", "O", "I", "U", "B", "L"}),
            (std::vector<Span>{{0, 2, ""}, {2, 3, ""}, {4, 5, ""}, {5, 6, ""}, {6, 8, ""}}));
}

TEST(Spans, are_recognised_by_their_tags) {
  EXPECT_TRUE(are_span_tags(std::vector<std::string>{"O", "B-PER", "I-PER"}));
  EXPECT_FALSE(are_span_tags(std::vector<std::string>{"NOUN", "O"}));
  EXPECT_FALSE(are_span_tags(std::vector<std::string>{"O"}));
  EXPECT_TRUE(are_span_tags(std::vector<std::string>{"B", "O", "I"}));
  EXPECT_TRUE(are_span_tags(std::vector<std::string>{"B-X", "L-X", "U-X", "O", "I-X"}));
  EXPECT_FALSE(are_span_tags(std::vector<std::string>{"B", "I"}));  // perhaps other tags
  EXPECT_FALSE(are_span_tags(std::vector<std::string>{"B", "N", "O"}));
  EXPECT_FALSE(are_span_tags(std::vector<std::string>{"B-", "O"}));
}

TEST(SequenceScores, count_tokens_sentences_and_spans) {
  SequenceScores scores;
  EXPECT_EQ(scores.span_f1(), 0.0);
  scores.add(Tags{"B-PER", "I-PER", "O", "B-LOC"}, Tags{"B-PER", "I-PER", "O", "O"});
  scores.add(Tags{"O", "B-LOC"}, Tags{"B-LOC", "B-LOC"});
  scores.add(Tags{"O"}, Tags{"O"});
  EXPECT_DOUBLE_EQ(scores.token_accuracy(), 5.0 / 7);
  EXPECT_DOUBLE_EQ(scores.sentence_accuracy(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(scores.span_precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(scores.span_recall(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(scores.span_f1(), 2.0 / 3);
}

TEST(AttachmentScores, are_shares_of_the_words) {
  const AttachmentScores scores{8, 6, 4};
  EXPECT_DOUBLE_EQ(scores.unlabelled(), 0.75);
  EXPECT_DOUBLE_EQ(scores.labelled(), 0.5);
}

}  // namespace
}  // namespace margrove
