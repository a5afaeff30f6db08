#include "outputs/tree/labelled_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "margrove/errors.hpp"
#include "model_checks.hpp"
#include "outputs/tree/parser_training.hpp"
#include "outputs/tree/relation_classifier.hpp"
#include "parser_problems.hpp"
#include "structured/train_structured.hpp"

namespace margrove {
namespace {

using testing::all_labelled_trees;
using testing::enumerate;
using testing::expect_same_answers;
using testing::random_sentence;
using testing::random_weights;

static_assert(StructuredModel<LabelledModel> && KBestOracle<LabelledOracle> &&
              BanListOracle<LabelledOracle> && EvaluatingOracle<LabelledOracle>);
static_assert(StructuredModel<RelationModel> && EnumeratingOracle<RelationOracle>);

double loss_by_definition(const LabelledTree& truth, const LabelledTree& y, ParserLoss loss) {
  double wrong = 0;
  for (std::size_t k = 0; k < y.heads.size(); ++k) {
    const bool relation_counts = loss == ParserLoss::labelled;
    const bool wrong_relation = relation_counts && y.relations[k] != truth.relations[k];
    wrong += y.heads[k] != truth.heads[k] || wrong_relation ? 1 : 0;
  }
  return wrong;
}

TEST(LabelledTree, equals_enumeration_for_every_lambda_loss_and_sign_of_the_scale) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const std::size_t n = 1 + random.below(4);
    const auto num_relations = static_cast<std::uint32_t>(1 + random.below(n > 3 ? 2 : 3));
    const auto trees = all_labelled_trees(n, num_relations);
    const LabelledTree truth = trees[random.below(trees.size())];
    const ParserLoss loss = round % 2 ? ParserLoss::labelled : ParserLoss::heads;
    const LabelledModel model({random_sentence(random, n)}, {truth}, 10, num_relations, loss);
    const auto w = random_weights(random, model.num_weights(), round % 5 ? 0.3 : 0.0);
    const ScaledWeights scaled{w, round % 3 ? -0.7 : 1.0};
    LabelledWorkspace workspace;
    const auto reference = enumerate(model, 0, scaled, trees, [&](const LabelledTree& y) {
      return std::pair(0.0, loss_by_definition(truth, y, loss));
    });
    expect_same_answers(model.oracle(0, scaled, workspace), reference, random);
  }
}

TEST(LabelledTree, number_of_labelled_trees_is_what_k_best_finds) {
  Random random(2);
  for (std::size_t n = 1; n <= 4; ++n) {
    const auto trees = all_labelled_trees(n, 2);
    const LabelledModel model({random_sentence(random, n)}, {trees.front()}, 10, 2,
                              ParserLoss::labelled);
    const auto w = random_weights(random, model.num_weights());
    LabelledWorkspace workspace;
    EXPECT_EQ(model.oracle(0, {w}, workspace).k_best(1, 1, 100000).size(), trees.size());
  }
}

TEST(LabelledTree, decoded_tree_is_the_best_scored_one) {
  Random random(3);
  const ParserSentence sentence = random_sentence(random, 6);
  const LabelledTree truth{{0, 1, 1, 1, 1, 1}, {0, 1, 2, 3, 4, 5}};
  const LabelledModel model({sentence}, {truth}, 12, 6, ParserLoss::labelled);
  const auto w = random_weights(random, model.num_weights());
  LabelledWorkspace workspace;
  const auto best = model.oracle(0, {w}, workspace).argmax(1, 0);
  EXPECT_EQ(decode_labelled(sentence, model.shape(), {w}, workspace), best.y);
}

TEST(LabelledTree, scores_of_an_arc_are_the_same_with_and_without_the_sums_of_words) {
  Random random(4);
  const ParserSentence sentence = random_sentence(random, 7);
  const RelationShape shape{.bits = 10, .num_relations = 11, .begin = 32};
  const auto w = random_weights(random, shape.begin + shape.num_weights());
  RelationWorkspace first, second;
  const RelationScorer scorer(sentence, shape, {w, 2.0}, first);
  for (std::size_t head = 0; head <= 7; ++head) {
    for (std::size_t word = 1; word <= 7; ++word) {
      if (head == word) continue;
      const auto scores = scorer(head, word);
      const auto single = arc_relation_scores(sentence, head, word, shape, {w, 2.0}, second);
      ASSERT_EQ(scores.size(), 11);
      for (std::size_t r = 0; r < 11; ++r) EXPECT_NEAR(scores[r], single[r], 1e-9);
    }
  }
}

