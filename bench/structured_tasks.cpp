// Training and test scores of the structured models on the tasks of the thesis.
//
//   bench_structured_tasks multilabel TRAIN.svm TEST.svm [option=value ...]
//   bench_structured_tasks ocr letters.tsv TRAIN_FOLD|-TEST_FOLD [option=value ...]
//   bench_structured_tasks tags TRAIN TEST [option=value ...]
//   bench_structured_tasks parse TRAIN TEST [option=value ...]
//   bench_structured_tasks features FILE TRAIN [option=value ...]
//
// TEST may be several files joined by commas. Options are those of `--method structured`. Prints
// one line: CPU seconds, passes, oracle calls per visit, objective, gap, and the scores on each
// test file. `features` prints the token features of a column file instead.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "data/csr_operations.hpp"
#include "margrove/options.hpp"
#include "margrove/svmlight_reader.hpp"
#include "outputs/chain/chain_output.hpp"
#include "outputs/chain/sequence_metrics.hpp"
#include "outputs/chain/token_features.hpp"
#include "outputs/field/field_output.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/tree/attachment_scores.hpp"
#include "outputs/tree/parser_training.hpp"
#include "outputs/tree/relation_table.hpp"
#include "structured/sgd.hpp"

namespace {

using namespace margrove;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void print_fit(const StructuredFit& fit, double seconds, std::size_t examples) {
  fmt::print(
      "cpu_s {:.2f} passes {} calls_per_visit {:.2f} primal {:.4f} dual {:.4f} gap {:.5f} "
      "certified {} ",
      seconds, fit.passes,
      static_cast<double>(fit.oracle_calls) /
          (static_cast<double>(examples) * std::max(1, fit.passes)),
      fit.primal, fit.dual, fit.relative_gap, fit.certified);
}

// Prints the convergence curve as progress lines if the environment has MARGROVE_CURVE.
RunControl curve_control(double start) {
  if (!std::getenv("MARGROVE_CURVE")) return RunControl();
  return RunControl([start](const Progress& p) {
    if (p.done > 0) {
      fmt::print(stderr, "curve {} {} cpu_s {:.2f} objective {:.4f} gap {:.5f}\n", p.stage, p.done,
                 cpu_seconds() - start, p.objective, p.relative_gap);
    }
    return true;
  });
}

void multilabel(const std::string& train_path, const std::string& test_path,
                const FieldSvmOptions& options) {
  const Dataset train = read_svmlight(train_path);
  SvmlightOptions same;
  same.num_features = train.X.num_columns();
  same.codec = &train.codec;
  const Dataset test = read_svmlight(test_path, same);
  const auto K = static_cast<std::uint32_t>(train.codec.size());
  const CsrMatrix X = with_intercept(train.X, options.bias);
  CsrMatrix test_rows = test.X;
  const CsrMatrix X_test = with_intercept(test_rows, options.bias);
  Executor executor(1);
  const double start = cpu_seconds();
  RunControl control = curve_control(start);
  const auto result = fit_field(X, train.labels, K, options, executor, control);
  print_fit(result.fit, cpu_seconds() - start, X.num_rows());
  double jaccard = 0, f1 = 0, wrong = 0;
  std::vector<std::array<double, 3>> counts(K, {0, 0, 0});  // both, true, predicted
  FieldWorkspace workspace;
  for (std::size_t i = 0; i < X_test.num_rows(); ++i) {
    score_field(X_test.row(i), X.num_columns(), K, {result.weights}, workspace);
    const LabelVector y = FieldOracle(workspace, {}, FieldOptions{}).decode();
    double both = 0, is_true = 0, predicted = 0;
    std::vector<std::uint8_t> truth(K, 0);
    for (const LabelId l : test.labels[i]) {
      if (l < K) truth[l] = 1;
      is_true += 1;
    }
    for (std::uint32_t k = 0; k < K; ++k) {
      predicted += y[k];
      both += y[k] && truth[k];
      counts[k][0] += y[k] && truth[k];
      counts[k][1] += truth[k];
      counts[k][2] += y[k];
    }
    const double size = is_true + predicted;
    jaccard += size == 0 ? 1 : both / (size - both);
    f1 += size == 0 ? 1 : 2 * both / size;
    wrong += size - 2 * both;
  }
  const auto n = static_cast<double>(X_test.num_rows());
  double macro = 0, sum_both = 0, sum_size = 0;
  for (const auto& c : counts) {
    macro += c[1] + c[2] > 0 ? 2 * c[0] / (c[1] + c[2]) : 0;
    sum_both += c[0];
    sum_size += c[1] + c[2];
  }
  fmt::print(
      "jaccard {:.4f} label_loss {:.4f} instance_f1 {:.4f} micro_f1 {:.4f} macro_f1 {:.4f}\n",
      jaccard / n, wrong / (n * K), f1 / n, 2 * sum_both / sum_size, macro / K);
}

SequenceData read_letters(const std::string& path, int fold, bool inverted) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  SequenceData data;
  data.num_tags = 26;
  data.X = CsrMatrix(129);
  std::string word, last_word;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::string letter, pixels;
    int position, its_fold;
    cells >> word >> position >> letter >> its_fold >> pixels;
    if ((its_fold == fold) == inverted) continue;
    if (word != last_word && !data.tags.empty()) data.pointers.push_back(data.tags.size());
    last_word = word;
    std::vector<FeatureId> columns;
    for (FeatureId j = 0; j < pixels.size(); ++j) {
      if (pixels[j] == '1') columns.push_back(j);
    }
    columns.push_back(128);  // intercept
    data.X.append_row(columns, std::vector<float>(columns.size(), 1.0F));
    data.tags.push_back(static_cast<std::uint32_t>(letter[0] - 'a'));
  }
  data.pointers.push_back(data.tags.size());
  return data;
}

