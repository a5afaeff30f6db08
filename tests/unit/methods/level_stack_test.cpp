// Option stack of level-svm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/out_of_time.hpp"
#include "files.hpp"
#include "io/model_file.hpp"
#include "io/safetensors.hpp"
#include "methods/level_stack.hpp"
#include "model/linear_predictor.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using testing::grouped_rows;
using testing::groups;
using ::testing::IsEmpty;
using testing::message_of;
using testing::multi_label_rows;
using testing::overlapping_groups;
using ::testing::SizeIs;
using testing::train;

const LinearPredictor::Parts& parts_of(const ModelParts& model) {
  return dynamic_cast<const LinearPredictor&>(*model.predictor).parts();
}

/// The value of the option that the model keeps.
std::string option_of(const ModelParts& model, const std::string& name) {
  for (const auto& [option, value] : model.options) {
    if (option == name) return value;
  }
  return "";
}

OptionValues with(OptionValues options, const std::string& name, const std::string& value) {
  options.emplace_back(name, value);
  return options;
}

const OptionValues kExact{{"tolerance", "1e-7"}, {"max_passes", "10000"}};

/// The weight of a column in the score of each candidate: the sum over A(l).
std::vector<double> column_scores(const ModelParts& model, FeatureId column) {
  const LinearPredictor::Parts& parts = parts_of(model);
  std::vector<double> scores;
  for (const NodeId leaf : parts.candidates) {
    scores.push_back(0);
    for (const NodeId n : parts.graph.ancestors(leaf)) {
      scores.back() += parts.weights.at(column, n);
    }
  }
  return scores;
}

/// The node of the same label in another model.
NodeId same_node(const LinearPredictor::Parts& from, NodeId n, const LinearPredictor::Parts& to) {
  const auto found = std::ranges::find(to.label_of_node, from.label_of_node[n]);
  return static_cast<NodeId>(found - to.label_of_node.begin());
}

/// Rows of which no level tells all.
Examples noisy_rows(std::size_t count) {
  Examples raw = grouped_rows(count, 5);
  Random random(9);
  CsrMatrix X(4);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> values(raw.X.row(i).values.begin(), raw.X.row(i).values.end());
    for (float& value : values) value += static_cast<float>(random.normal());
    X.append_row(raw.X.row(i).columns, values);
  }
  raw.X = std::move(X);
  return raw;
}

TEST(Stack, adds_up_its_parts) {
  const Hierarchy tree = groups();
  const Examples raw = noisy_rows(300);
  const ModelParts levels = train("level-svm", with(kExact, "stack", "none"), raw, &tree);
  const ModelParts nhsvm = train("nhsvm", kExact, raw, &tree);
  const ModelParts flat = train("flat-lr", kExact, raw, &tree);
  for (const double v : parts_of(levels).levels.factors) ASSERT_GT(v, 0);
  for (const std::string stack : {"nhsvm", "flat-lr", "nhsvm,flat-lr", "flat-lr,nhsvm"}) {
    const ModelParts model = train("level-svm", with(kExact, "stack", stack), raw, &tree);
    const LinearPredictor::Parts &own = parts_of(model), &of_levels = parts_of(levels);
    const GraphLevels depth(own.graph);
    const std::vector<double>& t = parts_of(model).levels.stacked;
    ASSERT_EQ(t.size(), stack.size() > 7 ? 2U : 1U);
    EXPECT_THAT(t, Each(Ge(0)));
    EXPECT_GT(*std::ranges::max_element(t), 0) << stack;
    const double of_nhsvm = stack.find("nhsvm") == std::string::npos ? 0
                            : stack.starts_with("nhsvm")             ? t.front()
                                                                     : t.back();
    const double of_flat = stack == "nhsvm" ? 0 : stack.starts_with("nhsvm") ? t.back() : t.front();
    for (FeatureId j = 0; j < 5; ++j) {
      const std::vector<double> sums = column_scores(model, j), paths = column_scores(nhsvm, j);
      for (std::size_t k = 0; k < own.candidates.size(); ++k) {
        const NodeId leaf = own.candidates[k];
        double expected = of_nhsvm * paths[k];
        expected += of_flat * parts_of(flat).weights.at(j, same_node(own, leaf, parts_of(flat)));
        for (const NodeId n : own.graph.ancestors(leaf)) {
          const std::uint32_t d = depth.of(n);
          const double c = j == 4 ? of_levels.levels.offsets[d] : 0;
          const double s = (of_levels.weights.at(j, n) - c) / of_levels.levels.factors[d];
          expected += own.levels.factors[d] * s + (j == 4 ? own.levels.offsets[d] : 0);
        }
        EXPECT_NEAR(sums[k], expected, 5e-3 * std::max(1.0, std::abs(expected)))
            << stack << " " << j << " " << k;
      }
    }
    if (stack == "nhsvm,flat-lr") {
      const double objective = levels.report.primal + nhsvm.report.primal + flat.report.primal;
      EXPECT_NEAR(model.report.primal, objective, 1e-4 * objective);
    }
  }
}