TEST(LabelledTree, rows_of_features_stay_within_the_table) {
  Random random(5);
  const RelationShape shape{.bits = 8, .num_relations = 50, .begin = 256};
  for (int round = 0; round < 50; ++round) {
    const ParserSentence sentence = random_sentence(random, 6);
    std::vector<std::uint32_t> places;
    relation_features(sentence, random.below(6), 6, shape, places);
    for (const std::uint32_t place : places) {
      EXPECT_GE(place, shape.begin);
      EXPECT_LE(place + shape.width(), shape.begin + shape.num_weights());
    }
  }
}

/// Sentences with random trees, and the largest losses of their trees by enumeration.
struct Problem {
  std::vector<ParserSentence> sentences;
  std::vector<LabelledTree> trees;

  explicit Problem(std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < 6; ++i) {
      const std::size_t n = 1 + random.below(3);
      const auto all = all_labelled_trees(n, 3);
      sentences.push_back(random_sentence(random, n));
      trees.push_back(all[random.below(all.size())]);
    }
  }
  LabelledModel model(ParserLoss loss) const { return {sentences, trees, 10, 3, loss}; }

  double objective(const std::vector<float>& w, const DynamicSurrogate& psi, double C,
                   ParserLoss loss) const {
    const LabelledModel labelled = model(loss);
    double sum = 0.5 * squared_norm({w, 1.0});
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      double worst = 0.0;
      for (const LabelledTree& y : all_labelled_trees(sentences[i].size(), 3)) {
        SparseVector difference;
        labelled.difference(i, y, difference);
        const double g = loss_by_definition(trees[i], y, loss);
        if (y == trees[i]) continue;
        worst = std::max(worst, psi.value(dot({w, 1.0}, difference), g));
      }
      sum += C * worst;
    }
    return sum;
  }
};

TEST(LabelledTree, every_solver_reaches_the_objective_that_enumeration_finds) {
  const Problem problem(6);
  Executor executor(1);
  RunControl control;
  for (const ParserLoss loss : {ParserLoss::labelled, ParserLoss::heads}) {
    const LabelledModel model = problem.model(loss);
    for (const char* surrogate : {"margin", "slack"}) {
      SCOPED_TRACE(surrogate);
      const DynamicSurrogate psi(AnySurrogate::parse(surrogate));
      double first = 0;
      for (const auto solver :
           {StructuredSolver::bcfw, StructuredSolver::cutting_plane, StructuredSolver::one_slack}) {
        const StructuredTraining training{.surrogate = psi.any(),
                                          .solver = solver,
                                          .C = 0.4,
                                          .tolerance = 1e-3,
                                          .max_passes = 200};
        const auto result = train_structured(model, training, executor, control);
        EXPECT_EQ(result.fit.stop, Stop::converged);
        EXPECT_TRUE(result.fit.certified);
        EXPECT_LE(result.fit.relative_gap, 2e-3);
        const double objective = problem.objective(result.weights, psi, 0.4, loss);
        EXPECT_NEAR(result.fit.primal, objective, 1e-5 * objective);
        if (first == 0) first = objective;
        EXPECT_NEAR(objective, first, 2e-3 * first);
      }
    }
  }
}

TEST(LabelledTree, subgradients_lower_the_objective_of_every_surrogate) {
  const Problem problem(7);
  const LabelledModel model = problem.model(ParserLoss::labelled);
  Executor executor(1);
  RunControl control;
  for (const char* surrogate :
       {"margin", "slack", "generalised:0.5,1.25", "beta:0.5", "log", "prob", "prob-convex"}) {
    SCOPED_TRACE(surrogate);
    const DynamicSurrogate psi(AnySurrogate::parse(surrogate));
    const StructuredTraining training{
        .surrogate = psi.any(), .solver = StructuredSolver::sgd, .C = 1.0, .epochs = 300};
    const auto result = train_structured(model, training, executor, control);
    const std::vector<float> zero(model.num_weights(), 0.0F);
    EXPECT_LT(problem.objective(result.weights, psi, 1.0, ParserLoss::labelled),
              problem.objective(zero, psi, 1.0, ParserLoss::labelled));
  }
}

