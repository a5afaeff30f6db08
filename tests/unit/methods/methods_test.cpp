// The registered methods on small data: what they promise together with data, labels and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "eval/row_influence.hpp"
#include "files.hpp"
#include "io/model_file.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "methods/training.hpp"
#include "model/linear_predictor.hpp"
#include "model/top_down_predictor.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using testing::accuracy;
using ::testing::ElementsAre;
using testing::grouped_rows;
using testing::groups;
using ::testing::HasSubstr;
using testing::multi_label_rows;
using testing::overlapping_groups;
using testing::train;

const LinearPredictor::Parts& parts_of(const ModelParts& model) {
  if (const auto* top_down = dynamic_cast<const TopDownPredictor*>(model.predictor.get())) {
    return top_down->parts();
  }
  return dynamic_cast<const LinearPredictor&>(*model.predictor).parts();
}

template <class Error = InvalidInput, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

struct Case {
  const char* method;
  OptionValues options;
};
const std::vector<Case> kCases{
    {"flat-svm", {}},
    {"flat-svm", {{"loss", "squared-hinge"}}},
    {"flat-svm", {{"multiclass", "crammer-singer"}}},
    {"flat-lr", {}},
    {"flat-lr", {{"multiclass", "softmax"}}},
    {"hr-lr", {{"multiclass", "softmax"}}},
    {"hsvm", {}},
    {"hsvm", {{"solver", "sgd"}}},
    {"nhsvm", {}},
    {"nhsvm", {{"surrogate", "normalized-difference"}}},
    {"nhsvm", {{"merge_duplicates", "true"}}},
    {"shared-svm", {}},
    {"shared-svm", {{"solver", "sgd"}}},
    {"hr-svm", {}},
    {"hr-svm", {{"loss", "squared-hinge"}, {"alpha", "power:2"}}},
    {"top-down-svm", {}},
    {"top-down-svm", {{"loss", "squared-hinge"}, {"beam", "2"}}},
    {"level-svm", {}},
    {"level-svm", {{"multiclass", "ovr"}}},
    {"level-svm", {{"loss", "hinge"}, {"bias", "0"}}},
};

TEST(Methods, separate_groups_and_keep_labels_without_data) {
  const Hierarchy hierarchy = groups();
  const Examples test = grouped_rows(200, 2);
  for (const auto& [name, options] : kCases) {
    const ModelParts model = train(name, options, grouped_rows(200, 1), &hierarchy);
    EXPECT_GT(accuracy(model, test), 0.95) << name;
    EXPECT_EQ(model.labels.size(), 9u) << name;
    EXPECT_TRUE(model.labels.find("c1").has_value()) << name;
    EXPECT_EQ(parts_of(model).candidates.size(), 4u) << name;
    const bool is_sgd = options == OptionValues{{"solver", "sgd"}};
    if (!is_sgd) {
      EXPECT_LE(model.report.relative_gap, 1e-3) << name;
    }
    EXPECT_EQ(model.report.stop, is_sgd ? Stop::epochs_done : Stop::converged) << name;
  }
}

TEST(Methods, any_number_of_threads_writes_the_same_file) {
  const Hierarchy hierarchy = groups();
  for (const auto& [name, options] : kCases) {
    const std::string expected =
        serialize_model(train(name, options, grouped_rows(150, 3), &hierarchy));
    for (const int threads : {2, 5}) {
      EXPECT_EQ(serialize_model(train(name, options, grouped_rows(150, 3), &hierarchy, threads)),
                expected)
          << name << " on " << threads << " threads";
    }
  }
}

TEST(Methods, saved_models_predict_the_same_bits) {
  const Hierarchy hierarchy = groups();
  const Examples test = grouped_rows(50, 4);
  for (const auto& [name, options] : kCases) {
    const ModelParts model = train(name, options, grouped_rows(100, 3), &hierarchy);
    const std::string bytes = serialize_model(model);
    const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
    std::vector<float> before(test.num_rows() * 9), after(before.size());
    model.rows().scores(test.X, 0, test.num_rows(), before);
    read.rows().scores(test.X, 0, test.num_rows(), after);
    EXPECT_EQ(before, after) << name;
  }
}

TEST(Methods, memory_limit_refuses_with_estimate_and_limit) {
  const Hierarchy hierarchy = groups();
  const PreparedRows prepared = prepare_rows(grouped_rows(50, 1), &hierarchy, {});
  for (const auto& [name, options] : kCases) {
    const auto run = find_method(name).start();
    set_options(run->options(), options);
    const TrainingSet data = prepared.training_set();
    Executor executor(1);
    RunControl control;
    const Plan plan = run->plan(data, executor, control);
    EXPECT_NO_THROW(require_trainable(plan, *run, data, 0)) << name;
    EXPECT_NO_THROW(require_trainable(plan, *run, data, 1)) << name;
    EXPECT_THAT(message_of([&] { require_trainable(plan, *run, data, 1e-9); }),
                ::testing::AllOf(HasSubstr("toy: training would take about"),
                                 HasSubstr("the parts are " + plan.memory.to_text())))
        << name;
  }
}

TEST(Methods, those_that_need_a_hierarchy_say_so) {
  for (const char* name : {"hsvm", "nhsvm", "level-svm"}) {
    EXPECT_THAT(message_of<InvalidOption>([&] { train(name, {}, grouped_rows(20, 1), nullptr); }),
                HasSubstr("needs a hierarchy"));
  }
}

