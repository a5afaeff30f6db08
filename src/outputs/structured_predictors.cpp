#include "outputs/structured_predictors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/conll_reader.hpp"
#include "margrove/errors.hpp"
#include "outputs/chain/sequence_metrics.hpp"

namespace margrove {
namespace {

constexpr std::size_t kRowsAtOnce = 64;

LabelCodec codec_of(const TensorMap& tensors, const std::string& name, std::uint32_t num_labels) {
  LabelCodec codec(tensors.get_strings(name));
  tensors.check(codec.size() == num_labels, name, " has ", codec.size(), " names, but must have ",
                num_labels);
  return codec;
}

std::vector<float> finite_weights(const TensorMap& tensors, const char* name, std::size_t size) {
  auto weights = tensors.get<float>(name, size);
  for (const float w : weights) {
    tensors.check(std::isfinite(w), name, " holds a number that is not finite");
  }
  return weights;
}

struct RowShape {
  std::uint64_t num_features;
  double bias;
};

/// Of the rows that a model of `kind` takes.
RowShape row_shape(const TensorMap& tensors, const std::string& kind) {
  const RowShape shape{tensors.whole_number(kind + ".features"), tensors.number(kind + ".bias")};
  tensors.check(shape.num_features < std::numeric_limits<std::uint32_t>::max(), kind,
                ".features is ", shape.num_features, ", but must fit 32 bits");
  tensors.check(shape.bias >= 0, kind, ".bias is ", shape.bias, ", but must be >= 0");
  return shape;
}

Fact weight_fact(const std::vector<float>& weights) {
  const auto used = std::count_if(weights.begin(), weights.end(), [](float w) { return w != 0; });
  return {"weights", concat(weights.size(), ", ", used, " not zero")};
}

// The row with the intercept behind the last known feature.
void with_bias(const SparseRow& x, std::uint32_t num_features, double bias,
               std::vector<FeatureId>& columns, std::vector<float>& values) {
  columns.clear();
  values.clear();
  for (std::size_t j = 0; j < x.size() && x.columns[j] < num_features; ++j) {
    columns.push_back(x.columns[j]);
    values.push_back(x.values[j]);
  }
  if (bias > 0) {
    columns.push_back(num_features);
    values.push_back(static_cast<float>(bias));
  }
}

}  // namespace

// ---- chains -------------------------------------------------------------------------------------

ChainPredictor::ChainPredictor(FeatureTable features, LabelCodec tags, std::size_t num_columns,
                               std::vector<float> weights)
    : features_(std::move(features)),
      tags_(std::move(tags)),
      num_columns_(num_columns),
      weights_(std::move(weights)) {}

void ChainPredictor::save(TensorMap& out) const {
  out.put_strings("chain.features", features_.names());
  out.put_strings("chain.tags", tags_.names());
  out.put_number("chain.columns", static_cast<double>(num_columns_));
  out.put_view<float>("chain.weights", weights_);
}

std::unique_ptr<Predictor> ChainPredictor::load(const TensorMap& tensors,
                                                std::uint32_t num_labels) {
  FeatureTable features(tensors.get_strings("chain.features"));
  LabelCodec tags = codec_of(tensors, "chain.tags", num_labels);
  tensors.check(num_labels > 0, "chain.tags is empty, but must have one tag");
  const auto columns = tensors.whole_number("chain.columns");
  auto weights = finite_weights(tensors, "chain.weights",
                                ChainModel::num_weights(features.size(), num_labels));
  return std::make_unique<ChainPredictor>(std::move(features), std::move(tags), columns,
                                          std::move(weights));
}

std::vector<Fact> ChainPredictor::facts() const {
  return {{"features", concat(features_.size())},
          {"tags", concat(tags_.size())},
          weight_fact(weights_)};
}

ColumnCorpus ChainPredictor::read(const std::string& path, bool has_tags) const {
  ColumnOptions options;
  options.has_tags = has_tags;
  options.tags = &tags_;
  ColumnCorpus corpus = read_columns(path, options);
  // A file to predict may still carry its tags, as the last column.
  const bool fits =
      corpus.num_columns == num_columns_ || (!has_tags && corpus.num_columns == num_columns_ + 1);
  require(corpus.sentences.empty() || fits, path, ": lines have ",
          corpus.num_columns + (has_tags ? 1 : 0), " columns, but must have ",
          num_columns_ + (has_tags ? 1 : 0), " as in training");
  if (corpus.num_columns == num_columns_ + 1) {
    options.has_tags = true;
    corpus = read_columns(path, options);
  }
  return corpus;
}

std::vector<TagSequence> ChainPredictor::decode(const ColumnCorpus& corpus, Executor& executor,
                                                RunControl& control) const {
  SequenceData data = features_.encode(corpus, 0);
  const auto num_tags = static_cast<std::uint32_t>(tags_.size());
  std::vector<TagSequence> tags(data.size());
  std::vector<ChainWorkspace> workspaces(static_cast<std::size_t>(executor.size()));
  executor.for_each(data.size(), [&](std::size_t i, int worker) {
    if (!control.proceed()) return;
    tags[i] = decode_chain(data.X, data.pointers[i], data.pointers[i + 1], features_.size(),
                           num_tags, {weights_, 1.0}, workspaces[worker]);
  });
  return tags;
}

std::string ChainPredictor::predict_file(const std::string& path, Executor& executor,
                                         RunControl& control) const {
  std::string out;
  for (const TagSequence& tags : decode(read(path, false), executor, control)) {
    for (const std::uint32_t tag : tags) out.append(tags_.name(tag)).append("\n");
    out.append("\n");
  }
  return out;
}

std::vector<NamedValue> ChainPredictor::evaluate_file(const std::string& path, Executor& executor,
                                                      RunControl& control) const {
  const ColumnCorpus corpus = read(path, true);
  const auto predicted = decode(corpus, executor, control);
  SequenceScores scores;
  std::vector<std::string_view> truth_names, names;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predicted[i].empty()) continue;  // stopped before
    truth_names.clear();
    names.clear();
    for (const LabelId tag : corpus.sentences[i].tags) truth_names.push_back(corpus.tags.name(tag));
    for (const std::uint32_t tag : predicted[i]) names.push_back(tags_.name(tag));
    scores.add(truth_names, names);
  }
  std::vector<NamedValue> values{{"token_accuracy", scores.token_accuracy()},
                                 {"sentence_accuracy", scores.sentence_accuracy()}};
  if (are_span_tags(corpus.tags.names())) {
    values.push_back({"span_precision", scores.span_precision()});
    values.push_back({"span_recall", scores.span_recall()});
    values.push_back({"span_f1", scores.span_f1()});
  }
  return values;
}

