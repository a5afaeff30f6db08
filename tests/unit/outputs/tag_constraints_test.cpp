#include "outputs/chain/tag_constraints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "margrove/errors.hpp"
#include "model_checks.hpp"
#include "outputs/chain/sequence_metrics.hpp"

namespace margrove {
namespace {

const std::vector<std::string> kBio{"O", "B-A", "I-A", "B-B", "I-B"};
const std::vector<std::string> kBioes{"O", "S-A", "B-A", "I-A", "E-A", "E-B", "I-B", "B-B"};

/// By definition: the tags of the spans, written anew, are the same tags.
bool obeys(TagScheme scheme, const std::vector<std::string>& names, const TagSequence& tags) {
  std::vector<std::string> text;
  for (const std::uint32_t tag : tags) text.push_back(names[tag]);
  const std::vector<std::string_view> views(text.begin(), text.end());
  std::vector<std::string> rewritten(tags.size(), "O");
  for (const Span& span : spans_of(views)) {
    for (std::size_t t = span.begin; t < span.end; ++t) {
      const bool is_first = t == span.begin, is_last = t + 1 == span.end;
      const char* prefix = is_first ? "B-" : "I-";
      if (scheme == TagScheme::bioes && is_last) prefix = is_first ? "S-" : "E-";
      rewritten[t] = prefix + span.type;
    }
  }
  return rewritten == text;
}

TEST(TagConstraints, allow_exactly_the_sequences_that_their_spans_give) {
  for (const auto& [scheme, names] :
       {std::pair{TagScheme::bio, kBio}, {TagScheme::bioes, kBioes}}) {
    SCOPED_TRACE(name_of(scheme));
    const TagConstraints constraints(scheme, names);
    for (std::size_t length = 1; length <= 4; ++length) {
      for (const auto& tags :
           testing::all_vectors<std::uint32_t>(length, static_cast<std::uint32_t>(names.size()))) {
        EXPECT_EQ(constraints.allows(tags), obeys(scheme, names, tags));
      }
    }
  }
}

SequenceData random_tokens(Random& random, std::size_t length, std::uint32_t num_tags) {
  SequenceData data;
  data.num_tags = num_tags;
  data.X = CsrMatrix(3);
  for (std::size_t t = 0; t < length; ++t) {
    const std::vector<FeatureId> columns{0, 1, 2};
    std::vector<float> values;
    for (int j = 0; j < 3; ++j) values.push_back(static_cast<float>(random.normal()));
    data.X.append_row(columns, values);
    data.tags.push_back(0);
  }
  data.pointers.push_back(length);
  return data;
}

TEST(TagConstraints, decoding_finds_the_best_allowed_sequence_with_and_without_offset) {
  Random random(1);
  for (const auto& [scheme, names] :
       {std::pair{TagScheme::bio, kBio}, {TagScheme::bioes, kBioes}}) {
    const TagConstraints constraints(scheme, names);
    const auto num_tags = static_cast<std::uint32_t>(names.size());
    for (int round = 0; round < 60; ++round) {
      SCOPED_TRACE(round);
      const ChainShape shape{3, num_tags, round < 30 ? 1U : 2U};
      const std::size_t length = 1 + random.below(4);
      const SequenceData data = random_tokens(random, length, num_tags);
      const auto w = testing::random_weights(random, shape.num_weights());
      const double amount = round % 2 ? 0.0 : random.normal();
      ChainWorkspace workspace;
      const TagSequence found =
          decode_chain(data.X, 0, length, shape, {w, 1.0}, workspace, {amount, 0, &constraints});
      EXPECT_TRUE(constraints.allows(found));
      const ChainModel model(data, Criteria::hamming, shape.order);
      const ChainOracle oracle = model.oracle(0, {w, 1.0}, workspace);
      const auto value = [&](const TagSequence& tags) {
        const auto inside = std::ssize(tags) - std::ranges::count(tags, 0U);
        return oracle.score(tags) + amount * static_cast<double>(inside);
      };
      double best = -std::numeric_limits<double>::infinity();
      for (const auto& tags : testing::all_vectors<std::uint32_t>(length, num_tags)) {
        if (constraints.allows(tags)) best = std::max(best, value(tags));
      }
      EXPECT_NEAR(value(found), best, 1e-9);
    }
  }
}

TagScheme resolved(const std::vector<std::string>& names, const TagSequence& tags) {
  SequenceData data;
  data.tags = tags;
  data.num_tags = static_cast<std::uint32_t>(names.size());
  data.pointers = {0, tags.size()};
  return tag_constraints(TagScheme::automatic, data, names).scheme();
}

TEST(TagConstraints, automatic_is_the_scheme_that_the_training_tags_have_and_obey) {
  EXPECT_EQ(resolved(kBio, {0, 1, 2, 3, 0}), TagScheme::bio);
  EXPECT_EQ(resolved(kBio, {0, 1, 4}), TagScheme::none);  // I-B after B-A
  EXPECT_EQ(resolved(kBio, {2, 0}), TagScheme::none);     // begins with I-A
  EXPECT_EQ(resolved(kBioes, {0, 1, 2, 3, 4, 0}), TagScheme::bioes);
  EXPECT_EQ(resolved(kBioes, {0, 2, 0}), TagScheme::none);          // B-A stays open
  EXPECT_EQ(resolved({"O", "I-A"}, {0, 1, 1}), TagScheme::none);    // spans without beginnings
  EXPECT_EQ(resolved({"NOUN", "VERB"}, {0, 1}), TagScheme::none);   // no spans
  EXPECT_EQ(resolved({"B-A", "I-A"}, {0, 1, 0}), TagScheme::none);  // nothing is outside
}

TEST(TagConstraints, tags_of_another_form_throw) {
  const auto message_of = [](TagScheme scheme, const std::vector<std::string>& tags) {
    try {
      const TagConstraints constraints(scheme, tags);
    } catch (const InvalidOption& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_EQ(
      message_of(TagScheme::bio, {"NOUN", "VERB"}),
      "option constraints is bio, but not all tags are O or have a prefix B-, I-, E- or S- (in "
      "BILOU L- and U- for the last two)");
  EXPECT_EQ(message_of(TagScheme::bioes, {"B-A", "I-A", "E-A"}),
            "option constraints is bioes, but no tag may both begin and end a sequence");
  EXPECT_EQ(message_of(TagScheme::none, {"NOUN"}), "nothing thrown");
}

}  // namespace
}  // namespace margrove
