// The registered methods on small data: what they promise together with data, labels and files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "files.hpp"
#include "margrove/base/random.hpp"
#include "margrove/data/hierarchy_reader.hpp"
#include "margrove/io/model_file.hpp"
#include "margrove/model/linear_predictor.hpp"
#include "margrove/model/training.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two groups of two classes; the group decides the sign of feature 0, the class that of feature 1.
RawRows grouped_rows(std::size_t num_rows, std::uint64_t seed) {
  Random random(seed);
  RawRows raw;
  raw.source = "toy";
  raw.X = CsrMatrix(4);
  const std::vector<std::string> names{"a1", "a2", "b1", "b2"};
  for (const auto& name : names) raw.codec.add(name);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto label = static_cast<LabelId>(random.below(4));
    const float group = label < 2 ? 1.0F : -1.0F, member = label % 2 == 0 ? 1.0F : -1.0F;
    const auto noise = [&] { return static_cast<float>(0.3 * random.normal()); };
    raw.X.append_row(std::vector<FeatureId>{0, 1, 2, 3},
                     std::vector<float>{group + noise(), member + noise(), noise(), noise()});
    raw.labels.append(std::vector<LabelId>{label});
  }
  return raw;
}

Hierarchy groups() {
  Hierarchy hierarchy;
  hierarchy.source = "groups.txt";
  const auto edge = [&](const char* parent, const char* child) {
    const LabelId p = hierarchy.codec.add(parent);
    hierarchy.edges.push_back({p, hierarchy.codec.add(child)});
  };
  edge("root", "a");
  edge("root", "b");
  edge("root", "c");  // without data, as is its child
  edge("c", "c1");
  edge("a", "a1");
  edge("a", "a2");
  edge("b", "b1");
  edge("b", "b2");
  return hierarchy;
}

Model train(const std::string& name, const OptionValues& options, RawRows raw,
            const Hierarchy* hierarchy, int threads = 1) {
  const Method& method = find_method(name);
  const auto run = method.start();
  set_options(run->options(), options);
  const PreparedRows prepared = prepare_rows(std::move(raw), hierarchy, {});
  Executor executor(threads);
  RunControl control;
  return train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor,
                     control);
}

double accuracy(const Model& model, const RawRows& raw) {
  Executor executor(1);
  const LabelSets predicted = model.rows().predict(raw.X, executor);
  const TranslatedLabels truth = translate_labels(raw.labels, raw.codec, model.labels);
  double hits = 0;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    hits += std::ranges::equal(predicted[i], truth.labels[i]);
  }
  return hits / static_cast<double>(raw.num_rows());
}

const LinearPredictor::Parts& parts_of(const Model& model) {
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
    {"hsvm", {}},
    {"hsvm", {{"solver", "sgd"}}},
    {"nhsvm", {}},
    {"nhsvm", {{"surrogate", "normalized-difference"}}},
    {"nhsvm", {{"merge_duplicates", "true"}}},
    {"shared-svm", {}},
    {"hr-svm", {}},
    {"hr-svm", {{"loss", "squared-hinge"}, {"alpha", "power:2"}}},
};