// ---- dependency trees ---------------------------------------------------------------------------

ParserSentence parser_sentence(const DependencySentence& sentence) {
  ParserSentence out;
  for (std::size_t k = 0; k < sentence.num_words(); ++k) {
    out.forms.push_back(hash_text(sentence.forms[k]));
    out.tags.push_back(hash_text(sentence.upos[k]));
    out.fine_tags.push_back(hash_text(sentence.xpos[k]));
  }
  return out;
}

std::size_t relation_slot(const ParserSentence& sentence, std::size_t head, std::size_t word,
                          std::size_t table_size) {
  std::uint64_t key = sentence.tags[word - 1] * 0x9E3779B97F4A7C15ULL;
  key ^= sentence.fine_tags[word - 1] * 0xC2B2AE3D27D4EB4FULL;
  key ^= (head == 0 ? 1 : sentence.tags[head - 1]) * 0x165667B19E3779F9ULL;
  key ^= head < word ? 0x27D4EB2F165667C5ULL : 0;
  return (key ^ (key >> 31U)) & (table_size - 1);
}

DependencyPredictor::DependencyPredictor(int bits, std::vector<float> weights, LabelCodec relations,
                                         std::vector<std::uint32_t> relation_table)
    : bits_(bits),
      weights_(std::move(weights)),
      relations_(std::move(relations)),
      relation_table_(std::move(relation_table)) {}

void DependencyPredictor::save(TensorMap& out) const {
  out.put_number("dependency.bits", bits_);
  out.put_strings("dependency.relations", relations_.names());
  out.put_view<float>("dependency.weights", weights_);
  out.put_view<std::uint32_t>("dependency.relation_table", relation_table_);
}

std::unique_ptr<Predictor> DependencyPredictor::load(const TensorMap& tensors,
                                                     std::uint32_t num_labels) {
  const auto bits = tensors.whole_number("dependency.bits");
  tensors.check(bits >= 8 && bits <= 30, "dependency.bits is ", bits,
                ", but must be between 8 and 30");
  LabelCodec relations = codec_of(tensors, "dependency.relations", num_labels);
  auto weights = finite_weights(tensors, "dependency.weights", std::size_t{1} << bits);
  auto table = tensors.get<std::uint32_t>("dependency.relation_table");
  tensors.check(!table.empty() && (table.size() & (table.size() - 1)) == 0,
                "dependency.relation_table has ", table.size(),
                " entries, but must have a power of two");
  for (const std::uint32_t relation : table) {
    tensors.check(relation < num_labels, "dependency.relation_table holds ", relation,
                  ", but must be < ", num_labels);
  }
  return std::make_unique<DependencyPredictor>(static_cast<int>(bits), std::move(weights),
                                               std::move(relations), std::move(table));
}

std::vector<Fact> DependencyPredictor::facts() const {
  return {{"relations", concat(relations_.size())}, weight_fact(weights_)};
}