TEST(Methods, nhsvm_with_leaf_weights_is_crammer_singer_at_C_over_sqrt_2) {
  const Hierarchy hierarchy = groups();
  const double C = 0.7;
  const ModelParts nhsvm =
      train("nhsvm", {{"alpha", "leaves"}, {"C", concat(C)}, {"tolerance", "1e-6"}},
            grouped_rows(120, 5), &hierarchy);
  const ModelParts flat = train(
      "flat-svm",
      {{"multiclass", "crammer-singer"}, {"C", concat(C / std::sqrt(2.0))}, {"tolerance", "1e-6"}},
      grouped_rows(120, 5), nullptr);
  EXPECT_NEAR(nhsvm.report.primal, 2 * flat.report.primal, 1e-5 * nhsvm.report.primal);
  EXPECT_NEAR(nhsvm.report.dual, 2 * flat.report.dual, 1e-5 * nhsvm.report.primal);
}

TEST(Methods, crammer_singer_reports_its_own_objective) {
  const Examples raw = grouped_rows(80, 6);
  const double C = 0.3;
  const ModelParts model =
      train("flat-svm", {{"multiclass", "crammer-singer"}, {"C", concat(C)}, {"tolerance", "1e-5"}},
            raw, nullptr);
  const WeightMatrix& W = parts_of(model).weights;
  double objective = 0;
  for (FeatureId j = 0; j < W.num_features(); ++j) {
    for (std::uint32_t n = 0; n < W.num_nodes(); ++n) {
      objective += 0.5 * static_cast<double>(W.at(j, n)) * W.at(j, n);
    }
  }
  std::vector<float> scores(4);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    model.rows().scores(raw.X, i, i + 1, scores);
    double loss = 0;
    const LabelId truth = raw.labels[i][0];
    for (LabelId l = 0; l < 4; ++l) {
      if (l != truth) loss = std::max(loss, 1.0 + scores[l] - scores[truth]);
    }
    objective += C * loss;
  }
  EXPECT_NEAR(model.report.primal, objective, 1e-4 * objective);
}

TEST(Methods, lambda_is_C_in_other_words) {
  const Hierarchy hierarchy = groups();
  const ModelParts by_lambda =
      train("nhsvm", {{"lambda", "0.25"}}, grouped_rows(60, 7), &hierarchy);
  const ModelParts by_C = train("nhsvm", {{"C", "2"}}, grouped_rows(60, 7), &hierarchy);
  EXPECT_EQ(by_lambda.report.primal, by_C.report.primal);
}

TEST(Methods, data_of_inner_labels_move_to_a_spawned_leaf_and_back) {
  const Hierarchy hierarchy = groups();
  Examples raw = grouped_rows(120, 8);
  LabelSets with_inner;
  const LabelId inner = raw.codec.add("a");
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {  // a2 becomes "a itself"
    const LabelId label = raw.labels[i][0];
    with_inner.append(std::vector<LabelId>{label == 1 ? inner : label});
  }
  raw.labels = with_inner;
  for (const char* name : {"hsvm", "nhsvm", "level-svm"}) {
    const ModelParts model = train(name, {}, raw, &hierarchy);
    EXPECT_GT(accuracy(model, raw), 0.95) << name;
    const LabelId a = *model.labels.find("a");
    const Explanation explanation = model.rows().explain(raw.X.row(0), a, 3);
    EXPECT_TRUE(explanation.nodes.back().is_spawned) << name;
    EXPECT_EQ(explanation.nodes.front().label, a) << name;
  }
}

TEST(Methods, rows_without_labels_are_left_out_with_a_counted_warning) {
  const Hierarchy hierarchy = groups();
  Examples raw = grouped_rows(40, 9);
  Examples more = raw;
  more.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{50});
  more.labels.append({});
  const ModelParts with = train("nhsvm", {}, more, &hierarchy);
  EXPECT_THAT(with.report.warnings,
              ElementsAre(HasSubstr("1 of 41 rows have no label and were left out")));
  EXPECT_EQ(with.report.primal, train("nhsvm", {}, raw, &hierarchy).report.primal);
}

TEST(Methods, take_rows_without_a_label_as_empty_sets_where_they_declare_it) {
  const Hierarchy hierarchy = groups();
  Examples raw = grouped_rows(40, 9);
  for (int copy = 0; copy < 10; ++copy) {
    raw.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{-50});
    raw.labels.append({});
  }
  raw.labels.set_unlabelled(LabelSets::Unlabelled::keep);
  for (const Method& method : methods()) {
    if (method.read_examples) continue;
    if (!method.empty_sets) {
      EXPECT_THAT(message_of<InvalidOption>([&] { train(method.name, {}, raw, &hierarchy); }),
                  HasSubstr("takes no rows without a label"));
      continue;
    }
    const ModelParts model = train(method.name, {}, raw, &hierarchy);
    EXPECT_TRUE(model.report.warnings.empty()) << method.name;
    EXPECT_FALSE(model.rows().gives_one_label()) << method.name;
  }
}

// A path with three groups has no weight left for its leaf.
TEST(Methods, leaves_that_the_rule_leaves_without_weight_are_counted_in_a_warning) {
  Hierarchy hierarchy;
  Examples raw = grouped_rows(40, 9);
  raw.codec = {};
  for (const char* name : {"a1", "a2", "b1", "b2"}) raw.codec.add(name);
  for (const char* group : {"A", "B", "C"}) hierarchy.codec.add(group);
  for (const char* name : {"a1", "a2", "b1", "b2"}) hierarchy.codec.add(name);
  for (LabelId group = 0; group < 3; ++group) {
    hierarchy.edges.push_back({group, 3 + group});
    hierarchy.edges.push_back({group, 6});
  }
  EXPECT_THAT(train("nhsvm", {{"alpha", "power:2"}}, raw, &hierarchy).report.warnings,
              ElementsAre(HasSubstr("1 of 4 leaves have weight 0")));
  EXPECT_TRUE(train("nhsvm", {{"alpha", "maxmin"}}, raw, &hierarchy).report.warnings.empty());
}

