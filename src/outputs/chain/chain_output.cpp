#include "outputs/chain/chain_output.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "outputs/chain/chain_decision.hpp"
#include "outputs/chain/chain_predictor.hpp"
#include "outputs/chain/column_reader.hpp"
#include "outputs/chain/token_features.hpp"

namespace margrove {
namespace {

ColumnCorpus read(const std::string& path, const ChainSvmOptions& options, RunControl* control) {
  return read_columns(path, {.comments = options.comments}, control);
}

TrainResult train(const ChainSvmOptions& options, const ColumnCorpus& corpus,
                  const TrainingSet& data, Executor& executor, RunControl& control) {
  FeatureTable features = FeatureTable::collect(corpus, options.min_feature_count);
  const auto outside = corpus.tags.find("O").value_or(0);
  const SequenceData sequences = features.encode(corpus, outside);
  const ChainDecision decision = chain_decision(options, sequences, corpus.tags, executor, control);
  const auto* earlier = start_predictor<ChainPredictor>(options);
  const std::vector<float> start =
      earlier != nullptr ? earlier->weights_for(features, corpus.tags) : std::vector<float>();
  StructuredWeights fit =
      fit_chain(sequences, options, executor, control, start, data.continuation.checkpoint);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.predictor = std::make_unique<ChainPredictor>(
      std::move(features), corpus.tags, corpus.num_columns, std::move(fit.weights), decision.rule,
      decision.outside_tag, decision.constraints, options.comments);
  return result;
}

std::size_t num_texts(const ColumnCorpus& corpus) {
  std::unordered_set<std::string_view> texts;
  for (const auto& sentence : corpus.sentences) {
    texts.insert(sentence.cells.begin(), sentence.cells.end());
  }
  return texts.size();
}

MemoryEstimate memory(const ChainSvmOptions& options, const ColumnCorpus& corpus) {
  double tokens = 0;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    tokens += static_cast<double>(corpus.num_tokens(i));
  }
  const auto tags = static_cast<double>(corpus.tags.size());
  constexpr double kTemplates = 27;  // features per token, see token_features()
  // Each distinct text gives a feature at five positions. Its affixes and shape give some more,
  // which few other texts share.
  const double features =
      std::min(kTemplates * tokens, 7 * static_cast<double>(num_texts(corpus)) + 3000);
  MemoryEstimate memory;
  memory.add("names of features", 170 * features);
  memory.add("features of tokens", 1.5 * 8 * kTemplates * tokens);
  memory.add("weights", solver_bytes(features * tags + tags * tags, options.solver));
  // Assumes two wrong labellings per sentence, each wrong at half of the tokens.
  if (!uses_sgd(options.training())) memory.add("dual variables", 24 * kTemplates * tokens);
  return chain_decision_memory(options, corpus, 8 * kTemplates * tokens, std::move(memory));
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