std::vector<DependencyTree> DependencyPredictor::decode(
    const std::vector<ParserSentence>& sentences, Executor& executor, RunControl& control) const {
  std::vector<DependencyTree> trees(sentences.size());
  std::vector<DependencyWorkspace> workspaces(static_cast<std::size_t>(executor.size()));
  executor.for_each(sentences.size(), [&](std::size_t i, int worker) {
    if (!control.proceed()) return;
    trees[i] = decode_tree(sentences[i], bits_, {weights_, 1.0}, workspaces[worker]);
  });
  return trees;
}

std::string DependencyPredictor::predict_file(const std::string& path, Executor& executor,
                                              RunControl& control) const {
  DependencyOptions options;
  options.has_trees = false;
  const DependencyCorpus corpus = read_conllu(path, options);
  std::vector<ParserSentence> sentences;
  for (const auto& sentence : corpus.sentences) sentences.push_back(parser_sentence(sentence));
  const auto trees = decode(sentences, executor, control);
  std::string out;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    for (std::size_t k = 0; k < trees[i].size(); ++k) {
      const auto slot = relation_slot(sentences[i], trees[i][k], k + 1, relation_table_.size());
      out += concat(trees[i][k], "\t", relations_.name(relation_table_[slot]), "\n");
    }
    out += '\n';
  }
  return out;
}

std::vector<NamedValue> DependencyPredictor::evaluate_file(const std::string& path,
                                                           Executor& executor,
                                                           RunControl& control) const {
  DependencyOptions options;
  options.relations = &relations_;
  const DependencyCorpus corpus = read_conllu(path, options);
  std::vector<ParserSentence> sentences;
  for (const auto& sentence : corpus.sentences) sentences.push_back(parser_sentence(sentence));
  const auto trees = decode(sentences, executor, control);
  AttachmentScores scores;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const auto& truth = corpus.sentences[i];
    for (std::size_t k = 0; k < trees[i].size(); ++k) {
      ++scores.words;
      if (trees[i][k] != truth.heads[k]) continue;
      ++scores.correct_heads;
      const auto slot = relation_slot(sentences[i], trees[i][k], k + 1, relation_table_.size());
      scores.correct_labelled += relation_table_[slot] == truth.relations[k] ? 1 : 0;
    }
  }
  return {{"uas", scores.unlabelled()}, {"las", scores.labelled()}};
}

// ---- pairwise fields ----------------------------------------------------------------------------

FieldPredictor::FieldPredictor(std::uint32_t num_features, std::uint32_t num_labels, double bias,
                               std::vector<float> weights)
    : num_features_(num_features),
      num_labels_(num_labels),
      bias_(bias),
      weights_(std::move(weights)) {}

void FieldPredictor::save(TensorMap& out) const {
  out.put_number("field.features", num_features_);
  out.put_number("field.bias", bias_);
  out.put_view<float>("field.weights", weights_);
}

std::unique_ptr<Predictor> FieldPredictor::load(const TensorMap& tensors,
                                                std::uint32_t num_labels) {
  const auto [num_features, bias] = row_shape(tensors, "field");
  tensors.check(num_labels > 0, "the model has no labels, but a field must have one");
  auto weights =
      finite_weights(tensors, "field.weights",
                     FieldModel::num_weights(num_features + (bias > 0 ? 1 : 0), num_labels));
  return std::make_unique<FieldPredictor>(static_cast<std::uint32_t>(num_features), num_labels,
                                          bias, std::move(weights));
}

std::vector<Fact> FieldPredictor::facts() const {
  return {{"features", concat(num_features_)},
          {"pairs", concat(std::uint64_t{num_labels_} * (num_labels_ - 1) / 2)},
          weight_fact(weights_)};
}

void FieldPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                            std::span<float> scores) const {
  FieldWorkspace workspace;
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (std::size_t i = begin; i < end; ++i) {
    with_bias(X.row(i), num_features_, bias_, columns, values);
    score_field({columns, values}, num_features_ + (bias_ > 0 ? 1U : 0U), num_labels_,
                {weights_, 1.0}, workspace);
    for (std::uint32_t l = 0; l < num_labels_; ++l) {
      scores[(i - begin) * num_labels_ + l] = static_cast<float>(workspace.unary[l]);
    }
  }
}

LabelSets FieldPredictor::predict(const CsrView& X, Executor& executor) const {
  std::vector<LabelVector> found(X.num_rows());
  executor.for_ranges(X.num_rows(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    FieldWorkspace workspace;
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (std::size_t i = begin; i < end; ++i) {
      with_bias(X.row(i), num_features_, bias_, columns, values);
      score_field({columns, values}, num_features_ + (bias_ > 0 ? 1U : 0U), num_labels_,
                  {weights_, 1.0}, workspace);
      found[i] = FieldOracle(workspace, {}, FieldOptions{}).decode();
    }
  });
  LabelSets sets;
  std::vector<LabelId> set;
  for (const LabelVector& y : found) {
    set.clear();
    for (LabelId l = 0; l < y.size(); ++l) {
      if (y[l]) set.push_back(l);
    }
    sets.append(set);
  }
  return sets;
}