TEST(Methods, crammer_singer_and_normalized_differences_refuse_rows_with_two_labels) {
  const Hierarchy hierarchy = groups();
  Examples raw = grouped_rows(10, 9);
  raw.X.append_row({}, {});
  raw.labels.append(std::vector<LabelId>{0, 3});
  EXPECT_THAT(message_of([&] {
                train("flat-svm", {{"multiclass", "crammer-singer"}}, raw, nullptr);
              }),
              HasSubstr("toy: row 11 has 2 labels, 'a1' among them, but method flat-svm with "
                        "crammer-singer needs one"));
  EXPECT_THAT(message_of<InvalidOption>([&] {
                train("nhsvm", {{"surrogate", "normalized-difference"}}, raw, &hierarchy);
              }),
              HasSubstr("option surrogate is 'normalized-difference', which does not increase with "
                        "the task loss"));
}

TEST(Methods, no_labels_at_all_is_an_error) {
  Examples raw;
  raw.source = "toy";
  raw.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  raw.labels.append({});
  raw.codec.add("unused");
  EXPECT_THAT(message_of([&] { train("flat-svm", {}, raw, nullptr); }),
              HasSubstr("toy: no row has a label"));
  const Hierarchy hierarchy = groups();
  raw.codec = LabelCodec({"a1"});
  EXPECT_THAT(message_of([&] { train("nhsvm", {}, raw, &hierarchy); }),
              HasSubstr("toy: no row has a label"));
}

TEST(Methods, crammer_singer_takes_hinge_and_one_label_only) {
  EXPECT_THAT(message_of<InvalidOption>([&] {
                train("flat-svm", {{"multiclass", "crammer-singer"}, {"loss", "squared-hinge"}},
                      grouped_rows(10, 1), nullptr);
              }),
              HasSubstr("option loss is squared-hinge"));
  EXPECT_THAT(message_of<InvalidOption>([&] {
                train("flat-svm", {{"multiclass", "crammer-singer"}, {"decision", "rcut"}},
                      grouped_rows(10, 1), nullptr);
              }),
              HasSubstr("option decision is rcut, but must be argmax"));
}

// Rows with several labels
// -------------------------------------------------------------------------

TEST(MultiLabel, flat_methods_tune_decisions_that_recover_the_sets) {
  const Examples raw = multi_label_rows(200, true);
  for (const char* name : {"flat-svm", "flat-lr"}) {
    for (const char* decision : {"threshold", "scut", "shrunk", "instance", "zero"}) {
      const ModelParts model = train(name, {{"C", "10"}, {"decision", decision}}, raw, nullptr);
      EXPECT_EQ(accuracy(model, raw), 1.0) << name << " " << decision;
    }
    const ModelParts model = train(name, {{"C", "10"}}, raw, nullptr);
    const auto& rule = std::get<InstanceDecision>(parts_of(model).decision.rule);
    EXPECT_FALSE(rule.at_least_one) << "some rows have no label";
  }
}

TEST(MultiLabel, every_row_gets_a_label_if_every_training_row_has_one) {
  Examples raw;
  raw.source = "toy";
  raw.X = CsrMatrix(1);
  raw.codec = LabelCodec({"p", "q", "r", "s"});
  for (LabelId i = 0; i < 40; ++i) {  // every label is rare, so that all scores are below 0
    raw.X.append_row({}, {});
    raw.labels.append(i == 0 ? std::vector<LabelId>{0, 1} : std::vector<LabelId>{i % 4});
  }
  const ModelParts model = train("flat-svm", {{"decision", "zero"}}, raw, nullptr);
  const auto& rule = std::get<ThresholdDecision>(parts_of(model).decision.rule);
  EXPECT_TRUE(rule.at_least_one);
  EXPECT_THAT(rule.thresholds, ElementsAre(0.0F));
  Executor executor(1);
  EXPECT_EQ(model.rows().predict(raw.X, executor)[7].size(), 1u);
}

TEST(MultiLabel, same_file_on_any_number_of_threads) {
  for (const char* decision : {"auto", "scut", "shrunk", "rcut", "threshold"}) {
    const OptionValues options{{"decision", decision}};
    const std::string expected =
        serialize_model(train("flat-svm", options, multi_label_rows(90, true), nullptr));
    for (const int threads : {2, 5}) {
      EXPECT_EQ(
          serialize_model(train("flat-svm", options, multi_label_rows(90, true), nullptr, threads)),
          expected)
          << decision;
    }
  }
}

// Label sets of a hierarchy
// ------------------------------------------------------------------------------------

/// Two parts and two classes in each; a row has one class of either part.
Examples two_sets(std::size_t num_rows, std::uint64_t seed) {
  Examples raw = grouped_rows(num_rows, seed);
  LabelSets sets;
  for (std::size_t i = 0; i < num_rows; ++i) {
    const LabelId k = raw.labels[i][0];
    sets.append(std::vector<LabelId>{k / 2, 2 + k % 2});
  }
  raw.labels = sets;
  return raw;
}

