// --method structured from examples to a model that was saved and read back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/out_of_time.hpp"
#include "files.hpp"
#include "margrove/errors.hpp"
#include "methods/registry.hpp"
#include "outputs/chain/chain_output.hpp"
#include "outputs/field/field_output.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "structured/search.hpp"
#include "structured/sgd.hpp"

namespace margrove {
namespace {

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text)
      : path_((std::filesystem::temp_directory_path() / name).string()) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::unique_ptr<Predictor> reloaded(const Predictor& predictor, std::uint32_t num_labels) {
  TensorMap tensors;
  predictor.save(tensors);
  return load_predictor(std::string(predictor.kind()), tensors, num_labels);
}

std::unique_ptr<Predictor> train(const OptionValues& values, const std::string& path,
                                 std::uint32_t& num_labels) {
  const Method& method = find_method("structured");
  const auto run = method.start();
  set_options(run->options(), values);
  const auto examples = method.read_examples({path}, run->options(), nullptr);
  TrainingSet data;
  data.examples = examples.get();
  Executor executor(1);
  RunControl control;
  auto result = run->train(data, executor, control);
  num_labels = static_cast<std::uint32_t>(examples->codec().size());
  return std::move(result.predictor);
}

double value_of(const std::vector<NamedValue>& values, const std::string& name) {
  for (const auto& v : values) {
    if (v.name == name) return v.value;
  }
  ADD_FAILURE() << "no " << name;
  return -1;
}

constexpr const char* kSentences =
    "Anna B-PER\nsees O\nRome B-LOC\n\nBob B-PER\nleft O\nParis B-LOC\n\nthey O\nsee O\n"
    "Anna B-PER\n\n";

TEST(Structured, chains_fit_their_training_data_with_every_surrogate_and_survive_a_round_trip) {
  const TemporaryFile file("margrove_structured_chain.conll", kSentences);
  for (const auto* surrogate : {"margin", "slack", "beta:0.5", "log", "prob", "micro-f1"}) {
    std::uint32_t num_labels = 0;
    const auto predictor = train({{"surrogate", surrogate}, {"C", "10"}, {"decision", "argmax"}},
                                 file.path(), num_labels);
    const auto again = reloaded(*predictor, num_labels);
    const auto& chain = dynamic_cast<const FilePredictor&>(*again);
    Executor executor(2);
    RunControl control;
    const auto values = chain.evaluate_file(file.path(), executor, control).values;
    EXPECT_EQ(value_of(values, "token_accuracy"), 1.0) << surrogate;
    EXPECT_EQ(value_of(values, "span_f1"), 1.0) << surrogate;
    EXPECT_EQ(chain.predict_file(file.path(), executor, control),
              "B-PER\nO\nB-LOC\n\nB-PER\nO\nB-LOC\n\nO\nO\nB-PER\n\n");
  }
}

// Far on the wrong side ProbLoss is flat: large first steps must not leave examples there for good.
TEST(Structured, prob_loss_learns_from_zero_whatever_the_loss_weight) {
  std::string text;
  for (int k = 0; k < 40; ++k) {
    text += "they O\nleft O\nthe O\nold O\nhouse O\nof O\n";
    text += k % 2 ? "Anna B-PER\nin O\nRome B-LOC\n\n" : "Bob B-PER\nby O\nParis B-LOC\n\n";
  }
  const TemporaryFile file("margrove_prob_loss.conll", text);
  Executor executor(1);
  RunControl control;
  for (const char* C : {"0.1", "10", "1000"}) {
    std::uint32_t num_labels = 0;
    const auto predictor =
        train({{"surrogate", "prob"}, {"C", C}, {"max_passes", "10"}}, file.path(), num_labels);
    const auto values = dynamic_cast<const FilePredictor&>(*predictor)
                            .evaluate_file(file.path(), executor, control)
                            .values;
    EXPECT_EQ(value_of(values, "span_f1"), 1.0) << C;
  }
}

SequenceData first_letters(const std::string& path, std::size_t num_words) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  SequenceData data;
  data.num_tags = 26;
  data.X = CsrMatrix(128);
  std::string last_word;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::string word, letter, pixels;
    int position = 0, fold = 0;
    cells >> word >> position >> letter >> fold >> pixels;
    if (fold != 0) continue;
    if (word != last_word && !data.tags.empty()) {
      data.pointers.push_back(data.tags.size());
      if (data.size() == num_words) return data;
    }
    last_word = word;
    std::vector<FeatureId> columns;
    for (FeatureId j = 0; j < pixels.size(); ++j) {
      if (pixels[j] == '1') columns.push_back(j);
    }
    data.X.append_row(columns, std::vector<float>(columns.size(), 1.0F));
    data.tags.push_back(static_cast<std::uint32_t>(letter[0] - 'a'));
  }
  return data;
}

