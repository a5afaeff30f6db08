#include "outputs/tree/dependency_tree.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "margrove/errors.hpp"
#include "model_checks.hpp"
#include "parser_problems.hpp"

namespace margrove {
namespace {

using testing::all_trees;
using testing::enumerate;
using testing::expect_same_answers;
using testing::random_sentence;
using testing::random_weights;

static_assert(StructuredModel<DependencyModel> && KBestOracle<DependencyOracle> &&
              BanListOracle<DependencyOracle> && EvaluatingOracle<DependencyOracle>);

TEST(Dependency, equals_enumeration_for_every_lambda) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const std::size_t n = 1 + random.below(5);
    const auto trees = all_trees(n);
    const DependencyTree truth = trees[random.below(trees.size())];
    const DependencyModel model({random_sentence(random, n)}, {truth}, 10);
    const auto w = random_weights(random, model.num_weights(), round % 4 ? 0.3 : 0.0);
    DependencyWorkspace workspace;
    const auto reference = enumerate(model, 0, {w}, trees, [&](const DependencyTree& y) {
      double wrong = 0;
      for (std::size_t k = 0; k < n; ++k) wrong += y[k] != truth[k];
      return std::pair(0.0, wrong);
    });
    expect_same_answers(model.oracle(0, {w}, workspace), reference, random);
  }
}

TEST(Dependency, number_of_projective_trees_is_what_k_best_finds) {
  Random random(2);
  for (std::size_t n = 1; n <= 5; ++n) {
    const auto trees = all_trees(n);
    const DependencyModel model({random_sentence(random, n)}, {trees.front()}, 10);
    const auto w = random_weights(random, model.num_weights());
    DependencyWorkspace workspace;
    EXPECT_EQ(model.oracle(0, {w}, workspace).k_best(1, 1, 10000).size(), trees.size());
  }
}

TEST(Dependency, decoded_tree_is_the_best_scored_one) {
  Random random(3);
  const ParserSentence sentence = random_sentence(random, 5);
  const auto trees = all_trees(5);
  const DependencyModel model({sentence}, {trees.front()}, 12);
  const auto w = random_weights(random, model.num_weights());
  DependencyWorkspace workspace;
  const auto best = model.oracle(0, {w}, workspace).argmax(1, 0);
  EXPECT_EQ(decode_tree(sentence, 12, {w}, workspace), best.y);
}

TEST(Dependency, broken_trees_throw) {
  Random random(4);
  const auto message_of = [&](DependencyTree heads, int bits = 10, std::size_t words = 3) {
    try {
      DependencyModel({random_sentence(random, words)}, {heads}, bits);
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_EQ(message_of({0, 1, 2}), "nothing thrown");
  EXPECT_EQ(message_of({0, 1}),
            "dependency model: sentence 0 has 3 words and 2 heads, but must have one head per word "
            "and at least one word");
  EXPECT_EQ(
      message_of({0, 1, 3}),
      "dependency model: the head of word 3 in sentence 0 is 3, but must be another word or 0");
  EXPECT_EQ(message_of({0, 0, 1}), "dependency model: sentence 0 has 2 roots, but must have one");
  EXPECT_EQ(
      message_of({0, 3, 2}),
      "dependency model: word 2 of sentence 0 is on or below a cycle, but the heads must form "
      "a tree");
  EXPECT_EQ(message_of({3, 0, 2}),
            "dependency model: the arcs to words 1 and 2 of sentence 0 cross, but the tree must be "
            "projective");
  EXPECT_EQ(message_of({0, 1, 2}, 40),
            "dependency model: bits is 40, but must be between 8 and 30");
  try {
    DependencyModel({}, {{0}}, 10);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "dependency model: there are 1 trees, but 0 sentences");
  }
}

}  // namespace
}  // namespace margrove