const std::vector<Case> kLabelSetCases{
    {"hsvm", {}},
    // power:2 gives leaf y below both groups the weight 0
    {"nhsvm", {{"alpha", "directional"}}},
    {"nhsvm", {{"alpha", "maxmin"}}},
    {"shared-svm", {}},
    {"hsvm", {{"solver", "sgd"}, {"epochs", "60"}}},
};

TEST(LabelSets, are_recovered_on_trees_and_graphs) {
  const Hierarchy tree = groups(), graph = overlapping_groups();
  for (const auto& [name, options] : kLabelSetCases) {
    OptionValues values = options;
    values.emplace_back("C", "100");
    const ModelParts model = train(name, values, two_sets(200, 1), &tree);
    EXPECT_GT(accuracy(model, two_sets(200, 2)), 0.95) << name;
    const Examples raw = multi_label_rows(200, false);
    const ModelParts on_graph = train(name, values, raw, &graph);
    EXPECT_EQ(accuracy(on_graph, raw), 1.0) << name;
    for (const ModelParts* each : {&model, &on_graph}) {
      EXPECT_EQ(parts_of(*each).decision.name(), "offset") << name;
      if (each->report.dual == each->report.dual) {
        EXPECT_LE(each->report.relative_gap, 1e-3) << name;
      }
    }
  }
}

TEST(LabelSets, inner_labels_move_to_a_spawned_leaf_and_back) {
  const Hierarchy hierarchy = groups();
  Examples raw = two_sets(150, 3);
  const LabelId inner = raw.codec.add("b");
  LabelSets sets;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {  // b2 becomes "b itself"
    const auto set = raw.labels[i];
    sets.append(std::vector<LabelId>{set[0], set[1] == 3 ? inner : set[1]});
  }
  raw.labels = sets;
  for (const char* name : {"hsvm", "nhsvm", "shared-svm"}) {
    EXPECT_GT(accuracy(train(name, {{"C", "10"}}, raw, &hierarchy), raw), 0.95) << name;
  }
}

TEST(LabelSets, model_files_hold_the_decision_and_do_not_depend_on_threads) {
  const Hierarchy graph = overlapping_groups();
  const Examples raw = multi_label_rows(90, false);
  for (const auto& [name, options] : kLabelSetCases) {
    const std::string bytes = serialize_model(train(name, options, raw, &graph));
    const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
    EXPECT_EQ(accuracy(read, raw), accuracy(train(name, options, raw, &graph), raw));
    EXPECT_EQ(parts_of(read).decision.name(), "offset") << name;
    for (const int threads : {2, 5}) {
      EXPECT_EQ(serialize_model(train(name, options, raw, &graph, threads)), bytes) << name;
    }
  }
}

/// Rows of two_sets(), of which 21 in 40 lack their second label: no label is the likelier answer,
/// though F1 is better with it.
Examples noisy_sets(std::size_t num_rows, std::uint64_t seed) {
  Examples raw = two_sets(num_rows, seed);
  LabelSets sets;
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto set = raw.labels[i];
    sets.append(7 * i % 40 < 19 ? set : set.first(1));
  }
  raw.labels = sets;
  return raw;
}

TEST(LabelSets, the_offset_changes_the_decision_and_not_the_weights) {
  const Hierarchy tree = groups();
  const Examples raw = noisy_sets(400, 5);
  for (const char* name : {"hsvm", "nhsvm", "shared-svm"}) {
    const auto parts = [&](const char* decision, const char* metric = "micro-f1") {
      return parts_of(
          train(name, {{"decision", decision}, {"decision_metric", metric}}, raw, &tree));
    };
    const auto argmax = parts("argmax"), tuned = parts("auto");
    EXPECT_EQ(argmax.decision.name(), "label-set") << name;
    EXPECT_EQ(tuned.decision.name(), "offset") << name;
    EXPECT_NE(tuned.decision.offset(), 0.0) << name;
    for (FeatureId j = 0; j < argmax.weights.num_features(); ++j) {
      for (NodeId n = 0; n < argmax.weights.num_nodes(); ++n) {
        EXPECT_EQ(argmax.weights.at(j, n), tuned.weights.at(j, n)) << name;
      }
    }
    EXPECT_NE(parts("offset", "accuracy").decision.offset(), tuned.decision.offset()) << name;
  }
}

TEST(LabelSets, an_offset_is_tuned_where_rows_have_several_labels_only) {
  const Hierarchy tree = groups();
  const Examples raw = grouped_rows(60, 1);
  for (const char* name : {"hsvm", "nhsvm", "shared-svm"}) {
    EXPECT_EQ(parts_of(train(name, {}, raw, &tree)).decision.name(), "argmax") << name;
    EXPECT_EQ(message_of<InvalidOption>([&] {
                train(name, {{"decision", "offset"}}, raw, &tree);
              }),
              "option decision is offset, which is for rows with several labels, but every row has "
              "one")
        << name;
  }
}

TEST(SharedSvm, each_solver_refuses_the_options_of_the_other) {
  const Hierarchy tree = groups();
  const auto message = [&](const OptionValues& options) {
    return message_of<InvalidOption>(
        [&] { train("shared-svm", options, grouped_rows(60, 1), &tree); });
  };
  for (const auto& [name, value] :
       OptionValues{{"tolerance", "0.1"}, {"max_passes", "7"}, {"cost_matrix", "costs.csv"}}) {
    EXPECT_EQ(message({{"solver", "sgd"}, {name, value}}),
              concat("option ", name, " is '", value,
                     "', which is for solver alternating, but solver is sgd"));
  }
  EXPECT_EQ(message({{"epochs", "7"}}),
            "option epochs is '7', which is for solver sgd, but solver is alternating");
  EXPECT_EQ(message({{"max_rounds", "0"}}), "option max_rounds is 0, but must be auto or >= 1");
  EXPECT_EQ(message({{"max_rounds", "auto"}}), "nothing was thrown");
}

