#include "report/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "eval/held_out.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "methods/registry.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

/// Rows with one feature a leaf: all of b's rows look like c's, its sibling.
struct Trained {
  Examples raw;
  Hierarchy hierarchy;
  PreparedRows rows;
  ModelParts model;
};

Trained trained(const std::string& evil_name = "b") {
  Trained t;
  for (const char* name : {"top", "inner", "a", "c"}) t.hierarchy.codec.add(name);
  const auto id = [&](const std::string& name) { return t.hierarchy.codec.add(name); };
  t.hierarchy.edges = {{id("top"), id("inner")},
                       {id("top"), id("a")},
                       {id("inner"), id(evil_name)},
                       {id("inner"), id("c")}};
  const std::vector<std::string> leaves{"a", evil_name, "c"};
  std::vector<std::int64_t> pointers{0};
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (int i = 0; i < 60; ++i) {
    const auto leaf = static_cast<std::size_t>(i % 3);
    columns.push_back(leaf == 0 ? 0U : 1U);
    values.push_back(1);
    pointers.push_back(static_cast<std::int64_t>(columns.size()));
    t.raw.labels.append(std::vector<LabelId>{t.raw.codec.add(leaves[leaf])});
  }
  t.raw.X = CsrMatrix(2, std::move(pointers), std::move(columns), std::move(values));
  t.rows = prepare_rows(t.raw, &t.hierarchy, {});
  const Method& method = find_method("nhsvm");
  const auto run = method.start();
  set_options(run->options(), {{"tolerance", "1e-7"}});  // at the optimum b and c are alike
  Executor executor(1);
  RunControl control;
  t.model = train_model(method, *run, t.rows.training_set(), {}, executor, control);
  return t;
}

EvaluatedRows evaluated(const Trained& t) {
  Executor executor(1);
  return evaluated_rows(t.model, t.raw, nullptr, nullptr, executor);
}

Json json_of(const Trained& t, const ReportOptions& options = {},
             std::span<const std::string> texts = {}) {
  Executor executor(1);
  const EvaluatedRows rows = evaluated(t);
  return Json::parse(report_json({t.model, rows, texts}, options, executor));
}

TEST(Report, counts_rows_at_and_below_each_node_and_confused_siblings) {
  const Trained t = trained();
  const Json report = json_of(t);
  const auto of = [&](const char* what, const char* name) {
    return report["tree"][what][*t.model.labels.find(name)].get<int>();
  };
  EXPECT_EQ(of("support", "top"), 60);
  EXPECT_EQ(of("support", "inner"), 40);
  EXPECT_EQ(of("both", "inner"), 40);
  EXPECT_EQ(of("both", "a"), 20);
  EXPECT_EQ(of("training_rows", "b"), 20);
  EXPECT_EQ(of("predicted", "b") + of("predicted", "c"), 40);
  ASSERT_EQ(report["confused"].size(), 1u);  // b and c; one of them gets all the rows
  EXPECT_EQ(report["confused"][0]["a_as_b"].get<int>() + report["confused"][0]["b_as_a"].get<int>(),
            20);
  EXPECT_NEAR(report["metrics"]["accuracy"].get<double>(), 2.0 / 3, 1e-12);
}

TEST(Report, has_the_accuracy_of_each_level_and_of_the_most_confident_rows) {
  const Json report = json_of(trained());
  ASSERT_EQ(report["levels"].size(), 2u);  // below the root: inner and a, then b and c
  EXPECT_EQ(report["levels"][0]["accuracy"], 1.0);
  EXPECT_EQ(report["levels"][1]["rows"], 40);
  EXPECT_EQ(report["levels"][1]["accuracy"], 0.5);
  const Json& curve = report["coverage"]["curve"];
  ASSERT_EQ(curve.size(), 60u);
  EXPECT_NEAR(curve[19][0].get<double>(), 1.0 / 3, 1e-12);
  EXPECT_EQ(curve[19][1], 1.0);  // the rows of a are certain
  EXPECT_NEAR(curve[59][1].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_TRUE(report["calibration"].is_null());  // scores are no probabilities
}

TEST(Report, counts_rows_by_their_calibrated_confidence) {
  Trained t = trained();
  t.model.calibration = Calibration{.num_rows = 60};
  const Json calibration = json_of(t)["calibration"];
  std::int64_t in_bins = 0;
  for (const Json& bin : calibration["bins"]) in_bins += bin["count"].get<int>();
  EXPECT_EQ(in_bins, 60);
  EXPECT_EQ(calibration["fitted_rows"], 60);
}

TEST(Report, has_the_curve_of_the_convergence) {
  const Trained t = trained();
  const Json convergence = json_of(t)["convergence"];
  ASSERT_GE(convergence["curve"].size(), 2u);
  EXPECT_EQ(convergence["curve"].back()[0], convergence["passes"]);
  EXPECT_GE(convergence["curve"].front()[1].get<double>(), t.model.report.primal);
}

TEST(Report, explains_wrong_and_right_rows) {
  const Trained t = trained();
  ReportOptions options;
  options.num_examples = 6;
  options.num_pairs = 0;
  options.feature_name = [](FeatureId j) { return concat("column ", j); };
  const Json report = json_of(t, options);
  ASSERT_EQ(report["examples"].size(), 6u);
  int wrong = 0;
  for (const Json& example : report["examples"]) {
    wrong += example["right"].get<bool>() ? 0 : 1;
    EXPECT_FALSE(example.contains("text"));
    for (const Json& explanation : example["explanations"]) {
      double sum = 0;
      for (const Json& node : explanation["nodes"]) sum += node["score"].get<double>();
      EXPECT_NEAR(sum, explanation["score"].get<double>(), 1e-9);
    }
  }
  EXPECT_EQ(wrong, 3);
  EXPECT_THAT(report["examples"].dump(), HasSubstr("column 1"));
}

TEST(Report, shows_rows_of_confused_siblings_with_their_texts) {
  const Trained t = trained();
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) texts.push_back(concat("text ", i + 1));
  texts[1] = std::string(3999, 'x') + "\u00e9\u00e9";  // two bytes each, cut before both
  ReportOptions options;
  options.num_examples = 0;
  options.num_pair_examples = 2;
  const Json report = json_of(t, options, texts);
  const Json& pair = report["confused"][0];
  ASSERT_EQ(pair["rows"].size(), 2u);
  ASSERT_EQ(report["examples"].size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    const Json& example = report["examples"][k];
    EXPECT_EQ(example["row"], pair["rows"][k]);
    EXPECT_FALSE(example["right"].get<bool>());
    const int row = example["row"].get<int>();
    EXPECT_EQ(example["text"], row == 2 ? std::string(3999, 'x') + "..." : concat("text ", row));
  }
  EXPECT_THROW(json_of(t, options, std::span(texts).first(3)), InvalidInput);
}