/// The mean of the rows of a label, which count at length 1, at length 1 itself.
std::vector<double> mean_row(const Examples& raw, LabelId label) {
  std::vector<double> mean(raw.X.num_columns(), 0.0);
  const auto add = [](std::vector<double>& sum, const std::vector<double>& values) {
    const double length =
        std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += values[j] / length;
  };
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    if (std::ranges::find(raw.labels[i], label) == raw.labels[i].end()) continue;
    std::vector<double> values(mean.size(), 0.0);
    const SparseRow row = raw.X.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) values[row.columns[k]] = row.values[k];
    add(mean, values);
  }
  std::vector<double> unit(mean.size(), 0.0);
  add(unit, mean);
  return unit;
}

TEST(Stack, of_centroids_adds_the_mean_rows_of_leaves) {
  const Hierarchy tree = groups();
  const Examples raw = noisy_rows(300);
  const ModelParts levels = train("level-svm", with(kExact, "stack", "none"), raw, &tree);
  const ModelParts model = train("level-svm", with(kExact, "stack", "centroids"), raw, &tree);
  const LinearPredictor::Parts &own = parts_of(model), &of_levels = parts_of(levels);
  ASSERT_EQ(own.levels.stacked.size(), 1U);
  EXPECT_GT(own.levels.stacked.front(), 0);
  EXPECT_EQ(model.report.primal, levels.report.primal);  // centroids are not trained
  const GraphLevels depth(own.graph);
  for (const NodeId leaf : own.candidates) {
    const std::string& name = model.labels.name(own.label_of_node[leaf]);
    const std::vector<double> mean = mean_row(raw, raw.codec.find(name).value());
    const std::uint32_t d = depth.of(leaf);
    for (FeatureId j = 0; j < 4; ++j) {
      const double s = of_levels.weights.at(j, leaf) / of_levels.levels.factors[d];
      const double expected = own.levels.factors[d] * s + own.levels.stacked.front() * mean[j];
      EXPECT_NEAR(own.weights.at(j, leaf), expected, 1e-4 * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST(Stack, of_centroids_has_the_rows_of_a_set_in_each_of_its_leaves) {
  const Hierarchy dag = overlapping_groups();
  const Examples raw = multi_label_rows(200, false);
  const OptionValues exact = with(kExact, "decision", "zero");
  const ModelParts levels = train("level-svm", with(exact, "stack", "none"), raw, &dag);
  const ModelParts model = train("level-svm", with(exact, "stack", "centroids"), raw, &dag);
  const LinearPredictor::Parts &own = parts_of(model), &of_levels = parts_of(levels);
  for (const NodeId leaf : own.candidates) {
    const std::string& name = model.labels.name(own.label_of_node[leaf]);
    const std::vector<double> mean = mean_row(raw, raw.codec.find(name).value());
    const std::uint32_t d = GraphLevels(own.graph).of(leaf);
    for (FeatureId j = 0; j < 3; ++j) {
      const double s = of_levels.weights.at(j, leaf) / of_levels.levels.factors[d];
      const double expected = own.levels.factors[d] * s + own.levels.stacked.front() * mean[j];
      EXPECT_NEAR(own.weights.at(j, leaf), expected, 1e-4 * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST(Stack, has_the_same_bits_on_any_number_of_threads) {
  const Hierarchy tree = groups();
  const auto bytes_with = [&](int threads) {
    return serialize_model(train("level-svm", {{"stack", "nhsvm,flat-lr"}, {"decision", "scut"}},
                                 grouped_rows(200, 4), &tree, threads));
  };
  EXPECT_EQ(bytes_with(1), bytes_with(3));
}

TEST(Stack, none_is_level_svm_alone) {
  const Hierarchy tree = groups();
  const ModelParts model = train("level-svm", {{"stack", "none"}}, grouped_rows(200, 4), &tree);
  EXPECT_THAT(parts_of(model).levels.stacked, IsEmpty());
  EXPECT_EQ(option_of(model, "stack"), "none");
}

TEST(Stack, files_keep_the_weights) {
  const Hierarchy tree = groups();
  const ModelParts model =
      train("level-svm", {{"stack", "nhsvm,flat-lr"}}, grouped_rows(200, 4), &tree);
  EXPECT_THAT(parts_of(model).levels.stacked, SizeIs(2));
  const std::string bytes = serialize_model(model);
  const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
  EXPECT_EQ(parts_of(read).levels.stacked, parts_of(model).levels.stacked);
  EXPECT_EQ(option_of(read, "stack"), "nhsvm,flat-lr");
  EXPECT_EQ(serialize_model(read), bytes);
  for (const double wrong : {-1.0, std::nan("")}) {
    TensorMap tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "good");
    tensors.put<double>("linear.stack_weights", std::vector<double>{1, wrong});
    const std::string damaged = serialize_safetensors(tensors);
    EXPECT_EQ(message_of<ModelFileError>(
                  [&] { parse_model(std::as_bytes(std::span(damaged)), "bad.model"); }),
              "bad.model: tensor linear.stack_weights must not be negative");
  }
}

TEST(Stack, by_default_there_is_none_where_there_cannot_be_one) {
  const auto stack_of = [](OptionValues options, Examples raw, const Hierarchy& graph) {
    const ModelParts model = train("level-svm", options, std::move(raw), &graph);
    EXPECT_EQ(parts_of(model).levels.stacked.empty(), option_of(model, "stack") == "none");
    return option_of(model, "stack");
  };
  EXPECT_EQ(stack_of({}, multi_label_rows(2000, false), overlapping_groups()), "none");
  EXPECT_EQ(stack_of({{"intercept_penalty", "0"}}, grouped_rows(2000, 3), groups()), "none");
  EXPECT_EQ(stack_of({{"multiclass", "ovr"}}, grouped_rows(2000, 3), groups()), "none");
  EXPECT_EQ(stack_of({}, grouped_rows(100, 3), groups()), "none") << "few rows";
  EXPECT_EQ(stack_of({}, grouped_rows(2000, 3), groups()), "nhsvm,flat-lr");
}

/// Distinct rows, and each label has columns of its own; every other row is so many times as long.
Examples sparse_rows(float length, std::size_t count = 1000) {
  Examples raw = grouped_rows(count, 3);
  raw.X = CsrMatrix(static_cast<std::uint32_t>(40 + count / 9));
  for (std::size_t i = 0; i < count; ++i) {
    const auto own = static_cast<FeatureId>(9 * raw.labels[i].front() + i % 9);
    const auto shared = static_cast<FeatureId>(39 + i / 9);
    const float factor = i % 2 == 0 ? 1 : length;
    raw.X.append_row(std::vector<FeatureId>{own, shared},
                     std::vector<float>{0.8F * factor, 0.6F * factor});
  }
  return raw;
}

TEST(Stack, by_default_has_the_centroids_of_sparse_rows_of_one_length) {
  const auto stack_of = [](const OptionValues& options, Examples raw) {
    const Hierarchy tree = groups();
    return option_of(train("level-svm", options, std::move(raw), &tree), "stack");
  };
  EXPECT_EQ(stack_of({}, sparse_rows(1)), "centroids");
  EXPECT_EQ(stack_of({}, sparse_rows(1.005F)), "centroids");
  EXPECT_EQ(stack_of({}, sparse_rows(2)), "none");
  EXPECT_EQ(stack_of({}, sparse_rows(1, 999)), "none");
  EXPECT_EQ(stack_of({{"bias", "0"}}, sparse_rows(1)), "centroids");
  EXPECT_EQ(stack_of({{"multiclass", "ovr"}, {"intercept_penalty", "0"}}, sparse_rows(1)),
            "centroids");
  Examples several = sparse_rows(1);
  LabelSets sets;
  for (std::size_t i = 0; i < several.num_rows(); ++i) {
    std::vector<LabelId> set{several.labels[i].front()};
    if (i % 3 == 0 && set.front() != 3) set.push_back(3);
    sets.append(set);
  }
  several.labels = std::move(sets);
  EXPECT_EQ(stack_of({}, std::move(several)), "centroids");
}

TEST(Stack, equal_rows_count_once_for_the_default) {
  const Hierarchy tree = groups();
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < 1500; ++i) rows.push_back(i % 300);
  const ModelParts model = train("level-svm", {}, select_rows(grouped_rows(300, 3), rows), &tree);
  EXPECT_EQ(option_of(model, "stack"), "none");
}

TEST(Stack, cannot_be_where_the_message_says_why) {
  const Hierarchy tree = groups(), dag = overlapping_groups();
  const auto refused = [&](OptionValues options, Examples raw, const Hierarchy& graph) {
    options.emplace_back("stack", "nhsvm");
    return message_of<InvalidOption>([&] { train("level-svm", options, std::move(raw), &graph); });
  };
  EXPECT_EQ(refused({}, multi_label_rows(200, false), dag),
            "option stack is nhsvm, which is for rows with one label, but some rows have several");
  EXPECT_EQ(refused({{"intercept_penalty", "0"}}, grouped_rows(100, 3), tree),
            "option stack is nhsvm, but intercept_penalty is 0, and stacked methods have no free "
            "intercepts");
  EXPECT_EQ(refused({{"match_names", "true"}}, grouped_rows(100, 3), tree),
            "option stack is nhsvm, but match_names is given, too, and scores of names are fitted "
            "beside those of centroids only");
}

TEST(Stack, of_centroids_can_be_beside_names_as_far_as_the_stack_is_concerned) {
  const Hierarchy tree = groups();
  EXPECT_EQ(message_of<InvalidOption>([&] {
              train("level-svm", {{"stack", "centroids"}, {"match_names", "true"}},
                    grouped_rows(100, 3), &tree);
            }),
            "option match_names is given, but rows are not texts (option text, or a text column)");
}

TEST(Stack, wrong_names_are_refused) {
  const auto refused = [](const std::string& text) {
    return message_of<InvalidOption>([&] { detail::Stack::parse(text); });
  };
  const std::string rule =
      "', but must be auto, none, or some of nhsvm, flat-lr and centroids, each once, separated by "
      "commas";
  for (const std::string text :
       {"", "hsvm", "nhsvm,", "nhsvm,nhsvm", "flat-lr, nhsvm", "none,nhsvm", "auto,nhsvm"}) {
    EXPECT_EQ(refused(text), "option stack is '" + text + rule);
  }
  for (const std::string text :
       {"auto", "none", "nhsvm", "flat-lr", "nhsvm,flat-lr", "centroids,nhsvm"}) {
    EXPECT_EQ(detail::Stack::parse(text).to_text(), text);
  }
  EXPECT_EQ(detail::Stack::parse("nhsvm+flat-lr").to_text(), "nhsvm,flat-lr");
  const LevelSvmOptions options{.stack = {"flat-lr", "nhsvm"}};
  EXPECT_EQ(options.stack.to_text(), "flat-lr,nhsvm");
  const LevelSvmOptions wrong{.stack = {"svm"}};
  EXPECT_EQ(message_of<InvalidOption>([&] { validate(wrong); }), "option stack is 'svm" + rule);
}

TEST(Stack, that_is_trained_is_not_made_of_independent_problems) {
  const Hierarchy tree = groups();
  const PreparedRows prepared = prepare_rows(grouped_rows(100, 3), &tree, {});
  for (const std::string stack : {"none", "centroids", "nhsvm"}) {
    const auto run = find_method("level-svm").start();
    set_options(run->options(), {{"multiclass", "ovr"}, {"stack", stack}});
    RunControl control;
    const Plan plan = run->plan(prepared.training_set(), Executor::serial(), control);
    EXPECT_EQ(static_cast<bool>(plan.problems), stack != "nhsvm");
  }
}

TEST(Stack, a_limit_before_the_first_pass_leaves_no_model) {
  const Hierarchy tree = groups();
  const PreparedRows prepared = prepare_rows(grouped_rows(100, 3), &tree, {});
  const Method& method = find_method("level-svm");
  const auto run = method.start();
  set_options(run->options(), {{"stack", "nhsvm,flat-lr"}});
  RunControl control({}, 0);
  EXPECT_THROW(train_model(method, *run, prepared.training_set(), prepared.preprocessing,
                           Executor::serial(), control),
               OutOfTimeLimit);
}

TEST(Stack, an_interruption_leaves_no_model_of_some_folds) {
  const Hierarchy tree = groups();
  const PreparedRows prepared = prepare_rows(grouped_rows(100, 3), &tree, {});
  const auto run = find_method("level-svm").start();
  set_options(run->options(), {{"stack", "nhsvm,flat-lr"}});
  for (const int last : {1, 4, 9}) {
    int reports = 0;
    RunControl control([&](const Progress& /*progress*/) { return ++reports <= last; });
    EXPECT_THROW(run->train(prepared.training_set(), Executor::serial(), control), OutOfTime)
        << last;
  }
}

}  // namespace
}  // namespace margrove
