#include "outputs/tree/dependency_predictor.hpp"

#include "margrove/errors.hpp"
#include "outputs/predictor_parts.hpp"
#include "outputs/tree/attachment_scores.hpp"
#include "outputs/tree/conllu_reader.hpp"

namespace margrove {

DependencyPredictor::DependencyPredictor(int bits, std::vector<float> weights, LabelCodec names,
                                         RelationTable relations)
    : bits_(bits),
      weights_(std::move(weights)),
      names_(std::move(names)),
      relations_(std::move(relations)) {}

void DependencyPredictor::save(TensorMap& out) const {
  out.put_number("dependency.bits", bits_);
  out.put_strings("dependency.relations", names_.names());
  out.put_view<float>("dependency.weights", weights_);
  out.put_view<std::uint32_t>("dependency.relation_table", relations_.relations());
}

std::unique_ptr<Predictor> DependencyPredictor::load(const TensorMap& tensors,
                                                     std::uint32_t num_labels) {
  const auto bits = tensors.whole_number("dependency.bits");
  tensors.check(bits >= 8 && bits <= 30, "dependency.bits is ", bits,
                ", but must be between 8 and 30");
  LabelCodec names = codec_of(tensors, "dependency.relations", num_labels);
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
                                               std::move(names), RelationTable(std::move(table)));
}

std::vector<Fact> DependencyPredictor::facts() const {
  return {{"relations", concat(names_.size())}, weight_fact(weights_)};
}

std::vector<DependencyTree> DependencyPredictor::decode(
    const std::vector<ParserSentence>& sentences, Executor& executor, RunControl& control) const {
  std::vector<DependencyTree> trees(sentences.size());
  std::vector<DependencyWorkspace> workspaces(static_cast<std::size_t>(executor.size()));
  watch(workspaces, control);
  try {
    executor.for_each(sentences.size(), [&](std::size_t i, int worker) {
      end_if_out_of_time(&control);
      trees[i] = decode_tree(sentences[i], bits_, {weights_, 1.0}, workspaces[worker]);
    });
  } catch (const OutOfTime&) {
    return trees;  // the rest are empty
  }
  return trees;
}

void DependencyPredictor::append_answers(const DependencyCorpus& corpus, Executor& executor,
                                         RunControl& control, std::string& lines) const {
  std::vector<ParserSentence> sentences;
  for (const auto& sentence : corpus.sentences) sentences.push_back(parser_sentence(sentence));
  const auto trees = decode(sentences, executor, control);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    for (std::size_t k = 0; k < trees[i].size(); ++k) {
      const std::uint32_t relation = relations_.relation(sentences[i], trees[i][k], k + 1);
      lines += concat(trees[i][k], "\t", names_.name(relation), "\n");
    }
    lines += '\n';
  }
}

std::string DependencyPredictor::predict_file(const std::string& path, Executor& executor,
                                              RunControl& control) const {
  std::string out;
  append_answers(read_conllu(path, {.has_trees = false}), executor, control, out);
  return out;
}

std::size_t DependencyPredictor::predict_part(const FilePart& part, const std::string& name,
                                              Executor& executor, RunControl& control,
                                              std::string& lines) const {
  const DependencyCorpus corpus = read_conllu_part(part, name, {.has_trees = false});
  append_answers(corpus, executor, control, lines);
  return corpus.size();
}

std::vector<NamedValue> DependencyPredictor::evaluate_file(const std::string& path,
                                                           Executor& executor,
                                                           RunControl& control) const {
  DependencyOptions options;
  options.relations = &names_;
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
      const std::uint32_t relation = relations_.relation(sentences[i], trees[i][k], k + 1);
      scores.correct_labelled += relation == truth.relations[k] ? 1 : 0;
    }
  }
  return {{"uas", scores.unlabelled()}, {"las", scores.labelled()}};
}

}  // namespace margrove
