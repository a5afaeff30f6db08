#include "eval/automatic_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/random.hpp"
#include "counted_seconds.hpp"
#include "eval/evaluation.hpp"
#include "eval/metric_choice.hpp"
#include "eval/named_metrics.hpp"
#include "eval/row_ratio.hpp"
#include "eval/trial_cost.hpp"
#include "eval/trial_rows.hpp"
#include "eval/trial_runner.hpp"

namespace margrove {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

float noise(Random& random, double scale) { return static_cast<float>(scale * random.normal()); }

/// The signs of two features: labels "same" and "other" if they are equal or not, or the sign of
/// the first one only.
Examples signs(std::size_t num_rows, bool is_product, double scale, std::uint64_t seed = 3) {
  Random random(seed);
  Examples raw;
  raw.source = "signs";
  raw.codec = LabelCodec({"same", "other"});
  raw.X = CsrMatrix(2);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const float a = random.below(2) == 0 ? 1.0F : -1.0F, b = random.below(2) == 0 ? 1.0F : -1.0F;
    raw.X.append_row(std::vector<FeatureId>{0, 1},
                     std::vector<float>{a + noise(random, scale), b + noise(random, scale)});
    raw.labels.append(std::vector<LabelId>{(is_product ? a * b : a) > 0 ? 0U : 1U});
  }
  return raw;
}

/// Four leaves below two inner nodes.
Hierarchy two_levels() {
  Hierarchy hierarchy;
  hierarchy.source = "tree";
  hierarchy.codec = LabelCodec({"a", "b", "a1", "a2", "b1", "b2"});
  hierarchy.edges = {{0, 2}, {0, 3}, {1, 4}, {1, 5}};
  return hierarchy;
}

/// Rows whose label can be read off two signs; every third one also has the label "a1" if
/// `several`.
Examples leaf_rows(std::size_t num_rows, double scale, bool several = false) {
  Random random(5);
  Examples raw;
  raw.source = "leaves";
  raw.codec = two_levels().codec;
  raw.X = CsrMatrix(3);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto k = static_cast<LabelId>(random.below(4));
    const bool both = several && i % 3 == 0 && k != 0;
    raw.X.append_row(std::vector<FeatureId>{0, 1, 2},
                     std::vector<float>{(k < 2 ? 1.0F : -1.0F) + noise(random, scale),
                                        (k % 2 == 0 ? 1.0F : -1.0F) + noise(random, scale),
                                        (both ? 1.0F : -1.0F) + noise(random, scale)});
    std::vector<LabelId> labels{k + 2};
    if (both) labels.push_back(2);
    raw.labels.append(labels);
  }
  return raw;
}

AutomaticChoice choose(const Examples& raw, const Hierarchy* hierarchy = nullptr,
                       const AutomaticOptions& options = {}, int threads = 1,
                       double memory_limit = 0, double seconds = 1e9,
                       ColumnScale scale = ColumnScale::automatic) {
  Executor executor(threads);
  RunControl control([](const Progress&) { return true; }, seconds);
  PreprocessingOptions preprocessing;
  preprocessing.scale = scale;
  return choose_automatically(raw, hierarchy, preprocessing, options, memory_limit, executor,
                              control);
}

template <class Error = InvalidOption, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

// Metrics -----------------------------------------------------------------------------------------

struct Answers {
  LabelSets truth, first, second;
};

Answers random_answers(std::size_t num_rows, std::uint64_t seed) {
  Random random(seed);
  Answers answers;
  const auto draw = [&](double wrong, LabelId truth) {
    std::vector<LabelId> set{random.uniform() < wrong ? static_cast<LabelId>(2 + random.below(4))
                                                      : truth};
    if (random.below(3) == 0) set.push_back(static_cast<LabelId>(2 + random.below(4)));
    return set;
  };
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto label = static_cast<LabelId>(2 + random.below(4));
    answers.truth.append(draw(0, label));
    answers.first.append(draw(0.2, label));
    answers.second.append(draw(0.4, label));
  }
  return answers;
}

LabelGraph graph_of_leaves() {
  std::vector<LabelEdge> edges{{0, 2}, {0, 3}, {1, 4}, {1, 5}};
  return LabelGraph::build(6, edges);
}