TEST(SharedSvm, sgd_refuses_label_sets_and_graphs) {
  const Hierarchy tree = groups();
  Hierarchy graph = groups();
  graph.edges.push_back({*graph.codec.find("b"), *graph.codec.find("a2")});
  const OptionValues sgd{{"solver", "sgd"}};
  EXPECT_EQ(message_of<InvalidOption>([&] { train("shared-svm", sgd, two_sets(60, 1), &tree); }),
            "option solver is sgd, which is for rows with one label, but some rows have several");
  EXPECT_EQ(
      message_of<InvalidOption>([&] { train("shared-svm", sgd, grouped_rows(60, 1), &graph); }),
      "option solver is sgd, which is for trees, but some nodes of the hierarchy have several "
      "parents");
}

// As the default of both solvers: `auto` rounds.
TEST(SharedSvm, sgd_changes_the_node_weights_three_times_unless_told_otherwise) {
  const Hierarchy tree = groups();
  const auto report = [&](OptionValues options) {
    options.emplace_back("solver", "sgd");
    return train("shared-svm", options, grouped_rows(60, 1), &tree).report;
  };
  EXPECT_EQ(report({{"epochs", "5"}}).passes, 20);
  EXPECT_EQ(report({{"epochs", "5"}}).curve.size(), 4u);
  EXPECT_EQ(report({{"max_rounds", "1"}}).passes, 20);
}

// Recursive regularisation
// ------------------------------------------------------------------------------------

TEST(Recursive, both_solvers_of_hr_svm_end_at_the_same_objective) {
  const Hierarchy hierarchy = groups();
  const auto primal = [&](const char* solver, const char* tolerance) {
    return train("hr-svm", {{"solver", solver}, {"tolerance", tolerance}}, grouped_rows(200, 1),
                 &hierarchy)
        .report.primal;
  };
  const double joint = primal("joint", "1e-6");
  EXPECT_NEAR(primal("alternating", "1e-9"), joint, 1e-4 * joint);
}

TEST(Recursive, hr_lr_separates_groups_and_writes_the_same_file_on_any_number_of_threads) {
  const Hierarchy hierarchy = groups();
  const ModelParts model = train("hr-lr", {}, grouped_rows(200, 1), &hierarchy);
  EXPECT_GT(accuracy(model, grouped_rows(200, 2)), 0.95);
  const std::string expected = serialize_model(model);
  for (const int threads : {2, 5}) {
    EXPECT_EQ(serialize_model(train("hr-lr", {}, grouped_rows(200, 1), &hierarchy, threads)),
              expected);
  }
}

TEST(Recursive, a_tolerance_that_rounding_does_not_allow_is_warned_of) {
  const Hierarchy hierarchy = groups();
  const ModelParts model =
      train("hr-lr", {{"tolerance", "1e-15"}}, grouped_rows(200, 1), &hierarchy);
  EXPECT_EQ(model.report.stop, Stop::stalled);
  EXPECT_THAT(model.report.warnings,
              ElementsAre(HasSubstr("lack of progress ended training at a relative gap of ")));
}

/// Ten groups' rows with one more column, of seconds since 1970.
Examples rows_with_a_clock(std::size_t num_rows) {
  Examples raw = grouped_rows(num_rows, 1);
  CsrMatrix X;
  const FeatureId clock = raw.X.num_columns();
  for (std::size_t i = 0; i < raw.X.num_rows(); ++i) {
    const SparseRow row = raw.X.row(i);
    std::vector<FeatureId> columns(row.columns.begin(), row.columns.end());
    std::vector<float> values(row.values.begin(), row.values.end());
    columns.push_back(clock);
    values.push_back(1.7e9F + 1e5F * static_cast<float>(i));
    X.append_row(columns, values);
  }
  raw.X = std::move(X);
  return raw;
}

TEST(Training, converged_means_a_gap_within_the_tolerance_for_every_method) {
  const Hierarchy hierarchy = groups();
  const Examples raw = rows_with_a_clock(40);
  for (const Method& method : methods()) {
    // The one has examples of its own; kernels of such columns take minutes.
    if (method.name == "structured" || method.name.ends_with("mkl")) continue;
    if (!method.start()->options().has("tolerance")) continue;  // in closed form
    for (const char* C : {"1", "10000"}) {
      SCOPED_TRACE(concat(method.name, ", C = ", C));
      try {
        const ModelParts model =
            train(method.name, {{"C", C}, {"tolerance", "0.001"}, {"max_passes", "100"}}, raw,
                  &hierarchy);
        const FitReport& report = model.report;
        EXPECT_TRUE(std::isfinite(report.primal));
        if (report.stop == Stop::converged) {
          EXPECT_LE(report.relative_gap, 0.001);
        } else {
          EXPECT_THAT(report.warnings.back(),
                      AllOf(HasSubstr("ended training"), HasSubstr("scale the columns")));
        }
      } catch (const InvalidInput& error) {
        EXPECT_THAT(error.what(), HasSubstr("training diverged"));
      }
    }
  }
}

