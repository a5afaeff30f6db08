#include "model/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/tensors.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<LabelId> chosen(const Decision& decision, std::vector<float> scores) {
  std::vector<LabelId> labels{99};
  decision.choose({scores}, labels);
  return labels;
}

TEST(Decision, argmax_takes_the_first_of_equals_and_never_a_label_without_score) {
  EXPECT_THAT(chosen({}, {1, 3, 3}), ElementsAre(1));
  EXPECT_THAT(chosen({}, {kNever, -5}), ElementsAre(1));
  EXPECT_THAT(chosen({}, {kNever, kNever}), IsEmpty());
}

TEST(Decision, threshold_is_strict_and_may_be_one_for_all_or_one_a_label) {
  EXPECT_THAT(chosen(ThresholdDecision{{0}, false}, {1, 0, 2}), ElementsAre(0, 2));
  EXPECT_THAT(chosen(ThresholdDecision{{2, -1, 1}, false}, {1, 0, 2}), ElementsAre(1, 2));
  EXPECT_THAT(chosen(ThresholdDecision{{5}, false}, {1, 0, 2}), IsEmpty());
  EXPECT_THAT(chosen(ThresholdDecision{{5}, true}, {1, 2, 2}), ElementsAre(1));
}

TEST(Decision, rcut_takes_so_many_labels_and_of_equals_the_first) {
  EXPECT_THAT(chosen(RcutDecision{2}, {1, 3, 3, 1}), ElementsAre(1, 2));
  EXPECT_THAT(chosen(RcutDecision{3}, {1, 3, 3, 1}), ElementsAre(0, 1, 2));
  EXPECT_THAT(chosen(RcutDecision{3}, {kNever, 0, kNever}), ElementsAre(1));
}

TEST(Decision, instance_cuts_at_a_linear_function_of_the_sorted_scores) {
  // threshold = 1 + s_(1) / 2 - s_(2)
  const InstanceDecision rule{{0.5, -1}, 1, false};
  EXPECT_THAT(chosen(rule, {2, 1, 4}), ElementsAre(0, 2));        // 1
  EXPECT_THAT(chosen(rule, {2, 0, 4, 9}), ElementsAre(0, 2, 3));  // 1.5
  EXPECT_THAT(chosen(rule, {0, kNever}), IsEmpty());              // s_(2) stands in: 1
  EXPECT_THAT(chosen(InstanceDecision{{0.5, -1}, 1, true}, {0, kNever}), ElementsAre(0));
  EXPECT_THAT(chosen(rule, {kNever, kNever}), IsEmpty());
  EXPECT_THAT(chosen(InstanceDecision{{}, 1, false}, {0, 2}), ElementsAre(1));
}

TEST(Decision, label_set_takes_the_leaves_of_the_best_set_and_throws_without_a_hierarchy) {
  // Node 0 above 1 and 2, label 7 - n for node n; node 3 would win but is no candidate.
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}};
  const CandidateHierarchy hierarchy(LabelGraph::build(4, edges), std::vector<NodeId>{1, 2},
                                     std::vector<LabelId>{7, 6, 5, 4});
  LabelSetDecoder search(hierarchy);
  const auto best = [&](std::vector<float> nodes) {
    std::vector<LabelId> labels{99};
    Decision(LabelSetDecision{}).choose({{}, nodes, &search}, labels);
    return labels;
  };
  EXPECT_THAT(best({-1, 2, 3, 9}), ElementsAre(5, 6));
  EXPECT_THAT(best({-1, -2, 3, 9}), ElementsAre(5));
  EXPECT_THAT(best({-1, -2, -3, 9}), ElementsAre(6)) << "none is empty";
  EXPECT_TRUE(Decision(LabelSetDecision{}).uses_node_scores());
  EXPECT_FALSE(Decision().uses_node_scores());
  try {
    chosen(LabelSetDecision{}, {1, 2});
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(),
                 "decision is label-set, but must be one of label scores where there is no "
                 "hierarchy");
  }
}

