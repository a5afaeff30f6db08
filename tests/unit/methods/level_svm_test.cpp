// Method level-svm and the models that it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/out_of_time.hpp"
#include "data/csr_operations.hpp"
#include "files.hpp"
#include "io/model_file.hpp"
#include "io/safetensors.hpp"
#include "linear/one_vs_rest.hpp"
#include "model/linear_predictor.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using testing::accuracy;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::grouped_rows;
using testing::groups;
using ::testing::HasSubstr;
using testing::message_of;
using testing::multi_label_rows;
using testing::overlapping_groups;
using testing::train;

const LinearPredictor::Parts& parts_of(const ModelParts& model) {
  return dynamic_cast<const LinearPredictor&>(*model.predictor).parts();
}

/// The node of a label, of which there must be one.
NodeId node_of(const ModelParts& model, const std::string& name) {
  const std::vector<LabelId>& labels = parts_of(model).label_of_node;
  EXPECT_EQ(std::ranges::count(labels, *model.labels.find(name)), 1) << name;
  return static_cast<NodeId>(std::ranges::find(labels, *model.labels.find(name)) - labels.begin());
}

/// One against all others, with the rows of these labels positive: the weights of the columns and
/// of the constant feature, which is 1.
std::vector<double> machine(const Examples& raw, const std::vector<std::string>& labels, double C) {
  LabelSets sets;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    const bool is_positive = std::ranges::any_of(raw.labels[i], [&](LabelId label) {
      return std::ranges::count(labels, raw.codec.name(label)) > 0;
    });
    sets.append(is_positive ? std::vector<LabelId>{0} : std::vector<LabelId>{});
  }
  RunControl control;
  const OneVsRestFit fit = train_one_vs_rest(
      with_intercept(raw.X, 1.0), sets, 1,
      {.loss = PointLossKind::squared_hinge, .C = C, .tolerance = 1e-8, .max_passes = 10'000},
      Executor::serial(), control);
  std::vector<double> w;
  for (FeatureId j = 0; j < fit.weights.num_features(); ++j) w.push_back(fit.weights.at(j, 0));
  return w;
}

const OptionValues kExact{{"multiclass", "ovr"}, {"tolerance", "1e-8"}, {"max_passes", "10000"}};

TEST(LevelSvm, every_node_has_the_machine_of_the_rows_at_or_below_it) {
  const Hierarchy hierarchy = groups();
  const Examples raw = grouped_rows(120, 5);
  const ModelParts model = train("level-svm", kExact, raw, &hierarchy);
  const LinearPredictor::Parts& parts = parts_of(model);
  const GraphLevels levels(parts.graph);
  ASSERT_EQ(parts.levels.size(), 2U) << "the root is above all leaves";
  const std::vector<std::pair<std::string, std::vector<std::string>>> below{
      {"a", {"a1", "a2"}}, {"b", {"b1", "b2"}}, {"a1", {"a1"}},
      {"a2", {"a2"}},      {"b1", {"b1"}},      {"b2", {"b2"}}};
  for (const auto& [name, labels] : below) {
    const NodeId n = node_of(model, name);
    const std::vector<double> w = machine(raw, labels, 1);
    const std::uint32_t level = levels.of(n);
    EXPECT_EQ(level, labels.size() == 2 ? 0U : 1U);
    for (FeatureId j = 0; j < 5; ++j) {
      const double offset = j == 4 ? parts.levels.offsets[level] : 0;
      EXPECT_NEAR(parts.weights.at(j, n), parts.levels.factors[level] * w[j] + offset, 2e-3)
          << name << " " << j;
    }
  }
  for (const char* without_rows : {"c", "c1"}) {
    for (FeatureId j = 0; j < 5; ++j) {
      EXPECT_EQ(parts.weights.at(j, node_of(model, without_rows)), 0);
    }
  }
}