TEST(Structured, angular_search_reaches_the_optimum_of_slack_rescaling_on_handwritten_words) {
  const auto path = testing::data_file("ocr-letters/letters.tsv");
  if (!path) GTEST_SKIP() << "skipped: no data";
  const SequenceData data = first_letters(*path, 20);
  ChainSvmOptions options;
  options.surrogate = SlackRescaling{};
  options.solver = StructuredSolver::bcfw;
  options.tolerance = 1e-3;
  options.max_passes = 200;
  Executor executor(1);
  RunControl control;
  double first = 0;
  for (const auto search : {StructuredSearch::convex_hull, StructuredSearch::angular}) {
    SCOPED_TRACE(name_of(search));
    options.search = search;
    options.search_tolerance = {0.0};
    const StructuredFit fit = fit_chain(data, options, executor, control).fit;
    EXPECT_EQ(fit.stop, Stop::converged);
    EXPECT_TRUE(fit.certified);
    if (first == 0) first = fit.primal;
    EXPECT_NEAR(fit.primal, first, 2e-3 * first);
  }
}

TEST(Structured, bcfw_reaches_a_gap_of_a_thousandth_on_handwritten_words) {
  const auto path = testing::data_file("ocr-letters/letters.tsv");
  if (!path) GTEST_SKIP() << "skipped: no data";
  const SequenceData data = first_letters(*path, 80);
  ASSERT_EQ(data.size(), 80U);
  ChainSvmOptions options;
  options.solver = StructuredSolver::bcfw;
  options.C = 1.0;
  options.tolerance = 1e-3;
  options.max_passes = 200;
  Executor executor(1);
  RunControl control;
  const StructuredFit bcfw = fit_chain(data, options, executor, control).fit;
  EXPECT_EQ(bcfw.stop, Stop::converged);
  EXPECT_TRUE(bcfw.certified);
  EXPECT_LE(bcfw.relative_gap, 1e-3);
  EXPECT_LE(bcfw.passes, 100);
  options.solver = StructuredSolver::cutting_plane;
  const StructuredFit planes = fit_chain(data, options, executor, control).fit;
  EXPECT_EQ(planes.stop, Stop::converged);
  EXPECT_NEAR(planes.primal, bcfw.primal, 2e-3 * bcfw.primal);
}