TEST(LabelledTree, relations_of_given_arcs_reach_the_optimum_that_enumeration_confirms) {
  const Problem problem(8);
  const RelationModel model(problem.sentences, problem.trees, {.bits = 9, .num_relations = 3});
  Executor executor(1);
  RunControl control;
  for (const char* surrogate : {"margin", "slack"}) {
    const DynamicSurrogate psi(AnySurrogate::parse(surrogate));
    double first = 0;
    for (const auto solver : {StructuredSolver::bcfw, StructuredSolver::one_slack}) {
      const StructuredTraining training{.surrogate = psi.any(),
                                        .solver = solver,
                                        .C = 0.4,
                                        .tolerance = 1e-4,
                                        .max_passes = 2000};
      const auto result = train_structured(model, training, executor, control);
      EXPECT_EQ(result.fit.stop, Stop::converged);
      double objective = 0.5 * squared_norm({result.weights, 1.0});
      for (std::size_t i = 0; i < model.num_examples(); ++i) {
        double worst = 0;
        for (std::uint32_t r = 0; r < 3; ++r) {
          SparseVector difference;
          model.difference(i, r, difference);
          if (r == model.truth(i)) continue;
          worst = std::max(worst, psi.value(dot({result.weights, 1.0}, difference), 1.0));
        }
        objective += 0.4 * worst;
      }
      EXPECT_NEAR(result.fit.primal, objective, 1e-5 * objective);
      if (first == 0) first = objective;
      EXPECT_NEAR(objective, first, 3e-4 * first);
    }
  }
}

TEST(LabelledTree, separate_training_is_one_certified_problem_and_keeps_the_heads) {
  const Problem problem(9);
  Executor executor(1);
  RunControl control;
  DependencySvmOptions options;
  options.hash_bits = 10;
  options.tolerance = 1e-3;
  options.max_passes = 1000;
  options.solver = StructuredSolver::bcfw;
  options.relations = RelationKind::table;
  const auto heads = fit_parser(problem.sentences, problem.trees, 3, options, executor, control);
  options.relations = RelationKind::separate;
  const auto both = fit_parser(problem.sentences, problem.trees, 3, options, executor, control);
  ASSERT_EQ(both.weights.size(), 2 * heads.weights.size());
  EXPECT_TRUE(std::equal(heads.weights.begin(), heads.weights.end(), both.weights.begin()));
  EXPECT_EQ(both.fit.stop, Stop::converged);
  EXPECT_TRUE(both.fit.certified);
  EXPECT_GT(both.fit.primal, heads.fit.primal);
  EXPECT_LE(both.fit.relative_gap, 1e-3);
}

TEST(LabelledTree, joint_training_gives_the_same_bits_on_any_number_of_threads) {
  const Problem problem(10);
  DependencySvmOptions options;
  options.hash_bits = 10;
  options.solver = StructuredSolver::bcfw;
  std::vector<float> first;
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    RunControl control;
    const auto fit = fit_parser(problem.sentences, problem.trees, 3, options, executor, control);
    if (first.empty()) first = fit.weights;
    EXPECT_EQ(fit.weights, first);
  }
}

template <class Error>
std::string message_of(const auto& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(LabelledTree, wrong_relations_and_options_throw) {
  Random random(11);
  const ParserSentence sentence = random_sentence(random, 2);
  const auto build = [&](std::vector<std::uint32_t> relations, std::uint32_t num_relations,
                         int bits = 10) {
    return [&, relations, num_relations, bits] {
      LabelledModel({sentence}, {{{0, 1}, relations}}, bits, num_relations, ParserLoss::labelled);
    };
  };
  EXPECT_EQ(message_of<InvalidInput>(build({0}, 2)),
            "dependency model: sentence 0 has 2 words and 1 relations, but must have one relation "
            "per word");
  EXPECT_EQ(message_of<InvalidInput>(build({0, 2}, 2)),
            "dependency model: the relation of word 2 in sentence 0 is 2, but must be < 2");
  EXPECT_EQ(message_of<InvalidOption>(build({0, 1}, 100, 8)),
            "option hash_bits is 8, which gives relations 256 weights, but there must be at least "
            "416 for 100 relations");
  DependencySvmOptions options;
  options.relations = RelationKind::separate;
  options.loss = ParserLoss::heads;
  Executor executor(1);
  RunControl control;
  EXPECT_EQ(message_of<InvalidOption>([&] {
              fit_parser({sentence}, {{{0, 1}, {0, 1}}}, 2, options, executor, control);
            }),
            "option loss is heads, but relations is separate, where heads and relations have "
            "losses of their own; use relations joint");
}

}  // namespace
}  // namespace margrove