TEST(Methods, separate_groups_and_keep_labels_without_data) {
  const Hierarchy hierarchy = groups();
  const RawRows test = grouped_rows(200, 2);
  for (const auto& [name, options] : kCases) {
    const Model model = train(name, options, grouped_rows(200, 1), &hierarchy);
    EXPECT_GT(accuracy(model, test), 0.95) << name;
    EXPECT_EQ(model.labels.size(), 9u) << name;
    EXPECT_TRUE(model.labels.find("c1").has_value()) << name;
    EXPECT_EQ(parts_of(model).candidates.size(), 4u) << name;
    if (options != OptionValues{{"solver", "sgd"}}) {
      EXPECT_LE(model.report.relative_gap, 1e-3) << name;
    }
    EXPECT_EQ(model.report.stop, Stop::converged) << name;
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
  const RawRows test = grouped_rows(50, 4);
  for (const auto& [name, options] : kCases) {
    const Model model = train(name, options, grouped_rows(100, 3), &hierarchy);
    const std::string bytes = serialize_model(model);
    const Model read = parse_model(std::as_bytes(std::span(bytes)), "memory");
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
    EXPECT_NO_THROW(require_memory(*run, prepared.training_set(), 0)) << name;
    EXPECT_NO_THROW(require_memory(*run, prepared.training_set(), 1)) << name;
    EXPECT_THAT(message_of([&] { require_memory(*run, prepared.training_set(), 1e-9); }),
                HasSubstr("toy: training would take about"))
        << name;
  }
}

TEST(Methods, those_that_need_a_hierarchy_say_so) {
  for (const char* name : {"hsvm", "nhsvm"}) {
    EXPECT_THAT(message_of<InvalidOption>([&] { train(name, {}, grouped_rows(20, 1), nullptr); }),
                HasSubstr("needs a hierarchy"));
  }
}

TEST(Methods, nhsvm_with_leaf_weights_is_crammer_singer_at_C_over_sqrt_2) {
  const Hierarchy hierarchy = groups();
  const double C = 0.7;
  const Model nhsvm = train("nhsvm", {{"alpha", "leaves"}, {"C", concat(C)}, {"tolerance", "1e-6"}},
                            grouped_rows(120, 5), &hierarchy);
  const Model flat = train(
      "flat-svm",
      {{"multiclass", "crammer-singer"}, {"C", concat(C / std::sqrt(2.0))}, {"tolerance", "1e-6"}},
      grouped_rows(120, 5), nullptr);
  EXPECT_NEAR(nhsvm.report.primal, 2 * flat.report.primal, 1e-5 * nhsvm.report.primal);
  EXPECT_NEAR(nhsvm.report.dual, 2 * flat.report.dual, 1e-5 * nhsvm.report.primal);
}

TEST(Methods, crammer_singer_reports_its_own_objective) {
  const RawRows raw = grouped_rows(80, 6);
  const double C = 0.3;
  const Model model =
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
  const Model by_lambda = train("nhsvm", {{"lambda", "0.25"}}, grouped_rows(60, 7), &hierarchy);
  const Model by_C = train("nhsvm", {{"C", "2"}}, grouped_rows(60, 7), &hierarchy);
  EXPECT_EQ(by_lambda.report.primal, by_C.report.primal);
}

TEST(Methods, data_of_inner_labels_move_to_a_spawned_leaf_and_back) {
  const Hierarchy hierarchy = groups();
  RawRows raw = grouped_rows(120, 8);
  LabelSets with_inner;
  const LabelId inner = raw.codec.add("a");
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {  // a2 becomes "a itself"
    const LabelId label = raw.labels[i][0];
    with_inner.append(std::vector<LabelId>{label == 1 ? inner : label});
  }
  raw.labels = with_inner;
  for (const char* name : {"hsvm", "nhsvm"}) {
    const Model model = train(name, {}, raw, &hierarchy);
    EXPECT_GT(accuracy(model, raw), 0.95) << name;
    const LabelId a = *model.labels.find("a");
    const Explanation explanation = model.rows().explain(raw.X.row(0), a, 3);
    EXPECT_TRUE(explanation.nodes.back().is_spawned) << name;
    EXPECT_EQ(explanation.nodes.front().label, a) << name;
  }
}

TEST(Methods, rows_without_labels_are_left_out_with_a_counted_warning) {
  const Hierarchy hierarchy = groups();
  RawRows raw = grouped_rows(40, 9);
  RawRows more = raw;
  more.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{50});
  more.labels.append({});
  const Model with = train("nhsvm", {}, more, &hierarchy);
  EXPECT_THAT(with.report.warnings,
              ElementsAre(HasSubstr("1 of 41 rows have no label and were left out")));
  EXPECT_EQ(with.report.primal, train("nhsvm", {}, raw, &hierarchy).report.primal);
}

TEST(Methods, hierarchical_methods_refuse_rows_with_two_labels) {
  const Hierarchy hierarchy = groups();
  RawRows raw = grouped_rows(10, 9);
  raw.X.append_row({}, {});
  raw.labels.append(std::vector<LabelId>{0, 3});
  EXPECT_THAT(message_of([&] { train("hsvm", {}, raw, &hierarchy); }),
              HasSubstr("toy: row 11 has 2 labels, 'a1' among them, but method hsvm needs one"));
}

TEST(Methods, no_labels_at_all_is_an_error) {
  RawRows raw;
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

/// Label l is there if feature l is; a third of the rows have none, or all rows have one.
RawRows multi_label_rows(std::size_t num_rows, bool with_empty) {
  Random random(11);
  RawRows raw;
  raw.source = "toy";
  raw.X = CsrMatrix(3);
  for (const char* name : {"x", "y", "z"}) raw.codec.add(name);
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<LabelId> set;
    for (FeatureId j = 0; j < 3; ++j) {
      if (random.below(2) == 0) continue;
      columns.push_back(j);
      set.push_back(j);
    }
    if (set.empty() && !with_empty) {
      columns = {0};
      set = {0};
    }
    raw.X.append_row(columns, std::vector<float>(columns.size(), 1.0F));
    raw.labels.append(set);
  }
  return raw;
}

TEST(MultiLabel, flat_methods_tune_decisions_that_recover_the_sets) {
  const RawRows raw = multi_label_rows(200, true);
  for (const char* name : {"flat-svm", "flat-lr"}) {
    for (const char* decision : {"threshold", "scut", "instance", "zero"}) {
      const Model model = train(name, {{"C", "10"}, {"decision", decision}}, raw, nullptr);
      EXPECT_EQ(accuracy(model, raw), 1.0) << name << " " << decision;
    }
    const Model model = train(name, {{"C", "10"}}, raw, nullptr);
    const auto& rule = std::get<InstanceDecision>(parts_of(model).decision.rule);
    EXPECT_FALSE(rule.at_least_one) << "some rows have no label";
  }
}