TEST(MeasuredMetric, has_the_value_of_compute_metrics_and_influences_that_add_up_to_zero) {
  const Answers answers = random_answers(60, 1);
  const LabelGraph graph = graph_of_leaves();
  const std::vector<bool> in_training{false, false, true, true, true, true};
  const Metrics metrics = compute_metrics(answers.truth, answers.first, graph, in_training);
  for (const auto& [name, value] : named_values(metrics)) {
    const MeasuredMetric measured =
        measure_metric(name, answers.truth, answers.first, graph, in_training);
    EXPECT_NEAR(measured.value, value, 1e-12) << name;
    double sum = 0;
    for (const double influence : measured.influence) sum += influence;
    EXPECT_NEAR(sum, 0, 1e-9) << name;
  }
  EXPECT_THAT(
      message_of([&] { measure_metric("joy", answers.truth, answers.first, graph, in_training); }),
      HasSubstr("metric is 'joy', but must be one of accuracy"));
}

TEST(PairedStandardError, is_that_of_a_bootstrap) {
  const Answers answers = random_answers(300, 2);
  const LabelGraph graph = graph_of_leaves();
  const std::vector<bool> in_training{false, false, true, true, true, true};
  for (const std::string name : {"accuracy", "micro_f1", "macro_f1", "hierarchical_f1"}) {
    const auto first = measure_metric(name, answers.truth, answers.first, graph, in_training);
    const auto second = measure_metric(name, answers.truth, answers.second, graph, in_training);
    Random random(4);
    double sum = 0, squares = 0;
    constexpr int kSamples = 400;
    for (int sample = 0; sample < kSamples; ++sample) {
      std::vector<std::uint32_t> rows(300);
      for (std::uint32_t& row : rows) row = static_cast<std::uint32_t>(random.below(300));
      const LabelSets truth = select_rows(answers.truth, rows);
      const auto value = [&](const LabelSets& predicted) {
        return measure_metric(name, truth, select_rows(predicted, rows), graph, in_training).value;
      };
      const double difference = value(answers.first) - value(answers.second);
      sum += difference;
      squares += difference * difference;
    }
    const double mean = sum / kSamples;
    const double deviation = std::sqrt(squares / kSamples - mean * mean);
    EXPECT_NEAR(paired_standard_error(first, second), deviation, 0.12 * deviation) << name;
    EXPECT_EQ(paired_standard_error(first, first), 0) << name;
  }
  const MeasuredMetric one{1, {0}}, two{1, {0, 0}};
  EXPECT_EQ(paired_standard_error(one, one), 0);
  EXPECT_THAT(message_of<InvalidInput>([&] { paired_standard_error(one, two); }),
              HasSubstr("must be of the same"));
}

TEST(MeanOverRows, weighs_parts_by_their_rows) {
  const std::vector<MeasuredMetric> parts{{0.5, {1, -1, 0}}, {0.9, {2}}};
  const MeasuredMetric mean = mean_over_rows(parts);
  EXPECT_DOUBLE_EQ(mean.value, (3 * 0.5 + 0.9) / 4);
  EXPECT_EQ(mean.influence, (std::vector<double>{1, -1, 0, 2}));
}

// Candidates --------------------------------------------------------------------------------------

TEST(Candidates, have_options_that_their_methods_take) {
  for (const auto& [several, num_labels] :
       {std::pair{false, 4U}, std::pair{true, 4U}, std::pair{false, 2000U}}) {
    const DataFacts facts{.num_rows = 100,
                          .num_labels = num_labels,
                          .has_hierarchy = true,
                          .is_tree = true,
                          .has_several_labels = several};
    for (const CandidateRun& candidate : candidates_for(facts).all) {
      std::vector<OptionValues> variants = candidate.variants;
      variants.emplace_back();
      for (const OptionValues& variant : variants) {
        OptionValues values = candidate.options;
        values.insert(values.end(), variant.begin(), variant.end());
        EXPECT_NO_THROW(trial_setting(find_method(candidate.method), values, {}, 1));
      }
    }
  }
}

