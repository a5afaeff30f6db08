#include "outputs/label_set/label_set_oracle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "margrove/errors.hpp"
#include "structured/structured_fit.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

static_assert(ImplicitDifferences<LabelSetModel> && AppendedProducts<LabelSetModel>);
static_assert(BoundingOracle<LabelSetModel::Oracle> && SteppingOracle<LabelSetModel::Oracle>);

class LabelSetOracle : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  testing::TinyProblem problem_ =
      testing::tiny_problem(static_cast<std::uint32_t>(3 + GetParam() % 10),
                            GetParam() % 2 == 0 ? 0.0 : 0.4, 5, 7, GetParam());
  LabelSets leaves_ = testing::random_leaf_sets(problem_, GetParam());
  LabelSetModel model_{problem_.X, leaves_, problem_.graph, problem_.alpha};
  std::vector<std::vector<NodeId>> all_ = testing::all_label_sets(problem_.graph);
  LabelSetModel::Workspace workspace_;
  std::vector<float> w_ = [this] {
    Random random(GetParam(), 9);
    std::vector<float> w(model_.num_weights());
    for (float& each : w) each = static_cast<float>(random.normal());
    return w;
  }();
};

TEST_P(LabelSetOracle, argmax_equals_enumeration_of_the_label_sets) {
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    const auto oracle = model_.oracle(i, {w_, 0.5}, workspace_);
    for (const auto& [w_m, w_g] : {std::pair{1.0, 1.0}, {0.0, 1.0}, {1.0, 0.0}, {0.3, 2.0}}) {
      double best = -1e300;
      for (const auto& nodes : all_) {
        const NodeShares y{nodes, {}};
        SparseVector difference;
        model_.difference(i, y, difference);
        double loss = 0.0;
        for (const NodeId leaf : problem_.graph.leaves()) {
          loss += std::ranges::binary_search(nodes, leaf) !=
                  std::ranges::binary_search(leaves_[i], leaf);
        }
        EXPECT_EQ(oracle.evaluate(y).g, loss);
        EXPECT_NEAR(oracle.evaluate(y).m, dot({w_, 0.5}, difference), 1e-4);
        best = std::max(best, w_m * oracle.evaluate(y).m + w_g * loss);
      }
      const auto found = oracle.argmax(w_m, w_g);
      EXPECT_NEAR(w_m * found.m + w_g * found.g, best, 1e-9);
    }
    EXPECT_EQ(oracle.evaluate(oracle.truth().y).m, 0.0);
    EXPECT_EQ(oracle.evaluate(oracle.truth().y).g, 0.0);
  }
}

TEST_P(LabelSetOracle, the_relaxed_maximum_bounds_the_exact_one_and_meets_it_on_trees) {
  const LabelSetModel relaxed(problem_.X, leaves_, problem_.graph, problem_.alpha,
                              NodeStorage::dense, {Inference::relaxed});
  LabelSetModel::Workspace workspace;
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    const auto exact = model_.oracle(i, {w_, 0.5}, workspace_);
    const auto oracle = relaxed.oracle(i, {w_, 0.5}, workspace);
    for (const auto& [w_m, w_g] : {std::pair{1.0, 1.0}, {0.0, 1.0}, {1.0, 0.0}, {0.3, 2.0}}) {
      const auto best = exact.argmax(w_m, w_g);
      const auto found = oracle.argmax(w_m, w_g);
      const double value = w_m * best.m + w_g * best.g, bound = w_m * found.m + w_g * found.g;
      EXPECT_GE(bound, value - 1e-7);
      if (found.y.shares.empty()) {
        EXPECT_NEAR(bound, value, 1e-7);
      }
      if (problem_.graph.is_tree()) {
        EXPECT_TRUE(found.y.shares.empty());
      }
    }
  }
}

