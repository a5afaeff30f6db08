#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <set>

#include "margrove/errors.hpp"
#include "model_checks.hpp"
#include "multi_class.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/field/pairwise_field.hpp"

namespace margrove {
namespace {

using testing::all_vectors;
using testing::enumerate;
using testing::expect_same_answers;
using testing::random_rows;
using testing::random_weights;

static_assert(StructuredModel<ChainModel> && KBestOracle<ChainOracle> &&
              BanListOracle<ChainOracle> && EvaluatingOracle<ChainOracle>);
static_assert(StructuredModel<MultiClassModel>);
static_assert(StructuredModel<FieldModel> && KBestOracle<FieldOracle> &&
              BanListOracle<FieldOracle> && NeighbourOracle<FieldOracle> &&
              ConstrainedOracle<FieldOracle>);

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Enumeration, ties_go_as_the_contract_says) {
  const EnumerationOracle<int> oracle({{0, 0, 0}, {1, 2, 3}, {2, 1, 3}, {3, 2, 1}}, 0);
  EXPECT_EQ(oracle.argmax(0, 1).y, 1);  // g = 3 twice: the larger m
  EXPECT_EQ(oracle.argmax(1, 0).y, 1);  // m = 2 twice: the larger g
  const EnumerationOracle<int> equal({{0, 1, 1}, {1, 2, 0}, {2, 0, 2}}, 0);
  EXPECT_EQ(equal.argmax(1, 1).y, 0);  // all equal: the lowest
}

SequenceData random_sequences(Random& random, std::uint32_t num_tags) {
  SequenceData data;
  data.num_tags = num_tags;
  data.outside_tag = static_cast<std::uint32_t>(random.below(num_tags));
  for (int i = 0; i < 3; ++i) {
    const std::size_t length = 1 + random.below(5);
    data.pointers.push_back(data.pointers.back() + length);
    for (std::size_t t = 0; t < length; ++t) {
      data.tags.push_back(static_cast<std::uint32_t>(random.below(num_tags)));
    }
  }
  data.X = random_rows(random, data.tags.size(), 4);
  return data;
}

class Chain : public ::testing::TestWithParam<std::uint32_t> {};  // the order
INSTANTIATE_TEST_SUITE_P(Orders, Chain, ::testing::Values(1U, 2U));

TEST_P(Chain, equals_enumeration_for_every_lambda) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const auto K = static_cast<std::uint32_t>(1 + random.below(3));
    const SequenceData data = random_sequences(random, K);
    check_sequences(data);
    for (const Criteria criteria : {Criteria::hamming, Criteria::micro_f1}) {
      const ChainModel model(data, criteria, GetParam());
      auto w = random_weights(random, model.num_weights(), round % 3 == 0 ? 0.0 : 1.0);
      ChainWorkspace workspace;
      for (std::size_t i = 0; i < data.size(); ++i) {
        const ScaledWeights scaled{w, 0.7};
        const auto truth = model.truth(i);
        const auto reference =
            enumerate(model, i, scaled, all_vectors<std::uint32_t>(truth.size(), K),
                      [&](const TagSequence& y) {
                        double wrong = 0, size = 0, true_size = 0, common = 0;
                        for (std::size_t t = 0; t < y.size(); ++t) {
                          wrong += y[t] != truth[t];
                          size += y[t] != data.outside_tag;
                          true_size += truth[t] != data.outside_tag;
                          common += y[t] == truth[t] && y[t] != data.outside_tag;
                        }
                        if (criteria == Criteria::hamming) return std::pair(0.0, wrong);
                        return std::pair(size + true_size - 2 * common, -size - true_size);
                      });
        expect_same_answers(model.oracle(i, scaled, workspace), reference, random);
      }
    }
  }
}