TEST(MultiLabel, every_row_gets_a_label_if_every_training_row_has_one) {
  RawRows raw;
  raw.source = "toy";
  raw.X = CsrMatrix(1);
  raw.codec = LabelCodec({"p", "q", "r", "s"});
  for (LabelId i = 0; i < 40; ++i) {  // every label is rare, so that all scores are below 0
    raw.X.append_row({}, {});
    raw.labels.append(i == 0 ? std::vector<LabelId>{0, 1} : std::vector<LabelId>{i % 4});
  }
  const Model model = train("flat-svm", {{"decision", "zero"}}, raw, nullptr);
  const auto& rule = std::get<ThresholdDecision>(parts_of(model).decision.rule);
  EXPECT_TRUE(rule.at_least_one);
  EXPECT_THAT(rule.thresholds, ElementsAre(0.0F));
  Executor executor(1);
  EXPECT_EQ(model.rows().predict(raw.X, executor)[7].size(), 1u);
}

TEST(MultiLabel, same_file_on_any_number_of_threads) {
  for (const char* decision : {"auto", "scut", "rcut", "threshold"}) {
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

// Recursive regularisation
// ------------------------------------------------------------------------------------

/// x and y below u, y and z below v.
Hierarchy overlapping_groups() {
  Hierarchy hierarchy;
  hierarchy.source = "dag.txt";
  const auto edge = [&](const char* parent, const char* child) {
    const LabelId p = hierarchy.codec.add(parent);
    hierarchy.edges.push_back({p, hierarchy.codec.add(child)});
  };
  edge("root", "u");
  edge("root", "v");
  edge("u", "x");
  edge("u", "y");
  edge("v", "y");
  edge("v", "z");
  return hierarchy;
}

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
  const Model model = train("hr-lr", {}, grouped_rows(200, 1), &hierarchy);
  EXPECT_GT(accuracy(model, grouped_rows(200, 2)), 0.95);
  const std::string expected = serialize_model(model);
  for (const int threads : {2, 5}) {
    EXPECT_EQ(serialize_model(train("hr-lr", {}, grouped_rows(200, 1), &hierarchy, threads)),
              expected);
  }
}

TEST(Recursive, several_labels_on_a_dag_are_recovered_along_paths_and_along_edges) {
  const Hierarchy hierarchy = overlapping_groups();
  const RawRows raw = multi_label_rows(200, false);
  for (const char* name : {"hr-svm", "hr-lr"}) {
    for (const char* dag : {"additive", "graph"}) {
      const Model model = train(name, {{"C", "100"}, {"dag", dag}}, raw, &hierarchy);
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

// Preprocessing
// ------------------------------------------------------------------------------------

TEST(Preprocessing, kept_in_the_model_and_applied_to_new_texts) {
  RawRows raw;
  raw.source = "texts";
  raw.is_text = true;
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
  const Model model =
      train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor, control);
  const std::string bytes = serialize_model(model);
  const Model read = parse_model(std::as_bytes(std::span(bytes)), "memory");
  RawRows news = raw;
  news.documents = {"apple", "engine", "", "car"};
  const CsrMatrix X = preprocess(read.preprocessing, news);
  const LabelSets predicted = read.rows().predict(X, executor);
  EXPECT_THAT(predicted[0], ElementsAre(0));
  EXPECT_THAT(predicted[1], ElementsAre(1));
  EXPECT_THAT(predicted[3], ElementsAre(1));

  RawRows numbers = grouped_rows(2, 1);
  EXPECT_THAT(message_of([&] { preprocess(read.preprocessing, numbers); }),
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
    const RawRows raw = read_rows(*rows, /*is_text=*/false, &hierarchy.codec, true);
    for (const char* method : {"hsvm", "nhsvm"}) {
      const FitReport bcfw = train(method, {{"C", C}}, raw, &hierarchy).report;
      const FitReport sgd =
          train(method, {{"C", C}, {"solver", "sgd"}, {"epochs", "30"}}, raw, &hierarchy).report;
      EXPECT_LE(bcfw.relative_gap, 1e-3) << method << " on " << folder;
      EXPECT_GE(sgd.primal, bcfw.dual) << method << " on " << folder;
      EXPECT_LE(sgd.primal, 1.01 * bcfw.primal) << method << " on " << folder;
      EXPECT_EQ(sgd.stop, Stop::converged);
    }
  }
}

TEST(Preprocessing, two_kinds_at_once_throw) {
  PreprocessingOptions options;
  options.tfidf = options.normalize = true;
  EXPECT_THAT(message_of<InvalidOption>([&] { fit_preprocessing(grouped_rows(2, 1), options); }),
              HasSubstr("more than one is given"));
}

}  // namespace
}  // namespace margrove