TEST(Decision, offset_moves_the_scores_of_leaves_only) {
  // Node 0 above 1 and 2, node 3 above 4.
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {3, 4}};
  const CandidateHierarchy hierarchy(LabelGraph::build(5, edges), std::vector<NodeId>{1, 2, 4},
                                     std::vector<LabelId>{0, 1, 2, 3, 4});
  LabelSetDecoder search(hierarchy);
  const std::vector<float> nodes{-1, 2, -0.5F, -2, 1};
  const auto best = [&](double offset) {
    std::vector<LabelId> labels;
    Decision(OffsetDecision{offset}).choose({{}, nodes, &search}, labels);
    return labels;
  };
  EXPECT_THAT(best(0), ElementsAre(1));
  EXPECT_THAT(best(0.75), ElementsAre(1, 2));
  EXPECT_THAT(best(1.25), ElementsAre(1, 2, 4));
  EXPECT_THAT(best(-5), ElementsAre(1)) << "none is empty";
  std::vector<LabelId> labels;
  EXPECT_DOUBLE_EQ(search.best(nodes, 1.25, labels), -0.5) << "the score has no offsets";
  EXPECT_EQ(Decision(OffsetDecision{2}).offset(), 2);
  EXPECT_EQ(Decision(LabelSetDecision{}).offset(), 0);
}

TEST(Decision, offset_is_read_back_exactly) {
  TensorMap out;
  Decision(OffsetDecision{0.1}).save(out, "d");
  const Decision read = Decision::load(out, "d", 4);
  EXPECT_EQ(read.name(), "offset");
  EXPECT_EQ(read.offset(), 0.1);
  EXPECT_EQ(read.facts().back().value, "0.1");
  EXPECT_TRUE(read.several_labels());
}

TEST(Decision, label_set_is_read_back) {
  TensorMap out;
  Decision(LabelSetDecision{}).save(out, "d");
  const Decision read = Decision::load(out, "d", 4);
  EXPECT_EQ(read.name(), "label-set");
  EXPECT_TRUE(read.several_labels());
}

// Files -------------------------------------------------------------------------------------------

TEST(Decision, every_rule_is_read_back_and_decides_alike) {
  const std::vector<float> scores{0.3F, -1, 2, 0.5F};
  for (const Decision& decision :
       {Decision{}, Decision(ThresholdDecision{{0.25F}, true}),
        Decision(ThresholdDecision{{1, -2, 3, 0}, false}), Decision(RcutDecision{3}),
        Decision(InstanceDecision{{0.25, -0.125}, 0.5, true})}) {
    TensorMap out;
    decision.save(out, "d");
    const Decision read = Decision::load(out, "d", 4);
    EXPECT_EQ(read.name(), decision.name());
    EXPECT_EQ(chosen(read, scores), chosen(decision, scores)) << decision.name();
    EXPECT_EQ(read.facts().size(), decision.facts().size());
    EXPECT_EQ(read.facts().front().value, decision.name());
    EXPECT_EQ(read.several_labels(), decision.name() != "argmax");
  }
}

/// The error of reading `decision` for 4 labels after `change` was made to what it saved.
template <class Change>
std::string error_after(const Decision& decision, Change change) {
  TensorMap out("m");
  decision.save(out, "d");
  change(out);
  try {
    Decision::load(out, "d", 4);
  } catch (const ModelFileError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Decision, files_with_wrong_rules_throw_saying_what_must_be) {
  const InstanceDecision instance{{1, 2}, 0, false};
  EXPECT_EQ(
      error_after({}, [](TensorMap& m) { m.put_text("d.decision", "dice"); }),
      "m: metadata d.decision is 'dice', but must be one of argmax, threshold, rcut, instance, "
      "label-set, offset");
  EXPECT_EQ(error_after(ThresholdDecision{{1, 2}, false}, [](TensorMap&) {}),
            "m: tensor d.thresholds has 2 entries, but must have 1 or 4");
  EXPECT_EQ(error_after(ThresholdDecision{{std::nanf("")}, false}, [](TensorMap&) {}),
            "m: tensor d.thresholds must hold numbers");
  EXPECT_EQ(error_after(ThresholdDecision{{0}, false},
                        [](TensorMap& m) { m.put_text("d.at_least_one", "maybe"); }),
            "m: metadata d.at_least_one is 'maybe', but must be true or false");
  for (const std::uint32_t count : {0U, 5U}) {
    EXPECT_EQ(error_after(RcutDecision{count}, [](TensorMap&) {}),
              concat("m: metadata d.count is ", count, ", but must be in [1, 4]"));
  }
  EXPECT_EQ(error_after(InstanceDecision{{1, 2, 3, 4, 5}, 0, false}, [](TensorMap&) {}),
            "m: tensor d.coefficients has 5 entries, but must have at most 4");
  EXPECT_EQ(error_after(InstanceDecision{{1, std::nan("")}, 0, false}, [](TensorMap&) {}),
            "m: tensor d.coefficients must hold finite numbers");
  EXPECT_THAT(error_after(instance, [](TensorMap& m) { m.put_text("d.intercept", "nan"); }),
              HasSubstr("d.intercept"));
}

}  // namespace
}  // namespace margrove