TEST(Training, stochastic_subgradients_never_claim_convergence) {
  const Hierarchy hierarchy = groups();
  for (const char* method : {"hsvm", "nhsvm", "shared-svm"}) {
    const ModelParts model =
        train(method, {{"solver", "sgd"}, {"epochs", "2"}}, grouped_rows(50, 1), &hierarchy);
    EXPECT_EQ(model.report.stop, Stop::epochs_done);
    EXPECT_THAT(model.report.warnings, ::testing::IsEmpty());
  }
}

TEST(Training, options_of_subgradients_are_honoured_by_every_structured_method) {
  const Hierarchy hierarchy = groups();
  for (const char* method : {"flat-svm", "hsvm", "nhsvm"}) {
    SCOPED_TRACE(method);
    const auto objective = [&](const OptionValues& further) {
      OptionValues options = {{"C", "0.5"}, {"surrogate", "prob"}, {"epochs", "4"}};
      if (method == std::string("flat-svm")) options.push_back({"multiclass", "crammer-singer"});
      options.insert(options.end(), further.begin(), further.end());
      return train(method, options, grouped_rows(50, 1), &hierarchy).report.primal;
    };
    const double by_default = objective({});
    EXPECT_EQ(objective({{"convex_passes", "2"}}), by_default);
    EXPECT_NE(objective({{"convex_passes", "0"}}), by_default);
    EXPECT_EQ(objective({{"learning_rate", "0.5"}}), by_default);
    EXPECT_NE(objective({{"learning_rate", "0.1"}}), by_default);
    for (const char* option : {"search_tolerance", "search_calls"}) {  // all labels are looked at
      EXPECT_THAT(message_of<InvalidOption>([&] {
                    objective({{option, "1"}});
                  }),
                  HasSubstr("but search is enumeration"));
    }
  }
}

TEST(Recursive, several_labels_on_a_dag_are_recovered_along_paths_and_along_edges) {
  const Hierarchy hierarchy = overlapping_groups();
  const Examples raw = multi_label_rows(200, false);
  for (const char* name : {"hr-svm", "hr-lr"}) {
    for (const char* dag : {"additive", "graph"}) {
      const ModelParts model = train(name, {{"C", "100"}, {"dag", dag}}, raw, &hierarchy);
      EXPECT_EQ(accuracy(model, raw), 1.0) << name << " " << dag;
    }
  }
}

TEST(Recursive, node_weights_do_not_go_with_pulls_along_edges) {
  const Hierarchy hierarchy = overlapping_groups();
  EXPECT_EQ(message_of<InvalidOption>([&] {
              train("hr-svm", {{"dag", "graph"}, {"alpha", "maxmin"}}, multi_label_rows(30, false),
                    &hierarchy);
            }),
            "option alpha is maxmin, but must be uniform where dag is graph");
}

// Label graphs
// ------------------------------------------------------------------------------------

/// A file in a folder that lives as long as the test.
class LabelGraphs : public ::testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string path = folder_ / concat("graph", ++count_);
    testing::write_bytes(path, text);
    return path;
  }

 private:
  testing::ScratchFolder folder_;
  int count_ = 0;
};

/// Scores of all rows and labels.
std::vector<float> all_scores(const ModelParts& model, const Examples& raw) {
  std::vector<float> scores(raw.num_rows() * model.labels.size());
  model.rows().scores(raw.X, 0, raw.num_rows(), scores);
  return scores;
}

TEST_F(LabelGraphs, the_trees_edges_with_the_root_anchored_give_the_trees_answer) {
  const Hierarchy hierarchy = groups();
  const Examples raw = grouped_rows(120, 1);
  const std::string edges =
      file("root a\nb root\nroot c\nc c1\na a1\na2 a\nb b1\nb b2\n");  // in either order
  for (const char* name : {"hr-svm", "hr-lr"}) {
    const ModelParts tree = train(name, {{"tolerance", "1e-8"}}, raw, &hierarchy);
    const ModelParts graph =
        train(name, {{"tolerance", "1e-8"}, {"label_graph", edges}, {"anchor", "root=1"}}, raw,
              &hierarchy);
    EXPECT_NEAR(graph.report.primal, tree.report.primal, 1e-5 * tree.report.primal) << name;
    const auto of_tree = all_scores(tree, raw), of_graph = all_scores(graph, raw);
    for (std::size_t k = 0; k < of_tree.size(); ++k) {
      if (std::isfinite(of_tree[k])) {
        EXPECT_NEAR(of_graph[k], of_tree[k], 0.02) << name;
      }
    }
  }
}

TEST_F(LabelGraphs, need_no_hierarchy_and_isolated_labels_are_flat_machines) {
  const Examples raw = grouped_rows(150, 2);
  const std::string pair = file("a1 a2\n");  // b1 and b2 stand alone
  for (const char* name : {"hr-svm", "hr-lr"}) {
    OptionValues options{{"tolerance", "1e-7"}, {"C", "10"}};
    OptionValues of_graph = options;
    of_graph.emplace_back("label_graph", pair);
    const ModelParts model = train(name, of_graph, raw, nullptr);
    EXPECT_GT(accuracy(model, raw), 0.95) << name;
    const bool is_svm = std::string(name) == "hr-svm";
    if (is_svm) options.emplace_back("loss", "hinge");
    const ModelParts flat = train(is_svm ? "flat-svm" : "flat-lr", options, raw, nullptr);
    const auto ours = all_scores(model, raw), theirs = all_scores(flat, raw);
    for (std::size_t k = 0; k < ours.size(); ++k) {
      if (k % 4 >= 2) {
        EXPECT_NEAR(ours[k], theirs[k], 0.02) << name;
      }
    }
  }
}

