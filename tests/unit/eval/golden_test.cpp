// The values that scikit-learn and SciPy find on the same sets (tests/golden/make_metrics.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "eval/named_metrics.hpp"
#include "margrove/metrics.hpp"
#include "margrove/significance.hpp"
#include "source_folder.hpp"

namespace margrove {
namespace {

nlohmann::json read_cases() {
  std::ifstream file(testing::source_folder() / "tests/golden/metrics.json");
  return nlohmann::json::parse(file);
}

LabelSets read_sets(const nlohmann::json& rows) {
  LabelSets labels;
  for (const auto& row : rows) labels.append(row.get<std::vector<LabelId>>());
  return labels;
}

LabelGraph read_graph(const nlohmann::json& golden) {
  std::vector<LabelEdge> edges;
  for (const auto& edge : golden["edges"]) edges.push_back({edge[0], edge[1]});
  return LabelGraph::build(golden["num_nodes"], edges);
}

std::vector<bool> read_training(const nlohmann::json& golden) {
  std::vector<bool> in_training(golden["num_nodes"], false);
  for (const std::size_t label : golden["in_training"]) in_training[label] = true;
  return in_training;
}

TEST(GoldenMetrics, equal_those_of_scikit_learn) {
  const auto cases = read_cases();
  ASSERT_GE(cases.size(), 7U);
  for (const auto& golden : cases) {
    SCOPED_TRACE(golden["name"]);
    const Metrics metrics = compute_metrics(read_sets(golden["truth"]), read_sets(golden["first"]),
                                            read_graph(golden), read_training(golden));
    for (const auto& [name, value] : named_values(metrics)) {
      EXPECT_NEAR(value, golden["metrics"][std::string(name)].get<double>(), 1e-12) << name;
    }
  }
}

TEST(GoldenMetrics, table_of_labels_equals_that_of_scikit_learn) {
  for (const auto& golden : read_cases()) {
    SCOPED_TRACE(golden["name"]);
    const auto scores =
        label_scores(read_sets(golden["truth"]), read_sets(golden["first"]), read_training(golden));
    const auto& table = golden["metrics"]["labels"];
    ASSERT_EQ(scores.size(), table.size());
    for (std::size_t k = 0; k < scores.size(); ++k) {
      EXPECT_EQ(scores[k].label, table[k]["label"].get<LabelId>());
      EXPECT_EQ(scores[k].support, table[k]["support"].get<std::int64_t>());
      EXPECT_NEAR(scores[k].precision(), table[k]["precision"].get<double>(), 1e-12);
      EXPECT_NEAR(scores[k].recall(), table[k]["recall"].get<double>(), 1e-12);
      EXPECT_NEAR(scores[k].f1(), table[k]["f1"].get<double>(), 1e-12);
    }
  }
}

TEST(GoldenSignificance, sign_test_equals_that_of_scipy) {
  for (const auto& golden : read_cases()) {
    SCOPED_TRACE(golden["name"]);
    const PairedTest test = micro_sign_test(read_sets(golden["truth"]), read_sets(golden["first"]),
                                            read_sets(golden["second"]));
    const auto& expected = golden["micro_sign_test"];
    EXPECT_EQ(test.first_better, expected["first_better"].get<std::int64_t>());
    EXPECT_EQ(test.second_better, expected["second_better"].get<std::int64_t>());
    EXPECT_NEAR(test.p_value / expected["p_value"].get<double>(), 1.0, 1e-10);
  }
}

TEST(GoldenSignificance, wilcoxon_test_equals_that_of_scipy) {
  int compared = 0;
  for (const auto& golden : read_cases()) {
    SCOPED_TRACE(golden["name"]);
    const PairedTest test = macro_wilcoxon_test(
        read_sets(golden["truth"]), read_sets(golden["first"]), read_sets(golden["second"]));
    const auto& expected = golden["macro_wilcoxon"];
    EXPECT_DOUBLE_EQ(test.statistic, expected["statistic"].get<double>());
    if (expected["p_value"].is_null()) continue;  // ties among few labels: SciPy approximates
    EXPECT_NEAR(test.p_value / expected["p_value"].get<double>(), 1.0, 1e-10);
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

}  // namespace
}  // namespace margrove