TEST(Structured, solvers_and_searches_that_do_not_fit_throw) {
  const TemporaryFile file("margrove_structured_errors.conll", kSentences);
  std::uint32_t num_labels = 0;
  const auto message_of = [&](const OptionValues& values) {
    try {
      train(values, file.path(), num_labels);
    } catch (const InvalidOption& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_EQ(message_of({{"surrogate", "prob"}, {"solver", "bcfw"}}),
            "option solver is 'bcfw', but surrogate prob is not affine in the margin; use sgd");
  EXPECT_EQ(
      message_of({{"surrogate", "prob"}, {"solver", "one-slack"}}),
      "option solver is 'one-slack', but surrogate prob is not convex in the margin; use sgd");
  EXPECT_EQ(message_of({{"surrogate", "prob"}, {"search", "angular"}}),
            "option search is 'angular', which serves slack rescaling only, but surrogate is prob");
  EXPECT_EQ(message_of({{"surrogate", "slack"}, {"search", "margin"}}),
            "option search is 'margin', but surrogate slack needs convex-hull");
  EXPECT_EQ(message_of({{"surrogate", "slack"}, {"search", "sarawagi"}}),
            "option search is 'sarawagi', which needs the slacks of solver cutting-plane, but "
            "solver is sgd");
  EXPECT_EQ(message_of({{"inference", "relaxed"}}),
            "option inference is given, but model chain does not have it; multilabel-field does");
  EXPECT_EQ(message_of({{"hash_bits", "20"}}),
            "option hash_bits is given, but model chain does not have it; dependency does");
}

TEST(Structured, an_interruption_while_words_are_clustered_leaves_no_model) {
  const TemporaryFile file("margrove_structured_clusters.conll", kSentences);
  const Method& method = find_method("structured");
  const auto run = method.start();
  const auto examples = method.read_examples({file.path()}, run->options(), nullptr);
  TrainingSet data;
  data.examples = examples.get();
  data.source = "tags";
  Executor executor(1);
  RunControl interrupted;
  interrupted.interrupt();
  EXPECT_THAT([&] { run->train(data, executor, interrupted); },
              ::testing::ThrowsMessage<OutOfTimeLimit>(
                  "tags: an interruption ended the clustering of words; nothing is trained"));
  RunControl late([](const Progress&) { return true; }, 0.0);
  EXPECT_THAT([&] { run->train(data, executor, late); },
              ::testing::ThrowsMessage<OutOfTimeLimit>(
                  "tags: the time limit ended the clustering of words; nothing is trained"));
}

TEST(Structured, parsers_find_simple_trees_again) {
  std::string text;
  for (const auto* words : {"dogs bark", "cats sleep"}) {
    const std::string line(words);
    const auto blank = line.find(' ');
    text += "1\t" + line.substr(0, blank) + "\t_\tNOUN\tN\t_\t2\tnsubj\t_\t_\n2\t" +
            line.substr(blank + 1) + "\t_\tVERB\tV\t_\t0\troot\t_\t_\n\n";
  }
  const TemporaryFile file("margrove_structured_trees.conllu", text);
  for (const char* relations : {"joint", "separate", "table"}) {
    SCOPED_TRACE(relations);
    std::uint32_t num_labels = 0;
    const auto predictor =
        train({{"model", "dependency"}, {"hash_bits", "12"}, {"relations", relations}}, file.path(),
              num_labels);
    const auto again = reloaded(*predictor, num_labels);
    const auto& parser = dynamic_cast<const FilePredictor&>(*again);
    Executor executor(1);
    RunControl control;
    const auto values = parser.evaluate_file(file.path(), executor, control).values;
    EXPECT_EQ(value_of(values, "uas"), 1.0);
    EXPECT_EQ(value_of(values, "las"), 1.0);
    EXPECT_EQ(parser.predict_file(file.path(), executor, control),
              "2\tnsubj\n0\troot\n\n2\tnsubj\n0\troot\n\n");
  }
}

/// Two sentences of the same words and tags, whose relations only the lemma of the word before
/// tells: a table of tags cannot.
TEST(Structured, learned_relations_tell_arcs_of_equal_tags_apart) {
  std::string text;
  for (const auto* names : {"to obl", "the obj"}) {
    const std::string line(names);
    const auto blank = line.find(' ');
    const std::string word = line.substr(0, blank), relation = line.substr(blank + 1);
    text += "1\tgo\tgo\tVERB\tV\t_\t0\troot\t_\t_\n2\t" + word + "\t" + word +
            "\tX\tX\t_\t3\tdep\t_\t_\n3\tRome\tRome\tPROPN\tP\t_\t1\t" + relation + "\t_\t_\n\n";
  }
  const TemporaryFile file("margrove_structured_relations.conllu", text);
  for (const auto& [relations, las] :
       {std::pair{"joint", 1.0}, {"separate", 1.0}, {"table", 5.0 / 6}}) {
    SCOPED_TRACE(relations);
    std::uint32_t num_labels = 0;
    const auto predictor = train({{"model", "dependency"},
                                  {"hash_bits", "12"},
                                  {"relations", relations},
                                  {"solver", "bcfw"},
                                  {"C", "1"}},
                                 file.path(), num_labels);
    Executor executor(1);
    RunControl control;
    const auto values = dynamic_cast<const FilePredictor&>(*predictor)
                            .evaluate_file(file.path(), executor, control)
                            .values;
    EXPECT_EQ(value_of(values, "uas"), 1.0);
    EXPECT_DOUBLE_EQ(value_of(values, "las"), las);
  }
}

TEST(Structured, fields_and_hierarchies_train_on_rows) {
  CsrMatrix X(3);
  LabelSets labels;
  for (LabelId l = 0; l < 3; ++l) {
    for (int copy = 0; copy < 3; ++copy) {
      X.append_row(std::vector<FeatureId>{l}, std::vector<float>{1.0F});
      labels.append(std::vector<LabelId>{l});
    }
  }
  const LabelCodec codec({"a", "b", "c"});
  TrainingSet data;
  data.X = X;
  data.labels = &labels;
  data.codec = &codec;
  using Case = std::pair<const char*, const char*>;
  for (const auto& [model, inference] : {Case{"multilabel-field", "exact"},
                                         {"multilabel-field", "relaxed"},
                                         {"hierarchy", "exact"}}) {
    SCOPED_TRACE(inference);
    const Method& method = find_method("structured");
    const auto run = method.start();
    set_options(run->options(), {{"model", model}, {"surrogate", "slack"}, {"C", "10"}});
    if (inference == std::string("relaxed")) run->options().set("inference", inference);
    EXPECT_EQ(method.read_examples({"rows.svm"}, run->options(), nullptr), nullptr);
    Executor executor(1);
    RunControl control;
    const auto result = run->train(data, executor, control);
    const auto again = reloaded(*result.predictor, 3);
    const auto& rows = dynamic_cast<const RowPredictor&>(*again);
    const LabelSets predicted = rows.predict(X, executor);
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      ASSERT_EQ(predicted[i].size(), 1U) << model;
      EXPECT_EQ(predicted[i][0], labels[i][0]) << model;
    }
  }
}

TEST(Structured, field_weights_are_those_of_pair_features_of_one_whatever_the_pair_scale) {
  CsrMatrix X(2);
  LabelSets labels;
  for (int i = 0; i < 12; ++i) {
    X.append_row(std::vector<FeatureId>{0, 1},
                 std::vector<float>{1.0F, static_cast<float>(i % 5) - 2.0F});
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 4; ++l) {
      if ((i + static_cast<int>(l) * i) % 3 == 0) set.push_back(l);
    }
    labels.append(set);
  }
  FieldSvmOptions options;
  options.C = 0.5;
  options.pair_scale = 0.5;
  options.solver = StructuredSolver::bcfw;
  options.tolerance = 1e-3;
  options.max_passes = 500;
  Executor executor(1);
  RunControl control;
  const StructuredWeights trained = fit_field(X, labels, 4, options, executor, control);
  EXPECT_EQ(trained.fit.stop, Stop::converged);
  const std::span<const float> w = trained.weights, pairs = w.subspan(2 * 4);
  const FieldModel plain(X, labels, 4);
  const double objective =
      structured_objective(plain, MarginRescaling{}, MarginSearch{}, 0.5, {w}, executor).value +
      0.5 * (1 / (0.5 * 0.5) - 1) * squared_norm({pairs, 1.0});
  EXPECT_NEAR(trained.fit.primal, objective, 1e-5 * objective);
  EXPECT_GT(squared_norm({pairs, 1.0}), 1e-3);
}

}  // namespace
}  // namespace margrove