TEST_P(LabelSetOracle, an_approximate_answer_is_attained_and_its_bound_covers_the_best) {
  for (const auto maximum : {Inference::exact, Inference::relaxed}) {
    const LabelSetModel model(problem_.X, leaves_, problem_.graph, problem_.alpha,
                              NodeStorage::dense, {maximum});
    LabelSetModel::Workspace workspace;
    for (std::size_t i = 0; i < model.num_examples(); ++i) {
      const auto oracle = model.oracle(i, {w_, 0.5}, workspace);
      for (const auto& [w_m, w_g] : {std::pair{1.0, 1.0}, {0.3, 2.0}}) {
        const auto value = [&, m = w_m, g = w_g](const auto& y) { return m * y.m + g * y.g; };
        const double best = value(oracle.argmax(w_m, w_g));
        for (const SearchGoal& goal :
             {SearchGoal{.gap = 0.2},
              SearchGoal{.accuracy = Accuracy::approximate, .gain_share = 0.5, .floor = 0.0},
              SearchGoal::heuristic()}) {
          const auto found = oracle.approximate_argmax(w_m, w_g, goal);
          EXPECT_NEAR(value(oracle.evaluate(found.candidate.y)), value(found.candidate), 1e-12);
          EXPECT_LE(value(found.candidate), best + 1e-9);
          EXPECT_GE(found.bound, best - 1e-9);
          if (!goal.is_heuristic()) {
            EXPECT_LE(found.bound - value(found.candidate),
                      goal.allowed_gap(value(found.candidate)) + 1e-9);
          }
        }
      }
    }
  }
}

TEST_P(LabelSetOracle, steps_are_label_sets_on_the_way_to_what_each_leaf_gains) {
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    const auto oracle = model_.oracle(i, {w_, 0.5}, workspace_);
    for (const auto& nodes : all_) {
      const NodeShares y{nodes, {}};
      const auto at_y = oracle.evaluate(y);
      std::vector<NodeShares> steps;
      oracle.steps(1.0, 1.0, y, 0.5, steps);
      for (const NodeShares& step : steps) {
        EXPECT_TRUE(std::ranges::find(all_, step.nodes) != all_.end());
      }
      // A single leaf that gains is enough for a step.
      bool any_gain = false;
      for (const auto& other : all_) {
        std::vector<NodeId> changed;
        std::ranges::set_symmetric_difference(nodes, other, std::back_inserter(changed));
        const auto num_leaves =
            std::ranges::count_if(changed, [&](NodeId n) { return problem_.graph.is_leaf(n); });
        const auto place = oracle.evaluate({other, {}});
        any_gain = any_gain || (num_leaves == 1 && place.m + place.g > at_y.m + at_y.g + 1e-6);
      }
      if (any_gain) {
        EXPECT_FALSE(steps.empty());
      }
    }
  }
}

TEST_P(LabelSetOracle, implicit_differences_equal_explicit_ones) {
  std::vector<NodeShares> some;
  for (std::size_t k = 0; k < std::min<std::size_t>(6, all_.size()); ++k) {
    some.push_back({all_[k], {}});
  }
  const std::size_t size = some.size();
  std::vector<double> margins(size), products(size * size), coefficients;
  Random random(GetParam(), 3);
  for (std::size_t n = 0; n < some[0].nodes.size(); ++n) {  // a point of the relaxation
    some[0].shares.push_back(random.uniform());
  }
  for (std::size_t k = 0; k < size; ++k) coefficients.push_back(random.normal());
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    model_.margins(i, some, {w_, 2.0}, workspace_, margins);
    model_.difference_products(i, some, products);
    std::vector<double> appended;
    model_.append_products(i, std::span(some).first(size / 2), 0, workspace_, appended);
    model_.append_products(i, some, size / 2, workspace_, appended);
    ASSERT_EQ(appended.size(), size * (size + 1) / 2);
    for (std::size_t j = 0, at = 0; j < size; ++j) {
      for (std::size_t k = 0; k <= j; ++k) {
        EXPECT_NEAR(appended[at++], products[j * size + k], 1e-9);
      }
    }
    std::vector<float> moved = w_, expected = w_;
    model_.add_differences(i, some, coefficients, workspace_, moved);
    for (std::size_t k = 0; k < size; ++k) {
      SparseVector a;
      model_.difference(i, some[k], a);
      sort_indices(a);
      EXPECT_NEAR(margins[k], 2 * dot({w_, 1.0}, a), 1e-4);
      add_scaled(coefficients[k], a, expected);
      for (std::size_t j = 0; j < size; ++j) {
        SparseVector b;
        model_.difference(i, some[j], b);
        sort_indices(b);
        EXPECT_NEAR(products[j * size + k], dot(a, b), 1e-4);
      }
    }
    for (std::size_t c = 0; c < w_.size(); ++c) EXPECT_NEAR(moved[c], expected[c], 1e-4);
  }
}

/// Three leaves, each below two of three nodes: halves pay. One row whose label is leaf 3. Inner
/// nodes add 2 each; leaves cost 2.4, and one of them completes but two nodes.
struct LeavesOfTwo {
  LabelGraph graph = [] {
    const LabelEdge edges[] = {{0, 3}, {1, 3}, {0, 4}, {2, 4}, {1, 5}, {2, 5}};
    return LabelGraph::build(6, edges);
  }();
  CsrMatrix X{1};
  LabelSets sets;
  std::vector<double> alpha = std::vector<double>(6, 1.0);

