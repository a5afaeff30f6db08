#include "eval/set_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "eval/hierarchy_gain.hpp"
#include "eval/metric_choice.hpp"
#include "eval/sibling_confusion.hpp"
#include "eval/tree_distance.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

using Labels = std::vector<LabelId>;

LabelSets sets(const std::vector<Labels>& rows) {
  LabelSets labels;
  for (const auto& row : rows) labels.append(row);
  return labels;
}

LabelGraph graph(std::uint32_t nodes, const std::vector<LabelEdge>& edges) {
  return LabelGraph::build(nodes, edges);
}

/// 0 above 1, 2; 1 above 3, 4; 2 above 5.
LabelGraph tree() { return graph(6, {{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}}); }
/// The same without its root: roots 0 (above 2, 3) and 1 (above 4).
LabelGraph forest() { return graph(5, {{0, 2}, {0, 3}, {1, 4}}); }

double distance(const LabelGraph& hierarchy, const Labels& y, const Labels& p) {
  return TreeDistance(hierarchy).compare(y, p).distance;
}
double lca_f1(const LabelGraph& hierarchy, const Labels& y, const Labels& p) {
  return TreeDistance(hierarchy).compare(y, p).lca_f1;
}

TEST(TreeDistance, counts_the_edges_of_a_tree) {
  EXPECT_EQ(distance(tree(), {3}, {3}), 0);
  EXPECT_EQ(distance(tree(), {3}, {4}), 2);
  EXPECT_EQ(distance(tree(), {3}, {1}), 1);
  EXPECT_EQ(distance(tree(), {3}, {5}), 4);
  EXPECT_EQ(distance(forest(), {2}, {4}), 4);      // over the top
  EXPECT_EQ(distance(tree(), {3}, {}), 2);         // the root stands for nothing
  EXPECT_EQ(distance(tree(), {3}, {17}), 3);       // unknown: below the root
  EXPECT_EQ(distance(LabelGraph(), {3}, {5}), 2);  // no hierarchy
  EXPECT_EQ(distance(tree(), {3, 5}, {4}), (2 + 4 + 2) / 3.0);
}

TEST(TreeDistance, of_a_dag_goes_over_common_ancestors) {
  const LabelGraph dag = graph(5, {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}});
  EXPECT_EQ(distance(dag, {3}, {4}), 2);
  EXPECT_EQ(distance(dag, {1}, {2}), 2);  // over 0; not down to 3 and up
  EXPECT_EQ(distance(dag, {3}, {0}), 2);
}

TEST(LcaF1, joins_labels_up_to_their_lowest_common_ancestor) {
  EXPECT_EQ(lca_f1(tree(), {3}, {3}), 1);
  EXPECT_DOUBLE_EQ(lca_f1(tree(), {3}, {4}), 2.0 / 4);               // {3, 1}, {4, 1}
  EXPECT_DOUBLE_EQ(lca_f1(tree(), {3}, {1}), 2.0 / 3);               // {3, 1}, {1}
  EXPECT_DOUBLE_EQ(lca_f1(tree(), {3}, {5}), 2.0 / 6);               // {3, 1, 0}, {5, 2, 0}
  EXPECT_DOUBLE_EQ(lca_f1(tree(), {3, 5}, {3}), 2.0 * 2 / (4 + 3));  // {3, 5, 2, 0}, {3, 1, 0}
  EXPECT_EQ(lca_f1(tree(), {}, {}), 1);
}

TEST(Levels, accuracy_is_over_the_rows_that_reach_a_level) {
  const auto ratios =
      hierarchy_ratios(sets({{3}, {5}, {1}, {3}}), sets({{3}, {2}, {3}, {5}}), tree());
  ASSERT_EQ(ratios.size(), 5U);
  EXPECT_EQ(ratios[3].name, "accuracy_level_1");
  EXPECT_DOUBLE_EQ(ratios[3].value(), 3.0 / 4);
  EXPECT_EQ(ratios[4].name, "accuracy_level_2");
  EXPECT_DOUBLE_EQ(ratios[4].value(), 1.0 / 3);
}