TEST(Report, compares_with_another_model) {
  const Trained t = trained(), same = trained();
  Executor executor(1);
  EvaluatedRows rows = evaluated(t);
  OtherPredictions other = other_predictions("second", same.model, same.rows.X, rows, executor);
  EXPECT_EQ(other.method, "nhsvm");
  const auto report = [&] {
    return Json::parse(report_json({t.model, rows, {}, &other}, {}, executor));
  };
  EXPECT_EQ(report()["other"]["first_only"], 0);
  EXPECT_EQ(report()["other"]["p_value"], 1.0);
  other.labels = rows.truth;
  const Json with_truth = report();
  EXPECT_EQ(with_truth["other"]["second_only"], 20);
  EXPECT_EQ(with_truth["other"]["metrics"]["accuracy"], 1.0);
  EXPECT_LT(with_truth["other"]["p_value"].get<double>(), 1e-4);
  EXPECT_EQ(with_truth["tree"]["other_both"], with_truth["tree"]["support"]);
  other.labels = LabelSets();
  EXPECT_THROW(report(), InvalidInput);
}

TEST(Report, labels_of_the_other_model_alone_have_names) {
  const Trained t = trained(), other = trained("only here");
  Executor executor(1);
  EvaluatedRows rows = evaluated(t);
  const OtherPredictions predictions =
      other_predictions("second", other.model, other.rows.X, rows, executor);
  const Json report = Json::parse(report_json({t.model, rows, {}, &predictions}, {}, executor));
  EXPECT_EQ(report["tree"]["names"].size(), t.model.labels.size());
}

TEST(Report, texts_cannot_end_the_page_s_script) {
  const Trained t = trained("</script><b>&");
  Executor executor(1);
  const EvaluatedRows rows = evaluated(t);
  const std::string page = report_html({t.model, rows}, {}, executor);
  EXPECT_THAT(page, ::testing::Not(HasSubstr("</script><b>&")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>\\u003cb>&"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("http://cdn")));
  for (const char* mark : {"%DATA%", "%STYLE%", "%SCRIPT%"}) {
    EXPECT_THAT(page, ::testing::Not(HasSubstr(mark)));
  }
}

TEST(Report, without_rows_throws) {
  const Trained t = trained();
  EvaluatedRows none = evaluated(t);
  none.truth = LabelSets();
  Executor executor(1);
  EXPECT_THROW(report_json({t.model, none}, {}, executor), InvalidInput);
}

TEST(HeldOut, calibration_of_what_cannot_be_told_apart_is_a_half) {
  const Trained t = trained();
  const Method& method = find_method("nhsvm");
  const auto run = method.start();
  set_options(run->options(), {{"tolerance", "1e-7"}});
  Executor executor(1);
  RunControl control;
  const TrainingSet data = t.rows.training_set();
  const Calibration c = calibrate_held_out(method, *run, data, 0.25, executor, control).value();
  EXPECT_EQ(c.num_rows, 15);
  std::vector<float> scores(t.model.labels.size());
  std::vector<double> p(scores.size());
  t.model.rows().scores(t.rows.X, 1, 2, scores);
  softmax(scores, c.temperature, p);
  EXPECT_NEAR(p[*t.model.labels.find("b")], 0.5, 0.05);
  try {
    calibrate_held_out(method, *run, data, 1.5, executor, control);
    FAIL();
  } catch (const InvalidOption& error) {
    EXPECT_THAT(error.what(), HasSubstr("1.5"));
  }
}

TEST(HeldOut, calibration_that_is_ended_is_none) {
  const Trained t = trained();
  const Method& method = find_method("nhsvm");
  Executor executor(1);
  const TrainingSet data = t.rows.training_set();
  for (const auto& [limit, why] : {std::pair{0.0, "the time limit"}, {1e9, "an interruption"}}) {
    const auto run = method.start();
    RunControl control([](const Progress& progress) { return progress.stage != "calibration"; },
                       limit);
    EXPECT_FALSE(calibrate_held_out(method, *run, data, 0.25, executor, control));
    EXPECT_THAT(std::string(why_not_calibrated(control)),
                HasSubstr(concat(why, " came before calibration, which the model lacks")));
  }
}

}  // namespace
}  // namespace margrove