TEST(LevelSvm, a_score_is_the_sum_over_all_ancestors) {
  const Hierarchy dag = overlapping_groups();
  const Examples raw = multi_label_rows(200, false);
  const ModelParts model = train("level-svm", kExact, raw, &dag);
  const LevelWeights& levels = parts_of(model).levels;
  ASSERT_EQ(levels.size(), 2U);
  std::vector<float> scores(model.labels.size());
  for (const std::size_t i : {0U, 1U, 2U, 3U}) {
    model.rows().scores(raw.X, i, i + 1, scores);
    const auto term = [&](std::size_t level, const std::vector<std::string>& labels) {
      const std::vector<double> w = machine(raw, labels, 1);
      double s = w.back();
      for (const FeatureId j : raw.X.row(i).columns) s += w[j];
      return levels.factors[level] * s + levels.offsets[level];
    };
    const double u = term(0, {"x", "y"}), v = term(0, {"y", "z"});
    EXPECT_NEAR(scores[*model.labels.find("x")], u + term(1, {"x"}), 5e-3);
    EXPECT_NEAR(scores[*model.labels.find("y")], u + v + term(1, {"y"}), 5e-3);
    EXPECT_NEAR(scores[*model.labels.find("z")], v + term(1, {"z"}), 5e-3);
  }
}

TEST(LevelSvm, reports_the_objective_of_the_last_training) {
  const Hierarchy hierarchy = groups();
  const Examples raw = grouped_rows(120, 5);
  OptionValues options = kExact;
  options.emplace_back("C", "0.3");
  const ModelParts model = train("level-svm", options, raw, &hierarchy);
  double objective = 0;
  const std::vector<std::vector<std::string>> below{{"a1", "a2"}, {"b1", "b2"}, {"a1"},
                                                    {"a2"},       {"b1"},       {"b2"}};
  for (const auto& labels : below) {
    const std::vector<double> w = machine(raw, labels, 0.3);
    for (const double value : w) objective += value * value / 2;
    for (std::size_t i = 0; i < raw.num_rows(); ++i) {
      double score = w.back();
      for (FeatureId j = 0; j < 4; ++j) score += w[j] * raw.X.row(i).values[j];
      const bool is_positive = std::ranges::count(labels, raw.codec.name(raw.labels[i][0])) > 0;
      const double loss = std::max(0.0, 1 - (is_positive ? score : -score));
      objective += 0.3 * loss * loss;
    }
  }
  EXPECT_NEAR(model.report.primal, objective, 1e-4 * objective);
  EXPECT_NEAR(model.report.dual, objective, 1e-4 * objective);
}

/// The problem of Crammer and Singer with these labels of the rows: a column for each, ascending.
ModelParts joint_machine(const Examples& raw, const std::vector<std::string>& label_of) {
  Examples rows = raw;
  rows.codec = {};
  LabelSets labels;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    labels.append(std::vector<LabelId>{rows.codec.add(label_of[raw.labels[i][0]])});
  }
  rows.labels = std::move(labels);
  const OptionValues options{
      {"multiclass", "crammer-singer"}, {"C", "1"}, {"tolerance", "1e-6"}, {"max_passes", "10000"}};
  return train("flat-svm", options, rows, nullptr);
}

TEST(LevelSvm, a_level_of_which_every_row_has_one_node_is_one_problem) {
  const Hierarchy hierarchy = groups();
  const Examples raw = grouped_rows(120, 5);
  const OptionValues options{{"C", "1"}, {"tolerance", "1e-6"}, {"max_passes", "10000"}};
  const ModelParts model = train("level-svm", options, raw, &hierarchy);
  const LinearPredictor::Parts& parts = parts_of(model);
  const GraphLevels levels(parts.graph);
  const ModelParts of_leaves = joint_machine(raw, {"a1", "a2", "b1", "b2"});
  const ModelParts of_groups = joint_machine(raw, {"a", "a", "b", "b"});
  for (const ModelParts* joint : {&of_leaves, &of_groups}) {
    for (const NodeId column : parts_of(*joint).candidates) {
      const NodeId n = node_of(model, joint->labels.name(column));
      const double v = parts.levels.factors[levels.of(n)], c = parts.levels.offsets[levels.of(n)];
      for (FeatureId j = 0; j < 5; ++j) {
        const double offset = j == 4 ? c : 0;
        EXPECT_NEAR(parts.weights.at(j, n), v * parts_of(*joint).weights.at(j, column) + offset,
                    5e-3 * std::max(v, 1.0))
            << joint->labels.name(column) << " " << j;
      }
    }
  }
  const double objective = of_leaves.report.primal + of_groups.report.primal;
  EXPECT_NEAR(model.report.primal, objective, 1e-4 * objective);
  EXPECT_NEAR(model.report.dual, objective, 1e-4 * objective);
  EXPECT_EQ(model.report.stop, Stop::converged);
}

