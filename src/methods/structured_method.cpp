// --method structured: bi-criteria structured SVMs (Thesis, chapters 2 to 5).

#include <algorithm>

#include "data/conll_reader.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/structured.hpp"
#include "outputs/structured_predictors.hpp"

namespace margrove {
namespace {

struct ColumnExamples final : Examples {
  ColumnCorpus corpus;
  std::size_t size() const override { return corpus.sentences.size(); }
  const LabelCodec& codec() const override { return corpus.tags; }
};

struct TreeExamples final : Examples {
  DependencyCorpus corpus;
  std::size_t size() const override { return corpus.sentences.size(); }
  const LabelCodec& codec() const override { return corpus.relations; }
};

// The examples of one kind of model; rows are for the others.
template <class E>
const E& examples_of(const TrainingSet& data, const StructuredOptions& options) {
  const auto* examples = dynamic_cast<const E*>(data.examples);
  require<InvalidOption>(examples != nullptr, "option model is '", options.model,
                         "', which is trained on sentences from a file, not on rows");
  return *examples;
}

void require_rows(const TrainingSet& data, const StructuredOptions& options) {
  require<InvalidOption>(data.labels != nullptr, "option model is '", options.model,
                         "', which is trained on rows with labels");
}

TrainResult train_chain(const StructuredOptions& options, const TrainingSet& data,
                        Executor& executor, RunControl& control) {
  const auto& corpus = examples_of<ColumnExamples>(data, options).corpus;
  FeatureTable features = FeatureTable::collect(corpus, options.min_feature_count);
  const auto outside = corpus.tags.find("O").value_or(0);
  const SequenceData sequences = features.encode(corpus, outside);
  StructuredResult fit = fit_chain(sequences, options, executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.predictor = std::make_unique<ChainPredictor>(std::move(features), corpus.tags,
                                                      corpus.num_columns, std::move(fit.weights));
  return result;
}

// For each pair of tags the relation seen most often; elsewhere the most frequent one of all.
std::vector<std::uint32_t> relation_table(const DependencyCorpus& corpus) {
  constexpr std::size_t kSize = std::size_t{1} << 14;
  std::vector<std::vector<std::uint32_t>> counts(kSize);
  std::vector<std::uint32_t> all(corpus.relations.size(), 0);
  for (const auto& sentence : corpus.sentences) {
    const ParserSentence words = parser_sentence(sentence);
    for (std::size_t k = 0; k < sentence.heads.size(); ++k) {
      auto& slot = counts[relation_slot(words, sentence.heads[k], k + 1, kSize)];
      slot.resize(corpus.relations.size(), 0);
      ++slot[sentence.relations[k]];
      ++all[sentence.relations[k]];
    }
  }
  const auto most = [](const std::vector<std::uint32_t>& c) {
    return static_cast<std::uint32_t>(std::max_element(c.begin(), c.end()) - c.begin());
  };
  std::vector<std::uint32_t> table(kSize);
  for (std::size_t k = 0; k < kSize; ++k) table[k] = most(counts[k].empty() ? all : counts[k]);
  return table;
}

TrainResult train_dependency(const StructuredOptions& options, const TrainingSet& data,
                             Executor& executor, RunControl& control) {
  const auto& corpus = examples_of<TreeExamples>(data, options).corpus;
  std::vector<ParserSentence> sentences;
  std::vector<DependencyTree> trees;
  for (const auto& sentence : corpus.sentences) {
    if (!is_projective(sentence.heads)) continue;
    sentences.push_back(parser_sentence(sentence));
    trees.push_back(sentence.heads);
  }
  TrainResult result;
  const std::size_t left_out = corpus.sentences.size() - trees.size();
  require(!trees.empty(), data.source, ": no sentence is projective, but one must be");
  if (left_out > 0) {
    result.report.warnings.push_back(
        concat(data.source, ": ", left_out, " sentences are not projective and are left out"));
  }
  auto warnings = std::move(result.report.warnings);
  StructuredResult fit =
      fit_dependency(std::move(sentences), std::move(trees), options, executor, control);
  result.report = to_report(fit.fit);
  result.report.warnings = std::move(warnings);
  result.predictor = std::make_unique<DependencyPredictor>(
      options.hash_bits, std::move(fit.weights), corpus.relations, relation_table(corpus));
  return result;
}

TrainResult train_field(const StructuredOptions& options, const TrainingSet& data,
                        Executor& executor, RunControl& control) {
  require_rows(data, options);
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  const CsrMatrix X = with_intercept(data.X, options.bias);
  StructuredResult fit = fit_field(X, *data.labels, num_labels, options, executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.predictor = std::make_unique<FieldPredictor>(data.X.num_columns(), num_labels,
                                                      options.bias, std::move(fit.weights));
  return result;
}

TrainResult train_node_sets(const StructuredOptions& options, const TrainingSet& data,
                            Executor& executor, RunControl& control) {
  require_rows(data, options);
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  const LabelGraph graph =
      data.hierarchy != nullptr ? *data.hierarchy : LabelGraph::flat(num_labels);
  std::vector<bool> carries(num_labels, false);
  std::vector<std::uint32_t> kept;
  for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
    for (const LabelId l : (*data.labels)[i]) carries[l] = true;
    if (!(*data.labels)[i].empty()) kept.push_back(static_cast<std::uint32_t>(i));
  }
  require(!kept.empty(), data.source, ": no row has a label, but one must have");
  LeafLabelled tree = spawn_leaves(graph, carries);
  const WithoutCommonRoots cut = without_common_roots(tree.graph);
  std::vector<NodeId> node_of(tree.graph.num_nodes(), 0);
  std::vector<LabelId> label_of_node(cut.kept.size());
  for (NodeId k = 0; k < cut.kept.size(); ++k) {
    node_of[cut.kept[k]] = k;
    label_of_node[k] = tree.label_of_node[cut.kept[k]];
  }
  std::vector<std::vector<NodeId>> leaves;
  for (const std::uint32_t i : kept) {
    leaves.emplace_back();
    for (const LabelId l : (*data.labels)[i]) {
      leaves.back().push_back(node_of[tree.leaf_of_label[l]]);
    }
  }
  const CsrMatrix X = kept_rows_with_intercept(data.X, kept, options.bias);
  StructuredResult fit = fit_node_sets(X, leaves, cut.graph, options, executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  if (kept.size() < data.labels->num_rows()) {
    result.report.warnings.push_back(concat(data.source, ": ",
                                            data.labels->num_rows() - kept.size(),
                                            " rows without a label are left out"));
  }
  result.predictor =
      std::make_unique<NodeSetPredictor>(data.X.num_columns(), num_labels, options.bias, cut.graph,
                                         std::move(label_of_node), std::move(fit.weights));
  return result;
}

TrainResult train(const StructuredOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  if (options.model == "chain") return train_chain(options, data, executor, control);
  if (options.model == "dependency") return train_dependency(options, data, executor, control);
  if (options.model == "hierarchy") return train_node_sets(options, data, executor, control);
  return train_field(options, data, executor, control);
}

// Weights three times (the solver's sums and average) and the labellings kept an example: of a
// field some fifty, with a byte a label.
std::uint64_t memory(const StructuredOptions& options, const TrainingSet& data) {
  std::uint64_t weights = std::uint64_t{1} << static_cast<unsigned>(options.hash_bits);
  if (data.labels != nullptr) {
    const std::uint64_t labels = data.codec->size();
    weights = (data.X.num_columns() + 1) * 2 * labels + 2 * labels * labels;
  } else if (const auto* columns = dynamic_cast<const ColumnExamples*>(data.examples)) {
    std::uint64_t tokens = 0;
    for (std::size_t i = 0; i < columns->size(); ++i) tokens += columns->corpus.num_tokens(i);
    weights = 8 * tokens * columns->codec().size();
  }
  std::uint64_t kept = 0;
  if (options.model == "multilabel-field" && data.labels != nullptr) {
    kept = 50 * (data.codec->size() + 64) * data.labels->num_rows();
  }
  return 12 * weights + kept + 16 * static_cast<std::uint64_t>(data.X.num_nonzeros());
}

std::unique_ptr<Examples> read_examples(const std::vector<std::string>& paths,
                                        const OptionTable& options) {
  const std::string model = options.get("model");
  if (model != "chain" && model != "dependency") return nullptr;
  require<InvalidOption>(paths.size() == 1, "method structured reads one file, but ", paths.size(),
                         " are given");
  if (model == "chain") {
    auto examples = std::make_unique<ColumnExamples>();
    examples->corpus = read_columns(paths.front());
    require(examples->size() > 0, paths.front(), ": there is no sentence, but must be one");
    return examples;
  }
  auto examples = std::make_unique<TreeExamples>();
  examples->corpus = read_conllu(paths.front());
  require(examples->size() > 0, paths.front(), ": there is no sentence, but must be one");
  return examples;
}

}  // namespace

Method structured() {
  Method method = make_method<StructuredOptions>(
      "structured",
      "structured SVM with a surrogate of margin and loss: sequences, pairwise label sets, "
      "hierarchical label sets, dependency trees",
      train, memory);
  method.read_examples = read_examples;
  return method;
}

}  // namespace margrove