TEST_P(Chain, equal_scores_go_to_the_lowest_tags) {
  SequenceData data;
  data.num_tags = 3;
  data.pointers = {0, 4};
  data.tags = {2, 2, 2, 2};
  data.X = CsrMatrix(1);
  for (int t = 0; t < 4; ++t) data.X.append_row({}, {});
  const ChainModel model(data, Criteria::hamming, GetParam());
  const std::vector<float> w(model.num_weights(), 0.0F);
  ChainWorkspace workspace;
  const auto oracle = model.oracle(0, {w}, workspace);
  EXPECT_EQ(oracle.argmax(1, 1).y, (TagSequence{0, 0, 0, 0}));
  EXPECT_EQ(oracle.argmax(0, 1).y, (TagSequence{0, 0, 0, 0}));
  EXPECT_EQ(oracle.decode(), (TagSequence{0, 0, 0, 0}));
}

TEST_P(Chain, adding_a_difference_is_adding_what_is_written_down) {
  Random random(4);
  for (const std::uint32_t K : {2U, 9U, 17U}) {
    SequenceData data;
    data.num_tags = K;
    data.X = random_rows(random, 12, 6);
    data.pointers = {0, 5, 12};
    for (int t = 0; t < 12; ++t) data.tags.push_back(static_cast<std::uint32_t>(random.below(K)));
    const ChainModel model(data, Criteria::hamming, GetParam());
    for (std::size_t i = 0; i < 2; ++i) {
      TagSequence y = model.truth(i);
      for (auto& tag : y) tag = random.below(2) ? static_cast<std::uint32_t>(random.below(K)) : tag;
      std::vector<float> at_once(model.num_weights(), 0.0F), written(at_once);
      model.add_difference(i, y, 1.5, at_once);
      SparseVector difference;
      model.difference(i, y, difference);
      for (std::size_t k = 0; k < difference.indices.size(); ++k) {
        written[difference.indices[k]] += 1.5F * difference.values[k];
      }
      for (std::size_t k = 0; k < written.size(); ++k) EXPECT_NEAR(at_once[k], written[k], 1e-5);
    }
  }
}

// Numbers of tags around the width of a vector; both ways of counting transitions.
TEST_P(Chain, viterbi_with_many_tags_is_the_best_of_its_own_k_best) {
  Random random(5);
  for (const std::uint32_t K : {1U, 7U, 8U, 9U, 17U, 26U}) {
    SequenceData data;
    data.num_tags = K;
    data.X = random_rows(random, 6, 4);
    data.pointers = {0, 6};
    for (int t = 0; t < 6; ++t) data.tags.push_back(static_cast<std::uint32_t>(random.below(K)));
    const ChainModel model(data, Criteria::hamming, GetParam());
    const auto w = random_weights(random, model.num_weights());
    ChainWorkspace workspace;
    const auto oracle = model.oracle(0, {w}, workspace);
    for (const double lambda : {0.3, 1.0, 4.0}) {
      const auto best = oracle.argmax(1.0, lambda);
      const auto ranked = oracle.k_best(1.0, lambda, 12);
      const auto value = [&](const auto& c) { return c.m + lambda * c.g; };
      EXPECT_NEAR(value(best), value(ranked.front()), 1e-9);
      for (std::size_t k = 1; k < ranked.size(); ++k) {
        EXPECT_GE(value(ranked[k - 1]), value(ranked[k]) - 1e-9);
        EXPECT_NE(ranked[k - 1].y, ranked[k].y);
      }
      EXPECT_EQ(ranked.size(), K == 1 ? 1U : 12U);
    }
  }
}

TEST_P(Chain, unknown_features_are_skipped_when_decoding) {
  Random random(2);
  const CsrMatrix X = random_rows(random, 3, 9);
  const CsrMatrix known = [&] {
    CsrMatrix rows(4);
    for (std::size_t t = 0; t < 3; ++t) {
      const auto row = X.row(t);
      std::size_t size = 0;
      while (size < row.size() && row.columns[size] < 4) ++size;
      rows.append_row(row.columns.first(size), row.values.first(size));
    }
    return rows;
  }();
  const ChainShape shape{4, 3, GetParam()};
  const auto w = random_weights(random, shape.num_weights());
  ChainWorkspace workspace;
  EXPECT_EQ(decode_chain(X, 0, 3, shape, {w}, workspace),
            decode_chain(known, 0, 3, shape, {w}, workspace));
}