TEST(LevelSvm, other_levels_and_label_sets_are_one_vs_rest) {
  const auto bytes_with = [](const char* multiclass, const Examples& raw, const Hierarchy& graph) {
    const ModelParts model = train("level-svm", {{"multiclass", multiclass}}, raw, &graph);
    return std::pair(parts_of(model).weights.dense_values().size(), parts_of(model).levels);
  };
  const Hierarchy dag = overlapping_groups();
  const Examples sets = multi_label_rows(200, false);
  EXPECT_EQ(bytes_with("auto", sets, dag), bytes_with("ovr", sets, dag));
  EXPECT_EQ(message_of([&] { bytes_with("crammer-singer", sets, dag); }).substr(0, 9), "toy: row ");
  const Hierarchy tree = groups();
  const Examples raw = grouped_rows(100, 3);
  EXPECT_EQ(bytes_with("auto", raw, tree), bytes_with("crammer-singer", raw, tree));
  EXPECT_NE(bytes_with("auto", raw, tree).second, bytes_with("ovr", raw, tree).second);
}

TEST(LevelSvm, free_intercepts_are_for_one_vs_rest) {
  const Hierarchy tree = groups();
  const Examples raw = grouped_rows(100, 3);
  const auto levels_with = [&](const char* multiclass) {
    const OptionValues options{{"multiclass", multiclass}, {"intercept_penalty", "0"}};
    return parts_of(train("level-svm", options, raw, &tree)).levels;
  };
  EXPECT_EQ(levels_with("auto"), levels_with("ovr"));
  EXPECT_THAT(message_of<InvalidOption>([&] { levels_with("crammer-singer"); }),
              HasSubstr("free intercepts are for flat-svm and level-svm with multiclass ovr"));
}

TEST(LevelSvm, without_an_intercept_all_offsets_are_0) {
  const Hierarchy dag = overlapping_groups();
  const Examples raw = multi_label_rows(200, false);
  EXPECT_THAT(parts_of(train("level-svm", {{"bias", "0"}}, raw, &dag)).levels.offsets, Each(0.0));
  EXPECT_THAT(parts_of(train("level-svm", {}, raw, &dag)).levels.offsets, Each(::testing::Ne(0.0)));
}

TEST(LevelSvm, an_inner_label_has_a_leaf_of_its_own_in_the_level_of_all_leaves) {
  const Hierarchy hierarchy = groups();
  Examples raw = grouped_rows(120, 8);
  const LabelId inner = raw.codec.add("a");
  LabelSets with_inner;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {  // a2 becomes "a itself"
    const LabelId label = raw.labels[i][0];
    with_inner.append(std::vector<LabelId>{label == 1 ? inner : label});
  }
  raw.labels = with_inner;
  const ModelParts model = train("level-svm", {}, raw, &hierarchy);
  EXPECT_GT(accuracy(model, raw), 0.95);
  const LinearPredictor::Parts& parts = parts_of(model);
  EXPECT_EQ(parts.levels.size(), 2U);
  const auto nodes = std::ranges::count(parts.label_of_node, *model.labels.find("a"));
  EXPECT_EQ(nodes, 2) << "the inner node and the leaf";
  EXPECT_EQ(parts.candidates.size(), 4U);
}

TEST(LevelSvm, label_sets_tune_their_decision_on_the_same_folds) {
  const Hierarchy dag = overlapping_groups();
  const Examples raw = multi_label_rows(200, false);
  for (const char* decision : {"auto", "scut", "shrunk", "threshold", "instance", "zero", "rcut"}) {
    const ModelParts model = train("level-svm", {{"C", "10"}, {"decision", decision}}, raw, &dag);
    EXPECT_FALSE(model.rows().gives_one_label()) << decision;
    if (std::string(decision) != "rcut") {
      EXPECT_EQ(accuracy(model, raw), 1.0) << decision;
    }
  }
  const ModelParts scut = train("level-svm", {{"decision", "scut"}}, raw, &dag);
  const auto& rule = std::get<ThresholdDecision>(parts_of(scut).decision.rule);
  EXPECT_EQ(rule.thresholds.size(), scut.labels.size());
  const ModelParts argmax = train("level-svm", {{"decision", "argmax"}}, raw, &dag);
  EXPECT_TRUE(argmax.rows().gives_one_label());
  EXPECT_EQ(parts_of(argmax).levels, parts_of(scut).levels);
}

