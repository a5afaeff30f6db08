#include "outputs/chain/chain_output.hpp"

#include "outputs/chain/chain_predictor.hpp"
#include "outputs/chain/column_reader.hpp"
#include "outputs/chain/token_features.hpp"

namespace margrove {
namespace {

ColumnCorpus read(const std::string& path, const ChainSvmOptions&) { return read_columns(path); }

TrainResult train(const ChainSvmOptions& options, const ColumnCorpus& corpus, const std::string&,
                  Executor& executor, RunControl& control) {
  FeatureTable features = FeatureTable::collect(corpus, options.min_feature_count);
  const auto outside = corpus.tags.find("O").value_or(0);
  const SequenceData sequences = features.encode(corpus, outside);
  StructuredWeights fit = fit_chain(sequences, options, executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.predictor = std::make_unique<ChainPredictor>(std::move(features), corpus.tags,
                                                      corpus.num_columns, std::move(fit.weights));
  return result;
}

// The number of features is not known yet: eight new ones per token are assumed.
std::uint64_t memory(const ChainSvmOptions&, const ColumnCorpus& corpus) {
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < corpus.size(); ++i) tokens += corpus.num_tokens(i);
  return solver_bytes(8 * tokens * corpus.tags.size());
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
  };
  return of_files(type, FileTraining<ChainSvmOptions, ColumnCorpus>{read, train, memory});
}

}  // namespace margrove