TEST_F(LabelGraphs, runs_without_a_gap_stall_without_a_warning) {
  const Examples raw = grouped_rows(150, 2);
  const ModelParts model = train("hr-lr", {{"label_graph", file("a1 a2\n")}}, raw, nullptr);
  EXPECT_TRUE(std::isnan(model.report.relative_gap));
  EXPECT_EQ(model.report.stop, Stop::stalled);
  EXPECT_THAT(model.report.warnings, ::testing::IsEmpty());
}

TEST_F(LabelGraphs, labels_without_data_join_their_neighbours_and_forests_work) {
  // Two paths; c and c1 have no rows, c joins a1 and b1.
  const Hierarchy hierarchy = groups();
  const Examples raw = grouped_rows(150, 4);
  const std::string forest = file("a1 c\nc b1\na2 b2\nc c1\n");
  const ModelParts model =
      train("hr-lr", {{"label_graph", forest}, {"anchor", "0.5"}}, raw, &hierarchy);
  EXPECT_GT(accuracy(model, raw), 0.95);
  EXPECT_EQ(parts_of(model).candidates.size(), 4U);
  EXPECT_TRUE(model.labels.find("c1").has_value());
  const std::string bytes = serialize_model(model);
  for (const int threads : {2, 5}) {
    EXPECT_EQ(serialize_model(train("hr-lr", {{"label_graph", forest}, {"anchor", "0.5"}}, raw,
                                    &hierarchy, threads)),
              bytes);
  }
}

TEST_F(LabelGraphs, several_labels_a_row_are_recovered) {
  const Examples raw = multi_label_rows(200, false);
  const std::string graph = file("x y\n");
  const ModelParts model = train("hr-svm", {{"label_graph", graph}, {"C", "100"}}, raw, nullptr);
  EXPECT_EQ(accuracy(model, raw), 1.0);
}

TEST_F(LabelGraphs, an_anchor_pulls_towards_zero) {
  const Examples raw = grouped_rows(100, 6);
  const std::string graph = file("a1 a2\nb1 b2\n");
  const auto size = [&](const char* anchor) {
    double sum = 0;
    const ModelParts model =
        train("hr-lr", {{"label_graph", graph}, {"anchor", anchor}}, raw, nullptr);
    for (const float score : all_scores(model, raw)) sum += std::abs(score);
    return sum;
  };
  EXPECT_LT(size("10"), 0.8 * size("0"));
}

TEST_F(LabelGraphs, wrong_files_and_options_throw_naming_them) {
  const Examples raw = grouped_rows(20, 1);
  const std::string graph = file("a1 a2\n"), unknown = file("a1 a2\na1 x\n");
  const auto option_error = [&](const OptionValues& options) {
    return message_of<InvalidOption>([&] { train("hr-lr", options, raw, nullptr); });
  };
  EXPECT_EQ(message_of([&] {
              train("hr-lr", {{"label_graph", unknown}}, raw, nullptr);
            }),
            unknown + ":2:4: label is 'x', but must be one of the 4 known labels");
  EXPECT_EQ(option_error({{"anchor", "1"}}), "method hr-lr needs a hierarchy, but none is given");
  EXPECT_EQ(option_error({{"label_graph", graph}, {"alpha", "maxmin"}}),
            "option alpha is maxmin, but must be uniform where label_graph is given");
  for (const char* anchor : {"-1", "x", "1,2", "a1=", "a1=1,", "a1=nan"}) {
    EXPECT_EQ(option_error({{"label_graph", graph}, {"anchor", anchor}}),
              concat("option anchor is '", anchor,
                     "', but must be a number >= 0 or LABEL=number,LABEL=number"));
  }
  EXPECT_EQ(option_error({{"label_graph", graph}, {"anchor", "q=1"}}),
            "option anchor names label 'q', but must name one of the 4 known labels");
  const Hierarchy hierarchy = groups();
  EXPECT_EQ(message_of<InvalidOption>([&] {
              train("hr-lr", {{"anchor", "1"}}, raw, &hierarchy);
            }),
            "option anchor is '1', but must not be given without label_graph");
}

// Preprocessing
// ------------------------------------------------------------------------------------

TEST(Preprocessing, kept_in_the_model_and_applied_to_new_texts) {
  Examples raw;
  raw.source = "texts";
  raw.kind = RowKind::documents;
  raw.documents = {"red apple", "green apple tree", "fast car", "red car engine"};
  for (const LabelId label : {0u, 0u, 1u, 1u}) raw.labels.append(std::vector<LabelId>{label});
  raw.codec = LabelCodec({"fruit", "vehicle"});
  PreprocessingOptions options;
  options.text = true;
  const PreparedRows prepared = prepare_rows(raw, nullptr, options);
  const Method& method = find_method("flat-svm");
  const auto run = method.start();
  Executor executor(1);
  RunControl control;
  const ModelParts model =
      train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor, control);
  const std::string bytes = serialize_model(model);
  const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
  Examples news = raw;
  news.documents = {"apple", "engine", "", "car"};
  const CsrMatrix X = preprocess(read, news);
  const LabelSets predicted = read.rows().predict(X, executor);
  EXPECT_THAT(predicted[0], ElementsAre(0));
  EXPECT_THAT(predicted[1], ElementsAre(1));
  EXPECT_THAT(predicted[3], ElementsAre(1));

  Examples numbers = grouped_rows(2, 1);
  EXPECT_THAT(message_of([&] { preprocess(read, numbers); }),
              HasSubstr("toy: the rows are numbers, but the model takes texts"));
}