TEST(LevelSvm, one_leaf_or_two_rows_are_enough) {
  const Hierarchy hierarchy = groups();
  Examples all = grouped_rows(40, 3);
  const auto rows_with = [&](std::size_t count, const std::function<bool(LabelId)>& wanted) {
    Examples some = all;
    some.X = CsrMatrix(4);
    some.labels = {};
    for (std::size_t i = 0; i < all.num_rows() && some.num_rows() < count; ++i) {
      if (!wanted(all.labels[i][0])) continue;
      some.X.append_row(all.X.row(i).columns, all.X.row(i).values);
      some.labels.append(all.labels[i]);
    }
    return some;
  };
  const Examples one_leaf = rows_with(10, [](LabelId label) { return label == 0; });
  EXPECT_EQ(accuracy(train("level-svm", {}, one_leaf, &hierarchy), one_leaf), 1);
  const Examples one_row = rows_with(1, [](LabelId) { return true; });
  const ModelParts of_one = train("level-svm", {}, one_row, &hierarchy);
  EXPECT_EQ(accuracy(of_one, one_row), 1);
  EXPECT_THAT(parts_of(of_one).levels.factors, Each(1.0)) << "no row could be held out";
  LabelId next = 0;
  const Examples two_rows = rows_with(2, [&](LabelId label) {
    const bool is_other = label == 2 * next;
    next += is_other ? 1 : 0;
    return is_other;
  });
  ASSERT_EQ(two_rows.num_rows(), 2U);
  EXPECT_EQ(accuracy(train("level-svm", {}, two_rows, &hierarchy), two_rows), 1);
}

TEST(LevelSvm, a_row_of_weight_0_counts_for_nothing) {
  const Hierarchy hierarchy = groups();
  const Examples raw = grouped_rows(100, 3);
  const Method& method = find_method("level-svm");
  const auto weights_with = [&](bool reversed) {
    Examples rows = raw;
    if (reversed) {  // the rows of weight 0 have other values
      CsrMatrix X(4);
      for (std::size_t i = 0; i < raw.num_rows(); ++i) {
        std::vector<float> values(raw.X.row(i).values.begin(), raw.X.row(i).values.end());
        for (float& value : values) value *= i % 4 == 0 ? -3.0F : 1.0F;
        X.append_row(raw.X.row(i).columns, values);
      }
      rows.X = std::move(X);
    }
    PreprocessingOptions preprocessing;
    preprocessing.scale = ColumnScale::none;
    const PreparedRows prepared = prepare_rows(std::move(rows), &hierarchy, preprocessing);
    TrainingSet data = prepared.training_set();
    std::vector<double> weights(100, 1.0);
    for (std::size_t i = 0; i < 100; i += 4) weights[i] = 0;
    data.row_weights = weights;
    const auto run = method.start();
    set_options(run->options(), kExact);
    RunControl control;
    const ModelParts model =
        train_model(method, *run, data, prepared.preprocessing, Executor::serial(), control);
    return parts_of(model).levels;
  };
  const LevelWeights one = weights_with(false), other = weights_with(true);
  for (std::size_t d = 0; d < one.size(); ++d) {
    EXPECT_NEAR(one.factors[d], other.factors[d], 1e-3);
    EXPECT_NEAR(one.offsets[d], other.offsets[d], 1e-3);
  }
}

TEST(LevelSvm, a_limit_before_the_first_pass_leaves_no_model) {
  const Hierarchy hierarchy = groups();
  const Method& method = find_method("level-svm");
  for (const char* multiclass : {"auto", "ovr"}) {
    const PreparedRows prepared = prepare_rows(grouped_rows(100, 3), &hierarchy, {});
    const auto run = method.start();
    set_options(run->options(), {{"multiclass", multiclass}});
    RunControl control({}, 0);
    EXPECT_THROW(train_model(method, *run, prepared.training_set(), prepared.preprocessing,
                             Executor::serial(), control),
                 OutOfTimeLimit)
        << multiclass;
  }
}

// Files -------------------------------------------------------------------------------------------

std::string fact(const ModelParts& model, const std::string& name) {
  for (const Fact& each : model.rows().facts()) {
    if (each.name == name) return each.value;
  }
  return "none";
}