// Two tags that follow each other in threes, which no sum of pairs can tell: a a b b a a b b.
TEST(SecondOrder, tells_what_two_tags_do_not) {
  SequenceData data;
  data.num_tags = 2;
  data.pointers = {0, 8};
  data.tags = {0, 0, 1, 1, 0, 0, 1, 1};
  data.X = CsrMatrix(1);
  for (int t = 0; t < 8; ++t) data.X.append_row({}, {});
  const ChainShape shape{1, 2, 2};
  std::vector<float> w(shape.num_weights(), 0.0F);
  for (const auto& [a, b, c] : {std::array{0, 0, 1}, {0, 1, 1}, {1, 1, 0}, {1, 0, 0}}) {
    w[shape.triples() + static_cast<std::size_t>((a * 2 + b) * 2 + c)] = 1.0F;
  }
  w[shape.start()] = 0.5F;
  w[shape.transitions()] = 0.25F;  // a a
  ChainWorkspace workspace;
  EXPECT_EQ(decode_chain(data.X, 0, 8, shape, {w}, workspace), data.tags);
  const ChainModel model(data, Criteria::hamming, 2);
  EXPECT_DOUBLE_EQ(model.oracle(0, {w}, workspace).score(data.tags), 6 + 0.5 + 2 * 0.25);
}

TEST(Sequences, broken_sequences_throw) {
  Random random(3);
  SequenceData data = random_sequences(random, 3);
  data.tags[1] = 7;
  EXPECT_EQ(message_of([&] { check_sequences(data); }), "sequences: tags[1] is 7, but must be < 3");
  data.tags.pop_back();
  EXPECT_EQ(message_of([&] { check_sequences(data); }),
            concat("sequences: there are ", data.tags.size(), " tags, but ", data.tags.size() + 1,
                   " tokens; there must be one tag per token"));
  SequenceData empty;
  empty.num_tags = 1;
  empty.pointers = {0, 0};
  EXPECT_EQ(message_of([&] { check_sequences(empty); }),
            "sequences: sequence 0 is empty, but must have at least one token");
  empty.pointers = {0, 2};
  EXPECT_EQ(message_of([&] { check_sequences(empty); }),
            "sequences: pointers end at 2, but must end at 0, the number of tokens");
  SequenceData outside = random_sequences(random, 2);
  outside.outside_tag = 2;
  EXPECT_EQ(message_of([&] { check_sequences(outside); }),
            "sequences: the outside tag is 2, but must be < 2");
}

TEST(MultiClass, equals_enumeration_for_every_lambda) {
  Random random(4);
  for (int round = 0; round < 50; ++round) {
    const auto K = static_cast<std::uint32_t>(2 + random.below(4));
    const CsrMatrix X = random_rows(random, 3, 5);
    std::vector<std::uint32_t> labels, all;
    for (int i = 0; i < 3; ++i) labels.push_back(static_cast<std::uint32_t>(random.below(K)));
    for (std::uint32_t k = 0; k < K; ++k) all.push_back(k);
    std::vector<double> losses;
    for (std::uint32_t k = 0; k < K * K && round % 2; ++k) {
      losses.push_back(k / K == k % K ? 0.0 : random.uniform());
    }
    const MultiClassModel model(X, labels, K, losses);
    const auto w = random_weights(random, model.num_weights());
    MultiClassModel::Workspace workspace;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto reference = enumerate(model, i, {w}, all, [&](std::uint32_t y) {
        const double zero_one = y == labels[i] ? 0.0 : 1.0;
        return std::pair(0.0, losses.empty() ? zero_one : losses[labels[i] * K + y]);
      });
      expect_same_answers(model.oracle(i, {w}, workspace), reference, random);
    }
  }
}