TEST(Candidates, are_left_out_with_the_reason) {
  const auto left_out = candidates_for({.num_rows = 100, .num_labels = 4}).left_out;
  EXPECT_THAT(left_out, Contains(Field(&LeftOut::reason, "it needs a hierarchy")));
  const auto of_graph =
      candidates_for({.num_rows = 30'000, .num_labels = 400, .has_hierarchy = true}).left_out;
  EXPECT_THAT(of_graph, Contains(Field(&LeftOut::reason, HasSubstr("it is tried on trees"))));
  EXPECT_THAT(of_graph, Contains(Field(&LeftOut::reason, "it is tried for up to 200 labels")));
  const auto of_many = candidates_for({.num_rows = 30'000, .num_labels = 100}).left_out;
  EXPECT_THAT(of_many, Contains(Field(&LeftOut::reason, "it is tried for up to 20000 rows")));
  const auto of_sets =
      candidates_for({.num_rows = 9, .num_labels = 4, .has_several_labels = true}).left_out;
  EXPECT_THAT(of_sets, Contains(Field(&LeftOut::reason, "it is for rows with one label each")));
  EXPECT_THAT(of_sets, Contains(Field(&LeftOut::reason, "it is tried for at least 1000 labels")));
  const auto of_terms =
      candidates_for({.num_rows = 9, .num_labels = 4000, .labels_of_row = 30}).left_out;
  EXPECT_THAT(of_terms,
              Contains(Field(&LeftOut::reason, "it is tried for rows with up to 10 labels")));
  const auto of_kept =
      candidates_for({.num_rows = 9, .num_labels = 4, .unlabelled = LabelSets::Unlabelled::keep})
          .left_out;
  EXPECT_THAT(of_kept, Contains(Field(&LeftOut::reason, "it takes no rows without a label")));
  EXPECT_THAT(candidates_for({.num_rows = 20'000, .num_labels = 200}).left_out,
              Not(Contains(Field(&LeftOut::reason, HasSubstr("it is tried for up to")))));
}

std::size_t number_with_names(const DataFacts& facts) {
  std::size_t count = 0;
  for (const CandidateRun& each : candidates_for(facts).all) {
    count += static_cast<std::size_t>(
        std::ranges::count(each.variants, OptionValues{{"match_names", "true"}}));
  }
  return count;
}

TEST(Candidates, match_names_where_texts_and_names_are_given) {
  EXPECT_EQ(number_with_names({.num_rows = 9, .num_labels = 4, .has_hierarchy = true}), 0U);
  const DataFacts named{.num_rows = 9, .num_labels = 4, .has_hierarchy = true, .has_names = true};
  EXPECT_EQ(number_with_names(named), 2U) << "level-svm matches names by default";
  Hierarchy hierarchy;
  hierarchy.codec.add("a");
  Examples texts;
  texts.kind = RowKind::documents;
  EXPECT_FALSE(facts_of(texts, nullptr).has_names);
  EXPECT_FALSE(facts_of(texts, &hierarchy).has_names);
  hierarchy.codec.add("animals");
  EXPECT_TRUE(facts_of(texts, &hierarchy).has_names) << "a label of words";
  hierarchy.codec = LabelCodec(std::vector<std::string>{"a"});
  hierarchy.other_names = {"alpha"};
  EXPECT_TRUE(facts_of(texts, &hierarchy).has_names);
  texts.kind = RowKind::records;
  EXPECT_FALSE(facts_of(texts, &hierarchy).has_names) << "no column of text";
  texts.selection.text = {"title"};
  EXPECT_TRUE(facts_of(texts, &hierarchy).has_names);
  EXPECT_EQ(named_with_options("flat-svm", {{"match_names", "true"}, {"C", "3"}}),
            "flat-svm --match-names --C 3");
}

TEST(Candidates, begin_with_the_value_of_C_next_to_the_default) {
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(strengths_around(1), (Places{6, 4, 8}));
  EXPECT_EQ(strengths_around(0.034), (Places{3, 1, 5}));
  EXPECT_EQ(strengths_around(0.06), (Places{4, 2, 6}));
  EXPECT_EQ(strengths_around(1e-7), (Places{0, 2}));
  EXPECT_EQ(strengths_around(1e9), (Places{12, 10}));
}

TEST(Candidates, follow_from_the_data) {
  Hierarchy hierarchy = two_levels();
  const DataFacts facts = facts_of(leaf_rows(30, 0.1), &hierarchy);
  EXPECT_EQ(facts.num_rows, 30U);
  EXPECT_EQ(facts.num_labels, 4U);
  EXPECT_TRUE(facts.is_tree);
  EXPECT_FALSE(facts.has_several_labels);
  EXPECT_TRUE(facts_of(leaf_rows(30, 0.1, true), nullptr).has_several_labels);
  hierarchy.edges.push_back({1, 2});
  EXPECT_FALSE(facts_of(leaf_rows(30, 0.1), &hierarchy).is_tree);
}

// Rows --------------------------------------------------------------------------------------------

TEST(TrialStages, quarter_the_rows_of_each_label_down_to_a_thousand) {
  LabelSets labels;
  for (std::uint32_t i = 0; i < 20'000; ++i) labels.append(std::vector<LabelId>{i % 10});
  const auto stages = trial_stages(labels, 10, 1);
  ASSERT_EQ(stages.size(), 3U);
  ASSERT_EQ(stages[2].size(), 1U);
  EXPECT_EQ(stages[2][0].training.size(), 16'000U);
  EXPECT_EQ(stages[1][0].training.size(), 4'000U);
  EXPECT_EQ(stages[0][0].training.size(), 1'000U);
  EXPECT_EQ(stages[0][0].validation, stages[2][0].validation);
  std::vector<int> counts(10, 0);
  for (const std::uint32_t i : stages[0][0].training) ++counts[labels[i][0]];
  EXPECT_THAT(counts, ::testing::Each(100));
  EXPECT_EQ(trial_stages(labels, 5000, 1).size(), 1U);  // four rows per label would be too many
}

TEST(TrialStages, of_limited_time_begin_with_a_probe_and_the_first_of_several_folds) {
  LabelSets few, many, fewest;
  for (std::uint32_t i = 0; i < 1600; ++i) few.append(std::vector<LabelId>{i % 10});
  const TrialStages folds = trial_stages_in_limited_time(few, 10, 1);
  ASSERT_EQ(folds.all.size(), 3U);
  EXPECT_TRUE(folds.has_probe);
  ASSERT_EQ(folds.all[0].size(), 1U);
  ASSERT_EQ(folds.all[1].size(), 1U);
  ASSERT_EQ(folds.all[2].size(), 5U);
  EXPECT_EQ(folds.all[0][0].training.size(), 160U);
  EXPECT_EQ(folds.all[1][0].training, folds.all[2][0].training);
  EXPECT_EQ(folds.all[0][0].validation.size(), 40U);
  const std::vector<std::uint32_t>& rows = folds.all[1][0].training;
  EXPECT_TRUE(std::ranges::includes(rows, folds.all[0][0].training));

  for (std::uint32_t i = 0; i < 20'000; ++i) many.append(std::vector<LabelId>{i % 10});
  const TrialStages held_out = trial_stages_in_limited_time(many, 10, 1);
  ASSERT_EQ(held_out.all.size(), 4U);
  EXPECT_EQ(held_out.all[0][0].training.size(), 125U);

  for (std::uint32_t i = 0; i < 40; ++i) fewest.append(std::vector<LabelId>{i % 2});
  EXPECT_FALSE(trial_stages_in_limited_time(fewest, 2, 1).has_probe);
}

TEST(TrialCost, grows_with_the_powers_of_the_candidate) {
  CandidateRun linear, kernel;
  kernel.growth_in_rows = 2;
  kernel.growth_in_labels = 0;
  TrialCost cost;
  EXPECT_FALSE(cost.is_known());
  EXPECT_EQ(cost.expected(linear, {100, 10}), 0);
  cost.add({100, 10}, 3);
  cost.add({100, 10}, 2);  // the slowest one counts
  EXPECT_DOUBLE_EQ(cost.expected(linear, {200, 30}), 3 * 2 * 3);
  EXPECT_DOUBLE_EQ(cost.expected(kernel, {200, 30}), 3 * 4);
  cost.add({50, 10}, 99);  // of fewer rows
  cost.add({200, 20}, 5);  // of more
  EXPECT_DOUBLE_EQ(cost.expected(linear, {400, 20}), 10);
}

TEST(TrialCost, grows_with_the_rows_alone_where_a_kernel_has_landmarks) {
  CandidateRun kernel;
  kernel.growth_in_rows = 2;
  kernel.growth_in_labels = 0;
  kernel.rows_of_growth = 200;
  TrialCost cost;
  cost.add({100, 10}, 3);
  EXPECT_DOUBLE_EQ(cost.expected(kernel, {200, 10}), 3 * 4);
  EXPECT_DOUBLE_EQ(cost.expected(kernel, {600, 10}), 3 * 4 * 3);
  cost.add({400, 10}, 5);
  EXPECT_DOUBLE_EQ(cost.expected(kernel, {600, 10}), 7.5);
  for (const CandidateRun& each : candidates_for({.num_rows = 9, .num_labels = 2}).all) {
    if (each.method != "kernel-ridge") continue;
    EXPECT_EQ(concat(each.rows_of_growth),
              find_method(each.method).start()->options().get("max_rows"));
  }
}

TEST(TrialSplits, are_folds_where_rows_are_few_or_labels_rare) {
  LabelSets few, rare;
  for (std::uint32_t i = 0; i < 40; ++i) few.append(std::vector<LabelId>{i % 3});
  EXPECT_EQ(trial_splits(few, 0).size(), 5U);
  for (std::uint32_t i = 0; i < 4000; ++i) rare.append(std::vector<LabelId>{i});
  EXPECT_EQ(trial_splits(rare, 0).size(), 3U);
  LabelSets one;
  one.append(std::vector<LabelId>{0});
  EXPECT_THAT(message_of<InvalidInput>([&] { trial_splits(one, 0); }),
              HasSubstr("there are 1 rows, but must be at least 2"));
}

TEST(TrialRunner, measures_what_evaluate_says_of_the_model) {
  const Hierarchy tree = two_levels();
  for (const bool several : {false, true}) {
    const Examples raw = leaf_rows(120, 0.6, several);
    const std::vector<Split> split{stratified_hold_out(raw.labels, 0.3, 1)};
    const Examples training = select_rows(raw, split[0].training);
    const Examples validation = select_rows(raw, split[0].validation);
    const PreprocessingOptions preprocessing;
    Executor executor(1);
    RunControl control;
    TrialRunner runner(raw, &tree, preprocessing, 1, executor);
    runner.begin_stage(split);
    for (const char* method : {"flat-svm", "hr-lr", "nhsvm", "kernel-ridge"}) {
      for (const std::string& metric : search_metric_names()) {
        SCOPED_TRACE(concat(method, " ", metric));
        if (metric.ends_with("_10") || (several && metric == "risk_coverage_area")) continue;
        runner.set_metric(metric);
        const auto outcome = runner.run(find_method(method), {}, control);
        ASSERT_TRUE(outcome);
        const EvaluatedRows rows =
            evaluated_rows(outcome->model, validation, nullptr, &training, executor);
        EXPECT_EQ(outcome->metric.value,
                  evaluate_rows(outcome->model, rows, {.metrics = {{metric}}}, executor)
                      .metrics.front()
                      .value);
        EXPECT_EQ(outcome->metric.influence.size(), validation.num_rows());
      }
    }
  }
}

TEST(TrialRunner, knows_the_default_of_C_before_training) {
  const Examples raw = leaf_rows(120, 0.6);
  const PreprocessingOptions preprocessing;
  Executor executor(1);
  RunControl control;
  TrialRunner runner(raw, nullptr, preprocessing, 1, executor);
  const std::vector<Split> split{stratified_hold_out(raw.labels, 0.3, 1)};
  runner.begin_stage(split);
  runner.set_metric("accuracy");
  for (const char* method : {"flat-svm", "flat-lr"}) {
    const auto outlook = runner.outlook(find_method(method), {}, control);
    const auto outcome = runner.run(find_method(method), {}, control);
    const OptionValues& options = outcome->model.options;
    const auto C = std::ranges::find(options, "C", &std::pair<std::string, std::string>::first);
    ASSERT_TRUE(outlook.C);
    EXPECT_EQ(*outlook.C, detail::parse_number("C", C->second));
  }
  EXPECT_EQ(runner.outlook(find_method("flat-svm"), {{"C", "0.5"}}, control).C, 0.5);
  EXPECT_EQ(runner.outlook(find_method("average-mkl"), {}, control).C, 3);
  EXPECT_EQ(runner.outlook(find_method("kernel-ridge"), {}, control).C, std::nullopt);
}

TEST(TrialRunner, takes_the_mean_of_metrics_of_scores_over_folds) {
  const Examples raw = leaf_rows(90, 0.8);
  const std::vector<Split> folds = trial_splits(raw.labels, 1);
  const PreprocessingOptions preprocessing;
  Executor executor(1);
  RunControl control;
  TrialRunner runner(raw, nullptr, preprocessing, 1, executor);
  runner.set_metric("au_prc");
  const auto measured = [&](const std::vector<Split>& splits) {
    runner.begin_stage(splits);
    return runner.run(find_method("flat-svm"), {}, control)->metric;
  };
  double sum = 0;
  for (const Split& fold : folds) {
    sum += measured({fold}).value * static_cast<double>(fold.validation.size());
  }
  const MeasuredMetric of_all = measured(folds);
  EXPECT_NEAR(of_all.value, sum / 90, 1e-12);
  EXPECT_EQ(of_all.influence.size(), 90U);
}

// The choice --------------------------------------------------------------------------------------

TEST(AutomaticChoice, takes_the_simplest_where_many_do_well) {
  const AutomaticChoice choice = choose(signs(200, false, 0.3));
  ASSERT_TRUE(choice.model);
  EXPECT_EQ(choice.chosen().method, "flat-svm");
  EXPECT_EQ(choice.metric, "accuracy");
  EXPECT_GT(choice.chosen().score, 0.95);
  EXPECT_EQ(choice.stop, Stop::converged);
  for (const CandidateResult& each : choice.candidates) EXPECT_THAT(each.note, IsEmpty());
}

TEST(AutomaticChoice, takes_a_kernel_where_no_linear_method_can_tell_the_labels) {
  const AutomaticChoice choice = choose(signs(200, true, 0.3));
  ASSERT_TRUE(choice.model);
  EXPECT_THAT(choice.chosen().method, ::testing::AnyOf("kernel-ridge", "average-mkl"));
  EXPECT_GT(choice.chosen().score, 0.9);
  EXPECT_THAT(reason_of(choice), HasSubstr("standard error of"));
}

/// The label is the sign of a column that is a ten-thousandth of the others.
Examples small_column(std::size_t num_rows) {
  Random random(6);
  Examples raw;
  raw.source = "small column";
  raw.codec = LabelCodec({"plus", "minus"});
  raw.X = CsrMatrix(3);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto label = static_cast<LabelId>(random.below(2));
    const float sign = label == 0 ? 1.0F : -1.0F;
    raw.X.append_row(std::vector<FeatureId>{0, 1, 2},
                     std::vector<float>{1e-4F * (sign + noise(random, 0.2)), noise(random, 0.5),
                                        noise(random, 0.5)});
    raw.labels.append(std::vector<LabelId>{label});
  }
  return raw;
}

TEST(AutomaticChoice, gives_each_column_a_scale_where_that_helps) {
  const Examples raw = small_column(200);
  AutomaticChoice choice = choose(raw);
  ASSERT_TRUE(choice.model);
  const auto standard = std::pair<std::string, std::string>("scale", "standard");
  EXPECT_THAT(choice.chosen().options, Contains(standard)) << choice.chosen().name();
  EXPECT_GT(choice.chosen().score, 0.95);
  RunControl control;
  const ModelParts model =
      train_chosen(choice, raw, nullptr, {}, {}, 0, Executor::serial(), control);
  EXPECT_EQ(model.preprocessing.column_scale, ColumnScale::standard);
  const AutomaticChoice given = choose(raw, nullptr, {}, 1, 0, 1e9, ColumnScale::common);
  for (const CandidateResult& each : given.candidates) {
    EXPECT_THAT(each.options, Not(Contains(standard))) << each.name();
  }
}

TEST(AutomaticChoice, tries_hierarchical_methods_without_a_failure) {
  const Hierarchy tree = two_levels();
  for (const bool several : {false, true}) {
    const AutomaticChoice choice = choose(leaf_rows(80, 0.5, several), &tree);
    ASSERT_TRUE(choice.model);
    EXPECT_EQ(choice.metric, several ? "micro_f1" : "accuracy");
    EXPECT_THAT(choice.candidates, Contains(Field(&CandidateResult::method, "hr-lr")));
    for (const CandidateResult& each : choice.candidates) {
      EXPECT_THAT(each.note, IsEmpty()) << each.name();
      EXPECT_GT(each.num_trials, 0U) << each.name();
      EXPECT_GE(choice.candidates.front().standard_error, 0) << each.name();
    }
  }
}

TEST(AutomaticChoice, depends_on_data_and_seed_but_not_on_threads) {
  const Hierarchy tree = two_levels();
  const Examples raw = leaf_rows(90, 0.8);
  const AutomaticChoice first = choose(raw, &tree, {.metric = "macro_f1", .seed = 7}, 1);
  const AutomaticChoice second = choose(raw, &tree, {.metric = "macro_f1", .seed = 7}, 3);
  ASSERT_EQ(first.candidates.size(), second.candidates.size());
  for (std::size_t k = 0; k < first.candidates.size(); ++k) {
    EXPECT_EQ(first.candidates[k].name(), second.candidates[k].name());
    EXPECT_EQ(first.candidates[k].score, second.candidates[k].score);
    EXPECT_EQ(first.candidates[k].standard_error, second.candidates[k].standard_error);
  }
}

TEST(AutomaticChoice, takes_every_metric_of_scores_and_sets) {
  const Hierarchy tree = two_levels();
  const Examples raw = leaf_rows(40, 0.6, true);
  for (const std::string metric :
       {"au_prc", "au_prc_macro", "f_max", "ndcg_at_3", "psp_at_1", "coverage_error", "lca_f1"}) {
    SCOPED_TRACE(metric);
    const AutomaticChoice choice = choose(raw, &tree, {.metric = metric});
    const AutomaticChoice again = choose(raw, &tree, {.metric = metric}, 3);
    ASSERT_TRUE(choice.model);
    ASSERT_EQ(choice.candidates.size(), again.candidates.size());
    for (std::size_t k = 0; k < choice.candidates.size(); ++k) {
      const CandidateResult& each = choice.candidates[k];
      EXPECT_THAT(each.note, IsEmpty()) << each.name();
      EXPECT_EQ(each.name(), again.candidates[k].name());
      EXPECT_EQ(each.score, again.candidates[k].score);
      EXPECT_EQ(each.standard_error, again.candidates[k].standard_error);
    }
  }
  const AutomaticChoice choice =
      choose(signs(200, true, 0.3), nullptr, {.metric = "risk_coverage_area"});
  EXPECT_LT(choice.chosen().score, 0.1);
}

TEST(AutomaticChoice, says_why_a_metric_cannot_be_computed) {
  const AutomaticChoice choice =
      choose(signs(40, false, 0.3), nullptr, {.metric = "precision_at_3"});
  EXPECT_FALSE(choice.model);
  for (const CandidateResult& each : choice.candidates) {
    EXPECT_EQ(each.verdict, Verdict::failed);
    EXPECT_THAT(each.note, HasSubstr("metric precision_at_3 was requested, but the model has"));
  }
}

TEST(AutomaticChoice, minimises_a_loss) {
  const AutomaticChoice choice = choose(signs(200, true, 0.3), nullptr, {.metric = "hamming_loss"});
  EXPECT_LT(choice.chosen().score, 0.1);
}

TEST(AutomaticChoice, says_that_the_time_limit_left_nothing) {
  const AutomaticChoice choice = choose(signs(200, false, 0.3), nullptr, {}, 1, 0, 1e-9);
  EXPECT_FALSE(choice.model);
  EXPECT_EQ(choice.stop, Stop::time_limit);
  EXPECT_THAT(choice.candidates, Not(Contains(Field(&CandidateResult::verdict, Verdict::chosen))));
}

TEST(AutomaticChoice, a_limit_that_comes_within_a_metric_of_scores_cuts_the_trial) {
  const Examples raw = signs(60, false, 0.3);
  for (int limit = 1; limit < 300; limit += 7) {
    RunControl control(nullptr, 1e-3 * limit, &testing_clock::counted_seconds);
    const AutomaticChoice choice = choose_automatically(raw, nullptr, {}, {.metric = "au_prc"}, 0,
                                                        Executor::serial(), control);
    EXPECT_EQ(choice.stop, Stop::time_limit) << limit;
    for (const CandidateResult& each : choice.candidates) EXPECT_THAT(each.note, IsEmpty());
  }
}

/// The trials of each method where the search may ask for the time so often.
std::map<std::string, std::size_t> trials_by_method(const Examples& raw, int limit) {
  RunControl control(nullptr, 1e-3 * limit, &testing_clock::counted_seconds);
  const AutomaticChoice choice =
      choose_automatically(raw, nullptr, {}, {}, 0, Executor::serial(), control);
  std::map<std::string, std::size_t> trials;
  for (const CandidateResult& each : choice.candidates) trials[each.method] += each.num_trials;
  return trials;
}

TEST(AutomaticChoice, has_an_answer_of_every_candidate_before_it_refines_one) {
  const Examples raw = signs(600, true, 0.3);
  const auto trials = trials_by_method(raw, 30'000);
  for (const auto& [method, count] : trials) EXPECT_GT(count, 0U) << method;
}

TEST(AutomaticChoice, has_a_model_of_all_rows_in_any_time_that_suffices_for_a_sample) {
  const Examples raw = signs(600, true, 0.3);
  int num_whole = 0;
  for (int limit = 200; limit < 6000; limit += 450) {
    RunControl control(nullptr, 1e-3 * limit, &testing_clock::counted_seconds);
    AutomaticChoice choice =
        choose_automatically(raw, nullptr, {}, {}, 0, Executor::serial(), control);
    if (!choice.model) continue;
    const ModelParts model =
        train_chosen(choice, raw, nullptr, {}, {}, 0, Executor::serial(), control);
    num_whole += model.training_rows[0] + model.training_rows[1] == 600 ? 1 : 0;
    EXPECT_FALSE(reason_of(choice).empty());
  }
  EXPECT_GE(num_whole, 8);
}

// What was far better on a sample is not given up for what alone had the time for more rows.
TEST(AutomaticChoice, takes_the_winner_of_the_probe_where_others_alone_are_measured_further) {
  const Examples raw = signs(600, true, 0.3);
  int num_of_probe = 0;
  for (int limit = 100; limit < 6000; limit += 50) {
    RunControl control(nullptr, 1e-3 * limit, &testing_clock::counted_seconds);
    const AutomaticChoice choice =
        choose_automatically(raw, nullptr, {}, {}, 0, Executor::serial(), control);
    const CandidateResult& chosen = choice.candidates.front();
    if (chosen.verdict != Verdict::chosen) continue;
    for (const CandidateResult& other : choice.candidates) {
      if (other.num_trials == 0 || other.stage <= chosen.stage) continue;
      ++num_of_probe;
      EXPECT_EQ(other.verdict, Verdict::worse) << limit << ' ' << other.method;
    }
  }
  EXPECT_GT(num_of_probe, 0);
}

TEST(AutomaticChoice, keeps_the_best_model_when_it_is_interrupted) {
  const Examples raw = signs(200, false, 0.3);
  RunControl control([](const Progress& progress) { return progress.done < 3; });
  AutomaticChoice choice =
      choose_automatically(raw, nullptr, {}, {}, 0, Executor::serial(), control);
  EXPECT_EQ(choice.stop, Stop::interrupted);
  ASSERT_TRUE(choice.model);
  EXPECT_EQ(choice.model_rows, 160U);
  const ModelParts model =
      train_chosen(choice, raw, nullptr, {}, {}, 0, Executor::serial(), control);
  EXPECT_EQ(model.method, "flat-svm");
  EXPECT_THAT(model.report.warnings.back(),
              HasSubstr("an interruption ended the work before flat-svm"));
  EXPECT_THAT(model.report.warnings.back(), HasSubstr("on all 200 rows"));
  EXPECT_THAT(model.report.warnings.back(), HasSubstr("trained on 160 rows"));
}

TEST(AutomaticChoice, leaves_out_what_does_not_fit_into_memory) {
  const Examples raw = signs(200, false, 0.3);
  const AutomaticChoice choice = choose(raw, nullptr, {}, 1, 1e-4);
  EXPECT_THAT(choice.left_out, Contains(Field(&LeftOut::reason, HasSubstr("training would take"))));
  ASSERT_TRUE(choice.model);
  EXPECT_THAT(message_of<InvalidInput>([&] { choose(raw, nullptr, {}, 1, 1e-9); }),
              HasSubstr("signs: no method can be tried: "));
}

TEST(AutomaticChoice, refuses_an_unknown_metric) {
  EXPECT_THAT(message_of([] { choose(signs(20, false, 0.3), nullptr, {.metric = "joy"}); }),
              HasSubstr("metric is 'joy'"));
}

TEST(ReasonOf, says_why_the_best_one_is_not_chosen) {
  CandidateResult chosen, best;
  chosen.method = "flat-svm";
  chosen.verdict = Verdict::chosen;
  best.method = "hr-lr";
  best.verdict = Verdict::tied;
  AutomaticChoice choice;
  choice.metric = "accuracy";
  choice.candidates = {chosen, best};
  const auto reason_at = [&](double difference) {
    choice.candidates[0].difference = difference;
    choice.candidates[0].standard_error = 0.01;
    return reason_of(choice);
  };
  EXPECT_THAT(reason_at(-0.005),
              HasSubstr("flat-svm is the simplest within one standard error of the best, hr-lr: "));
  EXPECT_THAT(reason_at(-0.05), HasSubstr("flat-svm has the best accuracy of those that the time "
                                          "is expected to suffice for; that of hr-lr, the best"));
}

TEST(ChosenModel, is_trained_on_all_rows) {
  const Examples raw = signs(200, false, 0.3);
  AutomaticChoice choice = choose(raw);
  RunControl control;
  const ModelParts model =
      train_chosen(choice, raw, nullptr, {}, {}, 0, Executor::serial(), control);
  EXPECT_EQ(model.method, choice.chosen().method);
  EXPECT_EQ(model.training_rows[0] + model.training_rows[1], 200U);
  EXPECT_THAT(model.report.warnings, IsEmpty());
}

/// The rows of the model where the limit ends the training on all of them, which does not
/// converge, and the model of the search was trained on so many.
std::uint32_t rows_of_model(const Examples& raw, std::size_t rows_of_search, int limit) {
  AutomaticChoice choice = choose(raw);
  choice.candidates = {choice.chosen()};
  choice.candidates[0].method = "flat-svm";
  choice.candidates[0].options = {
      {"loss", "hinge"}, {"C", "10000"}, {"tolerance", "1e-14"}, {"max_passes", "1000000"}};
  choice.model_rows = rows_of_search;
  RunControl control(nullptr, 1e-3 * limit, &testing_clock::counted_seconds);
  const ModelParts model =
      train_chosen(choice, raw, nullptr, {}, {}, 0, Executor::serial(), control);
  return model.training_rows[0] + model.training_rows[1];
}

TEST(ChosenModel, of_all_rows_that_the_limit_ends_replaces_one_of_few_rows) {
  const Examples raw = signs(600, false, 0.3);
  constexpr int kLimit = 100;
  EXPECT_EQ(rows_of_model(raw, 100, kLimit), 600U);
  EXPECT_EQ(rows_of_model(raw, 480, kLimit), 480U);
}

}  // namespace
}  // namespace margrove