TEST(MacroF1, of_counts_is_that_of_the_rows_repeated) {
  const auto truth = sets({{0}, {1}, {0, 1}}), predicted = sets({{0}, {0}, {1}});
  const MacroF1 macro("macro_f1", truth, predicted, {true, true});
  const MacroF1 repeated("macro_f1", sets({{0}, {0, 1}, {0, 1}}), sets({{0}, {1}, {1}}),
                         {true, true});
  EXPECT_DOUBLE_EQ(macro.value(std::vector<std::uint32_t>{1, 0, 2}), repeated.value());
  EXPECT_DOUBLE_EQ(macro.value(std::vector<std::uint32_t>{1, 1, 1}), macro.value());
}

TEST(SiblingConfusion, counts_siblings_whose_parent_is_right) {
  const auto confused =
      sibling_confusion(tree(), sets({{3}, {3}, {3}, {4, 9}}), sets({{4}, {4}, {5}, {4}}));
  const SiblingConfusion expected{{{1, 2}, 1}, {{3, 4}, 2}};
  EXPECT_EQ(confused, expected);
}

TEST(MetricChoice, searches_choose_by_all_that_needs_no_calibration) {
  const std::vector<std::string> names = search_metric_names();
  for (const std::string& name : names) EXPECT_NO_THROW(require_search_metric(name));
  EXPECT_EQ(names.size() + 3, metric_names().size());
  EXPECT_NO_THROW(require_search_metric("ndcg_at_7"));
  for (const char* name : {"brier", "log_loss", "ece", "all", "f1", ""}) {
    EXPECT_THAT([&] { require_search_metric(name); },
                ThrowsMessage<InvalidOption>(AllOf(HasSubstr("', but must be one of accuracy, "),
                                                   HasSubstr("f_max"), HasSubstr("ndcg_at_K"),
                                                   Not(HasSubstr("brier,")))))
        << name;
  }
  EXPECT_TRUE(needs_scores("au_prc"));
  EXPECT_TRUE(needs_scores("precision_at_3"));
  EXPECT_TRUE(needs_scores("risk_coverage_area"));
  EXPECT_FALSE(needs_scores("hierarchical_f1"));
  EXPECT_FALSE(needs_scores("lca_f1"));
}

TEST(MetricChoice, names_choose_families_and_ranks) {
  const MetricChoice choice({"psp_at_7", "au_prc"});
  EXPECT_TRUE(choice.wants("au_prc"));
  EXPECT_FALSE(choice.wants("f_max"));
  EXPECT_TRUE(choice.wants_any(MetricFamily::ranking));
  EXPECT_FALSE(choice.wants_any(MetricFamily::labels));
  EXPECT_EQ(choice.ranks(), (std::vector<std::size_t>{1, 3, 5, 7, 10}));
  EXPECT_TRUE(MetricChoice({}).wants("f_max"));
  EXPECT_TRUE(MetricChoice({"all"}).wants("f_max"));
  for (const char* name : {"f1", "precision_at_", "precision_at_0", "precision_at_1x", ""}) {
    EXPECT_THAT([&] { MetricChoice({name}); },
                ThrowsMessage<InvalidOption>(HasSubstr("', but must be one of all, accuracy")))
        << name;
  }
}

TEST(HierarchyGain, is_said_in_one_sentence) {
  const std::vector<Labels> right(20, Labels{3}), near(20, Labels{4}), far(20, Labels{5});
  const auto gain_of = [](const std::vector<Labels>& with, const std::vector<Labels>& flat) {
    return hierarchy_gain(sets(std::vector<Labels>(20, Labels{3})), sets(with), sets(flat), tree(),
                          {});
  };
  EXPECT_EQ(gain_of(right, near).gain, Gain::helps);
  EXPECT_EQ(gain_of(near, right).gain, Gain::harms);
  EXPECT_EQ(gain_of(near, far).gain, Gain::nearer);
  EXPECT_EQ(gain_of(far, near).gain, Gain::further);
  const HierarchyGain same = gain_of(near, near);
  EXPECT_EQ(same.gain, Gain::not_shown);
  EXPECT_EQ(to_string(same.gain), "not_shown");
  EXPECT_THAT(same.answer, HasSubstr("is not shown: 0 rows are labelled better with it and 0"));
  const HierarchyGain helped = gain_of(right, far);
  EXPECT_EQ(helped.labels.first_better, 20);
  EXPECT_THAT(helped.answer, HasSubstr("Yes, the hierarchy helps: 20 rows"));
}

}  // namespace
}  // namespace margrove