void evaluate_tags(const SequenceData& test, const ChainShape& shape, const std::vector<float>& w,
                   const LabelCodec* codec) {
  ChainWorkspace workspace;
  SequenceScores scores;
  const double start = cpu_seconds();
  for (std::size_t i = 0; i < test.size(); ++i) {
    const auto y =
        decode_chain(test.X, test.pointers[i], test.pointers[i + 1], shape, {w}, workspace);
    std::vector<std::string_view> truth, predicted;
    static const std::string kLetters = "abcdefghijklmnopqrstuvwxyz";
    const auto name = [&](std::uint32_t tag) {
      return codec ? std::string_view(codec->name(tag)) : std::string_view(kLetters).substr(tag, 1);
    };
    for (std::size_t t = 0; t < y.size(); ++t) {
      truth.push_back(name(test.tags_of(i)[t]));
      predicted.push_back(name(y[t]));
    }
    scores.add(truth, predicted);
  }
  fmt::print("test_error {:.4f} token_accuracy {:.4f} span_f1 {:.4f} decode_cpu_s {:.2f} ",
             1 - scores.token_accuracy(), scores.token_accuracy(), scores.span_f1(),
             cpu_seconds() - start);
}

ChainShape shape_of(const SequenceData& train, const ChainSvmOptions& options) {
  return {train.X.num_columns(), train.num_tags, static_cast<std::uint32_t>(options.order)};
}