// ---- label sets of a hierarchy ------------------------------------------------------------------

NodeSetPredictor::NodeSetPredictor(std::uint32_t num_features, std::uint32_t num_labels,
                                   double bias, LabelGraph graph,
                                   std::vector<LabelId> label_of_node, std::vector<float> weights)
    : num_features_(num_features),
      num_labels_(num_labels),
      bias_(bias),
      graph_(std::move(graph)),
      label_of_node_(std::move(label_of_node)),
      weights_(std::move(weights)),
      inference_(graph_) {}

void NodeSetPredictor::save(TensorMap& out) const {
  std::vector<std::uint32_t> edges;
  for (NodeId n = 0; n < graph_.num_nodes(); ++n) {
    for (const NodeId child : graph_.children(n)) {
      edges.push_back(n);
      edges.push_back(child);
    }
  }
  out.put_number("node-sets.features", num_features_);
  out.put_number("node-sets.bias", bias_);
  out.put<std::uint32_t>("node-sets.edges", edges, {edges.size() / 2, 2});
  out.put_view<std::uint32_t>("node-sets.label_of_node", label_of_node_);
  out.put_view<float>("node-sets.weights", weights_);
}

std::unique_ptr<Predictor> NodeSetPredictor::load(const TensorMap& tensors,
                                                  std::uint32_t num_labels) {
  const auto [num_features, bias] = row_shape(tensors, "node-sets");
  auto labels = tensors.get<std::uint32_t>("node-sets.label_of_node");
  tensors.check(!labels.empty(), "node-sets.label_of_node is empty, but must have one node");
  for (const std::uint32_t label : labels) {
    tensors.check(label < num_labels, "node-sets.label_of_node holds ", label, ", but must be < ",
                  num_labels);
  }
  const auto flat = tensors.get_matrix<std::uint32_t>("node-sets.edges", TensorMap::kAnySize, 2);
  std::vector<LabelEdge> edges;
  for (std::size_t k = 0; k < flat.size(); k += 2) edges.push_back({flat[k], flat[k + 1]});
  LabelGraph graph;
  try {
    graph = LabelGraph::build(static_cast<std::uint32_t>(labels.size()), edges);
  } catch (const InvalidInput& error) {
    tensors.fail(concat("node-sets.edges: ", error.what()));
  }
  auto weights = finite_weights(tensors, "node-sets.weights",
                                (num_features + (bias > 0 ? 1 : 0)) * labels.size());
  return std::make_unique<NodeSetPredictor>(static_cast<std::uint32_t>(num_features), num_labels,
                                            bias, std::move(graph), std::move(labels),
                                            std::move(weights));
}

std::vector<Fact> NodeSetPredictor::facts() const {
  return {{"features", concat(num_features_)},
          {"nodes", concat(graph_.num_nodes())},
          weight_fact(weights_)};
}

void NodeSetPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                              std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  NodeSetWorkspace workspace;
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (std::size_t i = begin; i < end; ++i) {
    with_bias(X.row(i), num_features_, bias_, columns, values);
    score_node_set({columns, values}, num_features_ + (bias_ > 0 ? 1U : 0U), graph_.num_nodes(),
                   {weights_, 1.0}, workspace);
    for (const NodeId leaf : graph_.leaves()) {
      scores[(i - begin) * num_labels_ + label_of_node_[leaf]] =
          static_cast<float>(workspace.scores[leaf]);
    }
  }
}

LabelSets NodeSetPredictor::predict(const CsrView& X, Executor& executor) const {
  std::vector<std::vector<LabelId>> found(X.num_rows());
  executor.for_ranges(X.num_rows(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    NodeSetWorkspace workspace;
    std::vector<FeatureId> columns;
    std::vector<float> values;
    NodeSet y;
    for (std::size_t i = begin; i < end; ++i) {
      with_bias(X.row(i), num_features_, bias_, columns, values);
      score_node_set({columns, values}, num_features_ + (bias_ > 0 ? 1U : 0U), graph_.num_nodes(),
                     {weights_, 1.0}, workspace);
      inference_.best(workspace.scores, workspace.inference, y);
      for (const NodeId n : y) {
        if (graph_.is_leaf(n)) found[i].push_back(label_of_node_[n]);
      }
    }
  });
  LabelSets sets;
  for (const auto& set : found) sets.append(set);
  return sets;
}

}  // namespace margrove
