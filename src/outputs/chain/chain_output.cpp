#include "outputs/chain/chain_output.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/out_of_time.hpp"
#include "outputs/chain/chain_decision.hpp"
#include "outputs/chain/chain_predictor.hpp"
#include "outputs/chain/column_reader.hpp"
#include "outputs/chain/token_features.hpp"

namespace margrove {
namespace {

ColumnCorpus read(const ExampleSource& source, const ChainSvmOptions& options,
                  RunControl* control) {
  return read_columns(source, {.comments = options.comments}, control);
}

/// A warning where there is nothing to learn, as where columns of trees are read as those of tags.
std::vector<std::string> warnings_of(const ColumnCorpus& corpus, const std::string& source,
                                     const SequenceData& sequences,
                                     const TagConstraints& constraints) {
  std::size_t num_broken = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    num_broken += constraints.allows(sequences.tags_of(i)) ? 0 : 1;
  }
  if (num_broken > 0) {
    return {concat(source, ": the tags of ", num_broken, " of ", sequences.size(),
                   " sentences break the constraints ", name_of(constraints.scheme()),
                   ", so that the model can never answer them")};
  }
  if (corpus.tags.size() != 1) return {};
  constexpr std::size_t kColumnsOfTrees = 9;  // of CoNLL-U, but for the last
  const bool may_be_trees = corpus.num_columns == kColumnsOfTrees;
  return {concat(source, ": all tokens have the tag '", corpus.tags.name(0), "'",
                 may_be_trees ? "; for trees in CoNLL-U choose model dependency" : "")};
}

constexpr int kDefaultClusters = 64;

std::uint32_t num_clusters(const ChainSvmOptions& options, const ColumnCorpus& corpus) {
  return static_cast<std::uint32_t>(
      options.word_clusters.value_or(have_spans(corpus.tags) ? kDefaultClusters : 0));
}

WordClusters clusters_for(const ChainSvmOptions& options, const ChainPredictor* earlier,
                          const ColumnCorpus& corpus, const std::string& source,
                          RunControl& control) {
  const bool has_earlier = earlier != nullptr && !earlier->clusters().is_empty();
  if (has_earlier && !options.word_clusters) return earlier->clusters();
  const std::uint32_t count = num_clusters(options, corpus);
  if (count == 0) return {};
  return done_in_time(source, "the clustering of words", &control,
                      [&] { return WordClusters::learn(corpus, count, control); });
}

TrainResult train(const ChainSvmOptions& options, const ColumnCorpus& corpus,
                  const TrainingSet& data, Executor& executor, RunControl& control) {
  const auto* earlier = start_predictor<ChainPredictor>(options);
  FeatureTable features =
      FeatureTable::collect(corpus, options.min_feature_count, options.word_pairs,
                            clusters_for(options, earlier, corpus, data.source, control));
  const auto outside = corpus.tags.find("O").value_or(0);
  const SequenceData sequences = features.encode(corpus, outside);
  const ChainDecision decision = chain_decision(options, sequences, corpus.tags, executor, control);
  const auto order = static_cast<std::uint32_t>(options.order);
  const std::vector<float> start = earlier != nullptr
                                       ? earlier->weights_for(features, corpus.tags, order)
                                       : std::vector<float>();
  StructuredWeights fit =
      fit_chain(sequences, options, executor, control, start, data.continuation.checkpoint);
  TrainResult result;
  result.report =
      to_report(fit.fit, warnings_of(corpus, data.source, sequences, decision.constraints));
  result.predictor = std::make_unique<ChainPredictor>(
      std::move(features), corpus.tags, corpus.num_columns, order, std::move(fit.weights),
      decision.rule, decision.outside_tag, decision.constraints, options.comments);
  return result;
}

/// Of one column.
double num_texts(const ColumnCorpus& corpus, std::size_t column) {
  std::unordered_set<std::string_view> texts;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    for (std::size_t t = 0; t < corpus.num_tokens(i); ++t) texts.insert(corpus.cell(i, t, column));
  }
  return static_cast<double>(texts.size());
}

MemoryEstimate memory(const ChainSvmOptions& options, const ColumnCorpus& corpus) {
  double tokens = 0;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    tokens += static_cast<double>(corpus.num_tokens(i));
  }
  // Features of a token, see token_features().
  const std::uint32_t clusters = num_clusters(options, corpus);
  const double templates = 24 + (options.word_pairs ? 2 : 0) + (clusters > 0 ? 12 : 0) +
                           3 * static_cast<double>(corpus.num_columns);
  // Each distinct token gives a feature at five positions, and each text of another column at
  // three. Affixes and shapes of tokens give some more, which few other tokens share.
  double texts = 3000 + 7 * num_texts(corpus, 0);
  for (std::size_t c = 1; c < corpus.num_columns; ++c) texts += 3 * num_texts(corpus, c);
  // Of two pairs of words for each token, an eighth are kept.
  const double pairs = options.word_pairs ? tokens / 4 : 0.0;
  const double features = std::min(templates * tokens, texts + pairs);
  const ChainShape shape{static_cast<std::size_t>(features),
                         static_cast<std::uint32_t>(corpus.tags.size()),
                         static_cast<std::uint32_t>(options.order)};
  MemoryEstimate memory;
  memory.add("names of features", 170 * features);
  if (clusters > 0) {
    // Neighbours of words in both orders, and three tables of pairs of clusters.
    const double size = std::min<double>(clusters, num_texts(corpus, 0)) + 1;
    memory.add("clusters of words", 40 * tokens + 24 * size * size);
  }
  memory.add("features of tokens", 1.5 * 8 * templates * tokens);
  memory.add("weights", solver_bytes(static_cast<double>(shape.num_weights()), options.solver));
  memory.add("scores of three tags", 16 * static_cast<double>(shape.num_triples()));
  // Assumes two wrong labellings per sentence, each wrong at half of the tokens.
  if (!uses_sgd(options.training())) memory.add("dual variables", 24 * templates * tokens);
  return chain_decision_memory(options, corpus, 8 * templates * tokens, std::move(memory));
}

}  // namespace

OutputType chain_output() {
  const OutputType type{
      .name = "chain",
      .plural = "sequences",
      .summary = "tags of a CoNLL column file",
      .form = ExampleForm::tagged_tokens,
      .file_format = "CoNLL column",
      .kind = "chain",
      .load = ChainPredictor::load,
      .takes_offset = true,
      .takes_start = true,
      .keeps_checkpoints = true,
  };
  return of_files(type, FileTraining<ChainSvmOptions, ColumnCorpus>{read, train, memory});
}

}  // namespace margrove