void ocr(const std::string& path, int fold, const ChainSvmOptions& options) {
  const bool inverted = fold < 0;
  const int which = inverted ? -fold - 1 : fold;
  const SequenceData train = read_letters(path, which, inverted);
  const SequenceData test = read_letters(path, which, !inverted);
  Executor executor(1);
  const double start = cpu_seconds();
  RunControl control = curve_control(start);
  const auto result = fit_chain(train, options, executor, control);
  const double seconds = cpu_seconds() - start;
  fmt::print("words {} ", train.size());
  print_fit(result.fit, seconds, train.size());
  if (options.solver == StructuredSolver::sgd && options.surrogate.to_text() == "margin") {
    fmt::print("objective {:.4f} ",
               structured_objective(
                   ChainModel(train, Criteria::hamming, static_cast<std::uint32_t>(options.order)),
                   MarginRescaling{}, MarginSearch{}, options.loss_weight(), {result.weights, 1.0},
                   executor)
                   .value);
  }
  evaluate_tags(test, shape_of(train, options), result.weights, nullptr);
  fmt::print("\n");
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

WordClusters clusters_of(const ColumnCorpus& corpus, const ChainSvmOptions& options) {
  RunControl unlimited;
  const int count = options.word_clusters.value_or(0);
  if (count == 0) return {};
  return WordClusters::learn(corpus, static_cast<std::uint32_t>(count), unlimited);
}

void tags(const std::string& train_path, const std::string& test_paths,
          const ChainSvmOptions& options) {
  const ColumnCorpus train_corpus = read_columns(train_path);
  const auto outside = train_corpus.tags.find("O").value_or(0);
  const FeatureTable table =
      FeatureTable::collect(train_corpus, options.min_feature_count, options.word_pairs,
                            clusters_of(train_corpus, options));
  const SequenceData train = table.encode(train_corpus, outside);
  Executor executor(1);
  const double start = cpu_seconds();
  RunControl control = curve_control(start);
  const auto result = fit_chain(train, options, executor, control);
  fmt::print("features {} ", table.size());
  print_fit(result.fit, cpu_seconds() - start, train.size());
  for (const std::string& path : split_at_commas(test_paths)) {
    ColumnOptions same;
    same.tags = &train_corpus.tags;
    const ColumnCorpus corpus = read_columns(path, same);
    evaluate_tags(table.encode(corpus, outside), shape_of(train, options), result.weights,
                  &corpus.tags);
  }
  fmt::print("\n");
}

// Prints `tag TAB feature TAB feature ...` per token, and a blank line after each sentence.
// Clusters of words are those of the training file.
void features(const std::string& path, const std::string& train_path,
              const ChainSvmOptions& options) {
  const ColumnCorpus corpus = read_columns(path);
  const ColumnCorpus train = read_columns(train_path);
  const WordClusters clusters = clusters_of(train, options);
  const Alphabet alphabet = alphabet_of(train);
  const TokenTemplates templates{options.word_pairs, &clusters};
  const VisitFeature print = [](std::string_view name, float) { fmt::print("\t{}", name); };
  for (std::size_t i = 0; i < corpus.sentences.size(); ++i) {
    const std::vector<WordForm> forms = forms_of(corpus, i, alphabet);
    for (std::size_t t = 0; t < forms.size(); ++t) {
      fmt::print("{}", corpus.tags.name(corpus.sentences[i].tags[t]));
      token_features(corpus, i, t, forms, templates, print);
      fmt::print("\n");
    }
    fmt::print("\n");
  }
}

void parse(const std::string& train_path, const std::string& test_paths,
           const DependencySvmOptions& options) {
  const DependencyCorpus train = read_conllu(train_path);
  std::vector<ParserSentence> sentences;
  std::vector<DependencyTree> trees;
  for (const auto& s : train.sentences) {
    if (!is_projective(s.heads)) continue;
    sentences.push_back(parser_sentence(s));
    trees.push_back(s.heads);
  }
  Executor executor(1);
  const std::size_t examples = trees.size();
  const double start = cpu_seconds();
  RunControl control = curve_control(start);
  const auto result =
      fit_dependency(std::move(sentences), std::move(trees), options, executor, control);
  print_fit(result.fit, cpu_seconds() - start, examples);
  for (const std::string& path : split_at_commas(test_paths)) {
    const DependencyCorpus test = read_conllu(path);
    AttachmentScores scores;
    DependencyWorkspace workspace;
    const double test_start = cpu_seconds();
    for (const auto& s : test.sentences) {
      const auto heads =
          decode_tree(parser_sentence(s), options.hash_bits, {result.weights}, workspace);
      for (std::size_t k = 0; k < heads.size(); ++k) scores.correct_heads += heads[k] == s.heads[k];
      scores.words += static_cast<std::int64_t>(heads.size());
    }
    fmt::print("uas {:.4f} sentences_per_cpu_s {:.0f} ", scores.unlabelled(),
               static_cast<double>(test.sentences.size()) / (cpu_seconds() - test_start));
  }
  fmt::print("\n");
}

/// The options from the arguments `option=value`, which follow task and data.
template <class Options>
Options options_of(int argc, char** argv) {
  Options options;
  OptionTable table(options);
  table.append(OptionTable(options, Options::own_fields()));
  for (int k = 4; k < argc; ++k) {
    const std::string argument = argv[k];
    const auto equals = argument.find('=');
    table.set(argument.substr(0, equals), argument.substr(equals + 1));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: {} multilabel|ocr|tags|parse|features DATA DATA|FOLD [option=value ...]\n",
               argv[0]);
    return 2;
  }
  try {
    const std::string task = argv[1];
    if (task == "features") {
      features(argv[2], argv[3], options_of<ChainSvmOptions>(argc, argv));
      return 0;
    }
    std::string line;
    for (int k = 4; k < argc; ++k) line += std::string(argv[k]) + " ";
    fmt::print("{} {} {}: ", argv[1], argv[3], line);
    if (task == "multilabel") multilabel(argv[2], argv[3], options_of<FieldSvmOptions>(argc, argv));
    if (task == "ocr") ocr(argv[2], std::atoi(argv[3]), options_of<ChainSvmOptions>(argc, argv));
    if (task == "tags") tags(argv[2], argv[3], options_of<ChainSvmOptions>(argc, argv));
    if (task == "parse") parse(argv[2], argv[3], options_of<DependencySvmOptions>(argc, argv));
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
  return 0;
}