  LeavesOfTwo() {
    X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
    sets.append(std::vector<LabelId>{3});
  }
  LabelSetModel model(Inference maximum) const {
    return LabelSetModel(X, sets, graph, alpha, NodeStorage::dense, {maximum});
  }
  static std::vector<float> weights(const LabelSetModel& model) {
    std::vector<float> w(model.num_weights(), 0.0F);
    for (const NodeId n : {0, 1, 2}) w[model.scorer().column(NodeId(n))] = 2.0F;
    for (const NodeId n : {3, 4, 5}) w[model.scorer().column(NodeId(n))] = -2.4F;
    return w;
  }
};

TEST(LabelSetModel, a_search_without_a_branch_limit_proves_its_answer) {
  const LeavesOfTwo p;
  const LabelSetModel model = p.model(Inference::exact);
  const std::vector<float> w = LeavesOfTwo::weights(model);
  LabelSetModel::Workspace workspace;
  for (const double factor : {1.0, 1e30, std::numeric_limits<double>::infinity()}) {
    const auto found =
        model.oracle(0, {w, 1.0}, workspace)
            .approximate_argmax(1.0, 0.0, {.gap = 1e-6, .branch_limit_factor = factor});
    EXPECT_NEAR(found.candidate.m, 0.0, 1e-5);
    EXPECT_NEAR(found.bound, 0.0, 1e-5) << factor;
  }
}

TEST(LabelSetModel, the_relaxed_maximum_takes_shares_where_they_are_worth_more) {
  const LeavesOfTwo p;
  const LabelSetModel exact = p.model(Inference::exact);
  const LabelSetModel relaxed = p.model(Inference::relaxed);
  const std::vector<float> w = LeavesOfTwo::weights(exact);
  LabelSetModel::Workspace workspace;
  const auto best = exact.oracle(0, {w, 1.0}, workspace).argmax(1.0, 0.0);
  const auto oracle = relaxed.oracle(0, {w, 1.0}, workspace);
  const auto found = oracle.argmax(1.0, 0.0);
  EXPECT_NEAR(best.m, 0.0, 1e-5);  // 4 - 2.4 as the truth, {0, 1, 3}; all of them: 6 - 4.8
  EXPECT_FALSE(found.y.shares.empty());
  EXPECT_NEAR(found.m, 6 - 3.6 - 1.6, 1e-5);  // every leaf by half
  EXPECT_NEAR(found.g, 1.5, 1e-6);
  SparseVector difference;
  relaxed.difference(0, found.y, difference);
  EXPECT_NEAR(dot({w, 1.0}, difference), found.m, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(seeds, LabelSetOracle, ::testing::Range<std::uint64_t>(0, 20));

TEST(LabelSetModel, wrong_labels_throw) {
  const LabelEdge edges[] = {{0, 1}, {0, 2}};
  const LabelGraph graph = LabelGraph::build(3, edges);
  CsrMatrix X(1);
  X.append_row({}, {});
  const std::vector<double> alpha(3, 1.0);
  const auto make = [&](std::vector<std::vector<LabelId>> rows, std::vector<double> weights) {
    LabelSets sets;
    for (const auto& row : rows) sets.append(row);
    LabelSetModel(X, sets, graph, weights);
  };
  EXPECT_THAT([&] { make({{}}, alpha); },
              ThrowsMessage<InvalidInput>(HasSubstr("row 0 has no label, but must have one")));
  EXPECT_THAT(
      [&] {
        make({{1, 0}}, alpha);
      },
      ThrowsMessage<InvalidInput>(HasSubstr("a label of row 0 is 0, but must be a leaf")));
  EXPECT_THAT(
      [&] {
        make({{1}, {2}}, alpha);
      },
      ThrowsMessage<InvalidInput>(HasSubstr("2 label sets, but must be one per row of X, 1")));
  EXPECT_THAT(
      [&] {
        make({{1}}, {1, 1});
      },
      ThrowsMessage<InvalidInput>(HasSubstr("2 node weights alpha, but must be 3")));
  EXPECT_THAT(
      [&] {
        make({{1}}, {1, -1, 1});
      },
      ThrowsMessage<InvalidInput>(HasSubstr("alpha of node 1 is -1, but must be finite")));
}

}  // namespace
}  // namespace margrove
