#include "outputs/tree/dependency_output.hpp"

#include <algorithm>
#include <cmath>

#include "outputs/tree/conllu_reader.hpp"
#include "outputs/tree/dependency_predictor.hpp"
#include "outputs/tree/parser_training.hpp"
#include "outputs/tree/relation_table.hpp"

namespace margrove {
namespace {

DependencyCorpus read(const ExampleSource& source, const DependencySvmOptions&,
                      RunControl* control) {
  return read_conllu(source, {}, control);
}

/// The weights of options.start, or none. Relations that it has as a table start at 0. Throws
/// InvalidOption unless it has the same number of hashes and, where they have weights, the same
/// relations in the same order.
std::vector<float> start_of(const DependencySvmOptions& options, const LabelCodec& relations) {
  const auto* earlier = start_predictor<DependencyPredictor>(options);
  if (earlier == nullptr) return {};
  const ParserWeights& parser = earlier->parser();
  require<InvalidOption>(parser.bits == options.hash_bits,
                         "option start is a model with hash_bits ", parser.bits,
                         ", but option hash_bits is ", options.hash_bits);
  std::vector<float> weights = parser.weights;
  if (options.relations == RelationKind::table) {
    weights.resize(parser.num_arc_weights());
    return weights;
  }
  require<InvalidOption>(
      parser.table || std::ranges::equal(earlier->names().names(), relations.names()),
      "option start is a model of other relations than those of the training file, or of another "
      "order of these");
  weights.resize(2 * parser.num_arc_weights());
  return weights;
}

TrainResult train(const DependencySvmOptions& options, const DependencyCorpus& corpus,
                  const TrainingSet& data, Executor& executor, RunControl& control) {
  std::vector<ParserSentence> sentences;
  std::vector<LabelledTree> trees;
  for (const auto& sentence : corpus.sentences) {
    if (!is_projective(sentence.heads)) continue;
    sentences.push_back(parser_sentence(sentence));
    trees.push_back({sentence.heads, sentence.relations});
  }
  const std::size_t left_out = corpus.sentences.size() - trees.size();
  require(!trees.empty(), data.source, ": no sentence is projective, but one must be");
  std::vector<std::string> warnings;
  if (left_out > 0) {
    warnings.push_back(
        concat(data.source, ": ", left_out, " sentences are not projective and are left out"));
  }
  StructuredWeights fit = fit_parser(std::move(sentences), std::move(trees),
                                     static_cast<std::uint32_t>(corpus.relations.size()), options,
                                     executor, control, start_of(options, corpus.relations));
  TrainResult result;
  result.report = to_report(fit.fit, std::move(warnings));
  ParserWeights parser{options.hash_bits, options.relations, std::move(fit.weights), std::nullopt};
  if (options.relations == RelationKind::table) parser.table = RelationTable::count(corpus);
  result.predictor = std::make_unique<DependencyPredictor>(std::move(parser), corpus.relations);
  return result;
}

MemoryEstimate memory(const DependencySvmOptions& options, const DependencyCorpus& corpus) {
  double words = 0;
  for (const auto& sentence : corpus.sentences) words += static_cast<double>(sentence.num_words());
  // Per word, for its wrong arcs and relations in the dual variables.
  const double arc_bytes = options.relations == RelationKind::table ? 900 : 1700;
  const int tables = options.relations == RelationKind::table ? 1 : 2;
  MemoryEstimate memory;
  memory.add("weights", solver_bytes(tables * std::ldexp(1.0, options.hash_bits), options.solver));
  if (!uses_sgd(options.training())) memory.add("dual variables", arc_bytes * words);
  memory.add("hashed words", 112 * words);
  return memory;
}

}  // namespace

OutputType dependency_output() {
  const OutputType type{
      .name = "dependency",
      .plural = "dependency trees",
      .summary = "projective trees of a CoNLL-U file",
      .form = ExampleForm::file,
      .file_format = "CoNLL-U",
      .kind = "dependency",
      .load = DependencyPredictor::load,
      .takes_start = true,
  };
  return of_files(type, FileTraining<DependencySvmOptions, DependencyCorpus>{read, train, memory});
}

}  // namespace margrove