TEST(MultiClass, wrong_tables_throw) {
  Random random(5);
  const CsrMatrix X = random_rows(random, 2, 2);
  EXPECT_EQ(message_of([&] { MultiClassModel(X, {0}, 2); }),
            "multi-class model: there are 1 labels, but 2 rows; there must be one label per row");
  EXPECT_EQ(message_of([&] {
              MultiClassModel(X, {0, 2}, 2);
            }),
            "multi-class model: labels[1] is 2, but must be < 2");
  EXPECT_EQ(message_of([&] {
              MultiClassModel(X, {0, 1}, 2, {0, 1});
            }),
            "multi-class model: the table of losses has 2 entries, but must have 4");
  EXPECT_EQ(message_of([&] {
              MultiClassModel(X, {0, 1}, 2, {0, 1, 1, 2});
            }),
            "multi-class model: losses[1][1] is 2, but must be 0");
  EXPECT_EQ(message_of([&] {
              MultiClassModel(X, {0, 1}, 2, {0, -1, 1, 0});
            }),
            "multi-class model: losses[0][1] is -1, but must be >= 0");
}

double value_of(double constant, const std::vector<double>& u, const std::vector<double>& r,
                const std::vector<double>& y) {
  const std::size_t K = u.size();
  double sum = constant;
  for (std::size_t k = 0; k < K; ++k) {
    sum += u[k] * y[k];
    for (std::size_t l = k + 1; l < K; ++l) sum += r[k * K + l] * y[k] * y[l];
  }
  return sum;
}

TEST(RoofDual, bound_minus_penalties_is_the_function_and_persistent_labels_are_optimal) {
  Random random(6);
  int decided = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t K = 1 + random.below(7);
    std::vector<double> u(K), r(K * K, 0.0);
    const double spread = 1.0 + round % 4;  // the wider, the more is decided before the flow
    for (double& x : u) x = spread * random.normal();
    for (std::size_t k = 0; k < K; ++k) {
      for (std::size_t l = k + 1; l < K; ++l) {
        if (random.below(4)) r[k * K + l] = r[l * K + k] = random.normal();
      }
    }
    const double constant = random.normal();
    RoofDual dual;
    dual.solve(constant, u, r);
    double best = -1e300, best_persistent = -1e300;
    for (const auto& bits : all_vectors<std::uint8_t>(K, 2)) {
      const std::vector<double> y(bits.begin(), bits.end());
      const double value = value_of(constant, u, r, y);
      double penalties = 0;
      bool agrees = true;
      for (std::size_t k = 0; k < K; ++k) {
        EXPECT_GE(dual.penalty(k, bits[k]), -1e-12);
        penalties += dual.penalty(k, bits[k]);
        agrees = agrees && (dual.persistent()[k] < 0 || dual.persistent()[k] == bits[k]);
        for (std::size_t l = k + 1; l < K; ++l) {
          EXPECT_GE(dual.penalty(k, bits[k], l, bits[l]), -1e-12);
          penalties += dual.penalty(k, bits[k], l, bits[l]);
        }
      }
      EXPECT_NEAR(dual.bound() - penalties, value, 1e-9);
      best = std::max(best, value);
      if (agrees) best_persistent = std::max(best_persistent, value);
    }
    EXPECT_NEAR(best, best_persistent, 1e-9);
    for (const auto p : dual.persistent()) decided += p >= 0;
    // Submodular functions (all pairs attract) leave no gap.
    for (double& x : r) x = std::abs(x);
    dual.solve(constant, u, r);
    double best_attracting = -1e300;
    for (const auto& bits : all_vectors<std::uint8_t>(K, 2)) {
      best_attracting = std::max(
          best_attracting, value_of(constant, u, r, std::vector<double>(bits.begin(), bits.end())));
    }
    EXPECT_NEAR(dual.bound(), best_attracting, 1e-9);
  }
  EXPECT_GT(decided, 100);
}