struct RealSet {
  const char* folder;
  const char* C;
};

TEST(Methods, sgd_and_bcfw_agree_on_real_sets_to_a_hundredth) {
  for (const auto& [folder, C] : {RealSet{"clef", "0.01"}, RealSet{"clinc150", "0.1"}}) {
    const auto rows = testing::data_file(std::string(folder) + "/train.svm");
    const auto edges = testing::data_file(std::string(folder) + "/hierarchy.txt");
    if (!rows || !edges) GTEST_SKIP() << "skipped: no data";
    const Hierarchy hierarchy = read_hierarchy(*edges);
    const Examples raw =
        read_rows(*rows, RowKind::numbers, {.codec = &hierarchy.codec, .known_labels_only = true});
    for (const char* method : {"hsvm", "nhsvm"}) {
      const FitReport bcfw = train(method, {{"C", C}}, raw, &hierarchy).report;
      const FitReport sgd =
          train(method, {{"C", C}, {"solver", "sgd"}, {"epochs", "30"}}, raw, &hierarchy).report;
      EXPECT_LE(bcfw.relative_gap, 1e-3) << method << " on " << folder;
      EXPECT_GE(sgd.primal, bcfw.dual) << method << " on " << folder;
      EXPECT_LE(sgd.primal, 1.01 * bcfw.primal) << method << " on " << folder;
      EXPECT_EQ(sgd.stop, Stop::epochs_done);
    }
  }
}

TEST(Preprocessing, two_kinds_at_once_throw) {
  PreprocessingOptions options;
  options.tfidf = options.normalize = true;
  EXPECT_THAT(
      message_of<InvalidOption>([&] { prepare_rows(grouped_rows(2, 1), nullptr, options); }),
      HasSubstr("more than one is given"));
}

TEST(Preprocessing, a_scale_beside_another_kind_throws) {
  PreprocessingOptions options;
  options.normalize = true;
  EXPECT_EQ(prepare_rows(grouped_rows(2, 1), nullptr, options).preprocessing.kind,
            Preprocessing::Kind::normalize);
  options.scale = ColumnScale::standard;
  EXPECT_THAT(
      message_of<InvalidOption>([&] { prepare_rows(grouped_rows(2, 1), nullptr, options); }),
      HasSubstr("option scale is standard, which is for columns of numbers, but must be "
                "none beside text, tfidf and normalize"));
}

TEST(Preprocessing, a_network_of_kernels_speaks_of_the_columns_as_they_are) {
  const auto scale_for = [](const char* name, const char* network, ColumnScale asked) {
    const Method& method = find_method(name);
    const auto run = method.start();
    if (*network != '\0') run->options().set("network", network);
    PreprocessingOptions options;
    options.scale = asked;
    return preprocessing_for(method, run->options(), options).scale;
  };
  EXPECT_EQ(scale_for("spn-mkl", "", ColumnScale::automatic), ColumnScale::automatic);
  EXPECT_EQ(scale_for("spn-mkl", "kernels.json", ColumnScale::automatic), ColumnScale::none);
  EXPECT_EQ(scale_for("lp-mkl", "kernels.json", ColumnScale::robust), ColumnScale::robust);
  EXPECT_EQ(scale_for("flat-svm", "", ColumnScale::automatic), ColumnScale::automatic);
}

TEST(Preprocessing, a_network_of_kernels_keeps_the_numbers_of_the_columns) {
  const auto selects = [](const char* name, const char* network) {
    const Method& method = find_method(name);
    const auto run = method.start();
    if (*network != '\0') run->options().set("network", network);
    return preprocessing_for(method, run->options(), {}).selects_columns;
  };
  EXPECT_TRUE(selects("spn-mkl", ""));
  EXPECT_FALSE(selects("spn-mkl", "kernels.json"));
  EXPECT_TRUE(selects("flat-svm", ""));
}

/// Column j of grouped rows times 10^(2 j), and an offset: what it stands for is the same.
Examples raw_columns(std::size_t num_rows, std::uint64_t seed) {
  Examples raw = grouped_rows(num_rows, seed);
  std::vector<FeatureId> columns{0, 1, 2, 3};
  CsrMatrix X(4);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    const auto x = raw.X.row(i).values;
    X.append_row(columns,
                 std::vector<float>{x[0], 3 + 100 * x[1], 1e4F * x[2], 5e6F + 1e6F * x[3]});
  }
  raw.X = std::move(X);
  return raw;
}

TEST(Preprocessing, every_method_of_rows_learns_raw_columns) {
  const Examples train_rows = raw_columns(150, 1), test_rows = raw_columns(100, 2);
  const Hierarchy hierarchy = groups();
  for (const Method& method : methods()) {
    if (method.read_examples) continue;
    const auto run = method.start();
    const bool is_kernel = !method.column_options.empty();
    const PreparedRows prepared = prepare_rows(train_rows, is_kernel ? nullptr : &hierarchy, {});
    EXPECT_EQ(prepared.preprocessing.column_scale, ColumnScale::standard);
    Executor executor(1);
    RunControl control;
    const ModelParts model = train_model(method, *run, prepared.training_set(),
                                         prepared.preprocessing, executor, control);
    const EvaluatedRows rows = evaluated_rows(model, test_rows, nullptr, nullptr, executor);
    EXPECT_GT(measure_metric("accuracy", model, rows, executor).value, 0.9) << method.name;
  }
}

}  // namespace
}  // namespace margrove