TEST(LevelModel, files_keep_the_levels) {
  const Hierarchy hierarchy = groups();
  const ModelParts model = train("level-svm", {}, grouped_rows(100, 3), &hierarchy);
  const std::string bytes = serialize_model(model);
  const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
  EXPECT_EQ(read.method, "level-svm");
  EXPECT_EQ(parts_of(read).levels, parts_of(model).levels);
  EXPECT_EQ(serialize_model(read), bytes);
  const ModelParts flat = train("flat-svm", {}, grouped_rows(100, 3), &hierarchy);
  EXPECT_TRUE(parts_of(flat).levels.empty());
  EXPECT_EQ(fact(flat, "level weights"), "none");
}

/// One inner node above two leaves, and one leaf beside it.
LinearPredictor::Parts small_parts() {
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(2, 4, std::vector<float>(8, 1.0F));
  parts.bias = 1;
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}};
  parts.graph = LabelGraph::build(4, edges);
  parts.levels = {{0.5, 1.25}, {0, -2}};
  parts.label_of_node = {0, 1, 2, 3};
  parts.candidates = {1, 2, 3};
  parts.num_labels = 4;
  return parts;
}

TEST(LevelModel, facts_have_the_levels_from_the_roots_down) {
  std::vector<std::string> texts;
  for (const Fact& each : LinearPredictor(small_parts()).facts()) {
    if (each.name.starts_with("level ")) texts.push_back(each.name + ": " + each.value);
  }
  EXPECT_THAT(texts, ElementsAre("level weights: 0.5 1.25", "level offsets: 0 -2"));
  LinearPredictor::Parts parts = small_parts();
  parts.levels = {{5, 8}, {-2.8e-12, 1e-3}, {0, 1}};
  texts.clear();
  for (const Fact& each : LinearPredictor(parts).facts()) {
    if (each.name.starts_with("level ")) texts.push_back(each.name + ": " + each.value);
  }
  EXPECT_THAT(texts, ElementsAre("level weights: 5 8", "level offsets: 0 0.001",
                                 "level training: ovr joint"));
}

TEST(LevelModel, compression_keeps_the_levels) {
  const LinearPredictor predictor(small_parts());
  const auto compressed = predictor.compressed_parts({.precision = WeightPrecision::bfloat16});
  EXPECT_EQ(compressed.levels, small_parts().levels);
}

TEST(LevelModel, as_many_levels_as_the_graph_has_are_required) {
  LinearPredictor::Parts parts = small_parts();
  parts.levels.factors.push_back(1);
  EXPECT_EQ(message_of([&] { LinearPredictor{parts}; }),
            "linear model: there are 3 level weights and 2 offsets, but the graph has 2 levels");
  parts.levels.offsets.push_back(1);
  EXPECT_EQ(message_of([&] { LinearPredictor{parts}; }),
            "linear model: there are 3 level weights and 3 offsets, but the graph has 2 levels");
}

TEST(LevelModel, damaged_levels_are_refused) {
  const Hierarchy hierarchy = groups();
  const ModelParts model = train("level-svm", {}, grouped_rows(60, 3), &hierarchy);
  const std::string bytes = serialize_model(model);
  const auto refused = [&](const std::string& name, const std::vector<double>& values) {
    TensorMap tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "good");
    tensors.put<double>(name, values);
    const std::string damaged = serialize_safetensors(tensors);
    return message_of<ModelFileError>(
        [&] { parse_model(std::as_bytes(std::span(damaged)), "bad.model"); });
  };
  const double nan = std::nan(""), infinite = HUGE_VAL;
  for (const double v : {-1.0, nan, infinite}) {
    EXPECT_EQ(refused("linear.level_weights", {1, v}),
              "bad.model: tensor linear.level_weights must not be negative");
  }
  for (const double c : {nan, infinite, -infinite}) {
    EXPECT_EQ(refused("linear.level_offsets", {c, 0}),
              "bad.model: tensor linear.level_offsets must be finite");
  }
  TensorMap tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "good");
  tensors.put<std::uint8_t>("linear.level_joint", std::vector<std::uint8_t>{1, 2});
  const std::string damaged = serialize_safetensors(tensors);
  EXPECT_EQ(message_of<ModelFileError>(
                [&] { parse_model(std::as_bytes(std::span(damaged)), "bad.model"); }),
            "bad.model: tensor linear.level_joint must have 0 and 1 only");
  EXPECT_THAT(refused("linear.level_offsets", {0, 0, 0}), HasSubstr("linear.level_offsets"));
  EXPECT_THAT(refused("linear.level_weights", {1, 1, 1}), HasSubstr("linear.level_offsets"));
}

}  // namespace
}  // namespace margrove