TEST(Field, equals_enumeration_for_every_lambda) {
  Random random(7);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const auto K = static_cast<std::uint32_t>(1 + random.below(6));
    const CsrMatrix X = random_rows(random, 2, 4);
    LabelSets labels;
    for (int i = 0; i < 2; ++i) {
      std::vector<LabelId> set;
      for (LabelId l = 0; l < K; ++l) {
        if (random.below(2)) set.push_back(l);
      }
      labels.append(set);
    }
    for (const Criteria criteria : {Criteria::hamming, Criteria::micro_f1}) {
      const std::size_t max_tabulated = round % 2 ? 0 : 16;
      const double pair_scale = round % 3 ? 1.0 : 0.3;
      const FieldModel model(
          X, labels, K,
          {.criteria = criteria, .max_tabulated = max_tabulated, .pair_scale = pair_scale});
      const auto w = random_weights(random, model.num_weights(), round % 4 == 0 ? 0.0 : 0.7);
      FieldWorkspace workspace;
      for (std::size_t i = 0; i < 2; ++i) {
        const auto truth = model.truth(i);
        const auto reference =
            enumerate(model, i, {w}, all_vectors<std::uint8_t>(K, 2), [&](const LabelVector& y) {
              double wrong = 0, size = 0, true_size = 0;
              for (std::size_t k = 0; k < K; ++k) {
                wrong += y[k] != truth[k];
                size += y[k];
                true_size += truth[k];
              }
              if (criteria == Criteria::hamming) return std::pair(0.0, wrong);
              return std::pair(wrong, -size - true_size);
            });
        const auto oracle = model.oracle(i, {w}, workspace);
        expect_same_answers(oracle, reference, random);
        EXPECT_TRUE(oracle.is_exact());
        std::vector<LabelVector> some;
        for (const auto& y : all_vectors<std::uint8_t>(K, 2)) {
          if (some.empty() || random.below(4) == 0) some.push_back(y);
        }
        testing::expect_implicit_differences(model, i, some, random);
        for (const double lambda : {0.1, 1.0, 5.0}) {
          const auto relaxed = oracle.relaxed_argmax(1, lambda);
          const auto best = reference.argmax(1, lambda);
          EXPECT_GE(relaxed.m + lambda * relaxed.g, best.m + lambda * best.g - 1e-5);
        }
      }
    }
  }
}

TEST(Field, relaxed_optimum_is_the_roof_dual_bound) {
  Random random(8);
  for (int round = 0; round < 100; ++round) {
    const std::uint32_t K = 6;
    const CsrMatrix X = random_rows(random, 1, 3);
    LabelSets labels;
    labels.append(std::vector<LabelId>{1, 2});
    const FieldModel model(X, labels, K);
    const auto w = random_weights(random, model.num_weights());
    FieldWorkspace workspace;
    const auto oracle = model.oracle(0, {w}, workspace);
    const auto relaxed = oracle.relaxed_argmax(1, 1);
    EXPECT_NEAR(relaxed.m + relaxed.g, workspace.dual.bound(), 1e-6);
  }
}

TEST(Field, labels_out_of_range_throw) {
  Random random(9);
  const CsrMatrix X = random_rows(random, 1, 2);
  LabelSets labels;
  EXPECT_EQ(message_of([&] { FieldModel(X, labels, 2); }),
            "field model: there are 0 label sets, but 1 rows; there must be one label set per row");
  labels.append(std::vector<LabelId>{5});
  EXPECT_EQ(message_of([&] { FieldModel(X, labels, 2); }),
            "field model: a label of row 0 is 5, but must be < 2");
}

}  // namespace
}  // namespace margrove
