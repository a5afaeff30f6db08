#include "outputs/tree/dependency_output.hpp"

#include <cmath>

#include "outputs/tree/conllu_reader.hpp"
#include "outputs/tree/dependency_predictor.hpp"
#include "outputs/tree/relation_table.hpp"

namespace margrove {
namespace {

DependencyCorpus read(const std::string& path, const DependencySvmOptions&) {
  return read_conllu(path);
}

TrainResult train(const DependencySvmOptions& options, const DependencyCorpus& corpus,
                  const std::string& source, Executor& executor, RunControl& control) {
  std::vector<ParserSentence> sentences;
  std::vector<DependencyTree> trees;
  for (const auto& sentence : corpus.sentences) {
    if (!is_projective(sentence.heads)) continue;
    sentences.push_back(parser_sentence(sentence));
    trees.push_back(sentence.heads);
  }
  const std::size_t left_out = corpus.sentences.size() - trees.size();
  require(!trees.empty(), source, ": no sentence is projective, but one must be");
  std::vector<std::string> warnings;
  if (left_out > 0) {
    warnings.push_back(
        concat(source, ": ", left_out, " sentences are not projective and are left out"));
  }
  StructuredWeights fit =
      fit_dependency(std::move(sentences), std::move(trees), options, executor, control);
  TrainResult result;
  result.report = to_report(fit.fit, std::move(warnings));
  result.predictor = std::make_unique<DependencyPredictor>(
      options.hash_bits, std::move(fit.weights), corpus.relations, RelationTable::count(corpus));
  return result;
}

MemoryEstimate memory(const DependencySvmOptions& options, const DependencyCorpus& corpus) {
  double words = 0;
  for (const auto& sentence : corpus.sentences) words += static_cast<double>(sentence.num_words());
  constexpr double kArcBytes = 900;  // per word, for its wrong arcs in the dual variables
  MemoryEstimate memory;
  memory.add("weights", solver_bytes(std::ldexp(1.0, options.hash_bits), options.solver));
  memory.add("dual variables", kArcBytes * words);
  memory.add("hashed words", 64 * words);
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
  };
  return of_files(type, FileTraining<DependencySvmOptions, DependencyCorpus>{read, train, memory});
}

}  // namespace margrove
