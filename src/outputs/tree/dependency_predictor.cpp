#include "outputs/tree/dependency_predictor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "margrove/errors.hpp"
#include "outputs/predictor_parts.hpp"
#include "outputs/tree/attachment_scores.hpp"
#include "outputs/tree/conllu_reader.hpp"

namespace margrove {

DependencyPredictor::DependencyPredictor(ParserWeights parser, LabelCodec names)
    : parser_(std::move(parser)),
      names_(std::move(names)),
      shape_{parser_.bits, static_cast<std::uint32_t>(names_.size()), parser_.num_arc_weights()} {}

void DependencyPredictor::save(TensorMap& out) const {
  out.put_number("dependency.bits", parser_.bits);
  out.put_strings("dependency.relations", names_.names());
  const std::span<const float> weights = parser_.weights;
  out.put_view<float>("dependency.weights", weights.first(parser_.num_arc_weights()));
  if (parser_.table) {
    out.put_view<std::uint32_t>("dependency.relation_table", parser_.table->relations());
  } else {
    out.put_text("dependency.relation_kind", std::string(name_of(parser_.relations)));
    out.put_view<float>("dependency.relation_weights", weights.subspan(parser_.num_arc_weights()));
  }
}

namespace {

RelationTable table_in(const TensorMap& tensors, std::uint32_t num_labels) {
  auto table = tensors.get<std::uint32_t>("dependency.relation_table");
  tensors.check(!table.empty() && (table.size() & (table.size() - 1)) == 0,
                "dependency.relation_table has ", table.size(),
                " entries, but must have a power of two");
  for (const std::uint32_t relation : table) {
    tensors.check(relation < num_labels, "dependency.relation_table holds ", relation,
                  ", but must be < ", num_labels);
  }
  return RelationTable(std::move(table));
}

/// Models without a kind have a table, as those of earlier versions do.
RelationKind kind_in(const TensorMap& tensors) {
  if (!tensors.has_text("dependency.relation_kind")) return RelationKind::table;
  const std::string& kind = tensors.text("dependency.relation_kind");
  for (const RelationKind known : {RelationKind::joint, RelationKind::separate}) {
    if (kind == name_of(known)) return known;
  }
  tensors.check(false, "dependency.relation_kind is '", kind, "', but must be joint or separate");
  return RelationKind::table;
}

}  // namespace

std::unique_ptr<Predictor> DependencyPredictor::load(const TensorMap& tensors,
                                                     std::uint32_t num_labels) {
  const auto bits = tensors.whole_number("dependency.bits");
  tensors.check(bits >= 8 && bits <= 30, "dependency.bits is ", bits,
                ", but must be between 8 and 30");
  LabelCodec names = codec_of(tensors, "dependency.relations", num_labels);
  ParserWeights parser{static_cast<int>(bits), kind_in(tensors), {}, std::nullopt};
  const std::size_t size = parser.num_arc_weights();
  parser.weights = finite_weights(tensors, "dependency.weights", size);
  if (parser.relations == RelationKind::table) {
    parser.table = table_in(tensors, num_labels);
  } else {
    const RelationShape shape{parser.bits, num_labels, size};
    tensors.check(num_labels > 0 && has_room(shape), "dependency.relations has ", num_labels,
                  " names, which must be more than 0 and fit dependency.bits, ", bits);
    const auto relations = finite_weights(tensors, "dependency.relation_weights", size);
    parser.weights.insert(parser.weights.end(), relations.begin(), relations.end());
  }
  return std::make_unique<DependencyPredictor>(std::move(parser), std::move(names));
}

std::vector<Fact> DependencyPredictor::facts() const {
  return {{"relations", concat(names_.size())},
          {"relations learned", std::string(name_of(parser_.relations))},
          weight_fact(parser_.weights)};
}

LabelledTree DependencyPredictor::decode(const ParserSentence& sentence,
                                         LabelledWorkspace& workspace) const {
  const ScaledWeights weights{parser_.weights, 1.0};
  if (parser_.relations == RelationKind::joint) {
    return decode_labelled(sentence, shape_, weights, workspace);
  }
  LabelledTree tree{decode_tree(sentence, parser_.bits, weights, workspace), {}};
  for (std::size_t k = 1; k <= sentence.size(); ++k) {
    const std::size_t head = tree.heads[k - 1];
    tree.relations.push_back(parser_.table
                                 ? parser_.table->relation(sentence, head, k)
                                 : best_relation(arc_relation_scores(
                                       sentence, head, k, shape_, weights, workspace.relations)));
  }
  return tree;
}

std::vector<LabelledTree> DependencyPredictor::decode(const DependencyCorpus& corpus,
                                                      Executor& executor,
                                                      RunControl& control) const {
  std::vector<LabelledTree> trees(corpus.size());
  std::vector<LabelledWorkspace> workspaces(static_cast<std::size_t>(executor.size()));
  watch(workspaces, control);
  try {
    executor.for_each(trees.size(), [&](std::size_t i, int worker) {
      end_if_out_of_time(&control);
      trees[i] = decode(parser_sentence(corpus.sentences[i]), workspaces[worker]);
    });
  } catch (const OutOfTime&) {
    return trees;  // the rest are empty
  }
  return trees;
}

void DependencyPredictor::append_answers(const DependencyCorpus& corpus, Executor& executor,
                                         RunControl& control, std::string& lines) const {
  for (const auto& [heads, relations] : decode(corpus, executor, control)) {
    for (std::size_t k = 0; k < heads.size(); ++k) {
      lines += concat(heads[k], "\t", names_.name(relations[k]), "\n");
    }
    lines += '\n';
  }
}

std::string DependencyPredictor::predict_file(const ExampleSource& source, Executor& executor,
                                              RunControl& control) const {
  std::string out;
  append_answers(read_conllu(source, {.has_trees = false}, &control), executor, control, out);
  return out;
}

std::vector<Sentence> DependencyPredictor::answers(const ExampleSource& source, Executor& executor,
                                                   RunControl& control) const {
  const DependencyCorpus corpus = read_conllu(source, {.has_trees = false}, &control);
  std::vector<Sentence> answers;
  for (const auto& [heads, relations] : decode(corpus, executor, control)) {
    Sentence& sentence = answers.emplace_back();
    for (std::size_t k = 0; k < heads.size(); ++k) {
      sentence.push_back({concat(heads[k]), names_.name(relations[k])});
    }
  }
  return answers;
}

std::size_t DependencyPredictor::predict_part(const FilePart& part, const std::string& name,
                                              Executor& executor, RunControl& control,
                                              std::string& lines) const {
  const DependencyCorpus corpus = read_conllu_part(part, name, {.has_trees = false});
  append_answers(corpus, executor, control, lines);
  return corpus.size();
}

/// Not comments, ranges of words and empty nodes.
bool DependencyPredictor::has_token(std::string_view line, bool /*begins_sentence*/) const {
  return line.substr(0, line.find('\t')).find_first_not_of("0123456789") == std::string_view::npos;
}

/// Head and relation are put in their columns; enhanced dependencies, which are those of the old
/// tree, become `_`.
std::string DependencyPredictor::answered(std::string_view line, std::string_view answer,
                                          const std::string& /*name*/) const {
  constexpr std::size_t kHead = 6, kMisc = 9;
  std::array<std::size_t, kMisc> tabs{};
  std::size_t at = 0;
  for (std::size_t& tab : tabs) {
    tab = line.find('\t', at);
    at = tab + 1;
  }
  return concat(line.substr(0, tabs[kHead - 1] + 1), answer, "\t_", line.substr(tabs[kMisc - 1]));
}

std::span<const AnswerColumn> DependencyPredictor::answer_columns() const {
  static constexpr AnswerColumn kColumns[] = {{"heads", /*is_number=*/true}, {"relations"}};
  return kColumns;
}

std::size_t DependencyPredictor::bytes_of_sentence(std::size_t num_tokens) const {
  // The tables of LabelledWorkspace, of arcs and of words, and the hashed features of a word.
  const std::size_t n = num_tokens + 1;
  return 96 * n * n + n * (32 * names_.size() + 1000);
}

FileEvaluation DependencyPredictor::evaluate_file(const ExampleSource& source, Executor& executor,
                                                  RunControl& control) const {
  DependencyOptions options;
  options.relations = &names_;
  const DependencyCorpus corpus = read_conllu(source, options, &control);
  const auto trees = decode(corpus, executor, control);
  AttachmentScores scores;
  std::size_t num_unknown = 0;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const auto& truth = corpus.sentences[i];
    for (std::size_t k = 0; k < trees[i].heads.size(); ++k) {
      ++scores.words;
      num_unknown += truth.relations[k] < names_.size() ? 0 : 1;
      if (trees[i].heads[k] != truth.heads[k]) continue;
      ++scores.correct_heads;
      scores.correct_labelled += trees[i].relations[k] == truth.relations[k] ? 1 : 0;
    }
  }
  return {{{"uas", scores.unlabelled()}, {"las", scores.labelled()}},
          unknown_answers(num_unknown, scores.words, "relations", corpus.relations.names(),
                          names_.size())};
}

namespace {

/// Keeps the `count` ones with the highest scores, the highest first.
template <class Other, class Score>
void keep_best(std::vector<Other>& others, std::size_t count, Score Other::*score) {
  std::stable_sort(others.begin(), others.end(),
                   [&](const Other& a, const Other& b) { return a.*score > b.*score; });
  others.resize(std::min(count, others.size()));
}

}  // namespace

std::vector<WordExplanation> DependencyPredictor::explain_sentence(const ExampleSource& source,
                                                                   std::size_t number,
                                                                   std::size_t num_others,
                                                                   RunControl& control) const {
  const DependencyCorpus corpus = read_conllu(source, {.has_trees = false}, &control);
  require<InvalidOption>(number <= corpus.size(), "option row is ", number,
                         ", but the data have only ", corpus.size(), " sentences");
  const auto& forms = corpus.sentences[number - 1].forms;
  const ParserSentence sentence = parser_sentence(corpus.sentences[number - 1]);
  LabelledWorkspace workspace;
  workspace.control = &control;
  const LabelledTree tree =
      read_in_time(source.name(), [&] { return decode(sentence, workspace); });
  const std::size_t n = sentence.size();
  std::vector<WordExplanation> words;
  for (std::size_t k = 1; k <= n; ++k) {
    const auto head = [&](std::size_t from) {
      return WordExplanation::Head{from, from == 0 ? "" : forms[from - 1],
                                   workspace.arcs[from * (n + 1) + k]};
    };
    WordExplanation word;
    word.word = forms[k - 1];
    word.head = head(tree.heads[k - 1]);
    const std::uint32_t relation = tree.relations[k - 1];
    word.relation = names_.name(relation);
    for (std::size_t from = 0; from <= n; ++from) {
      if (from != k && from != word.head.number) word.other_heads.push_back(head(from));
    }
    keep_best(word.other_heads, num_others, &WordExplanation::Head::arc);
    if (!parser_.table) {
      const auto scores = arc_relation_scores(sentence, word.head.number, k, shape_,
                                              {parser_.weights, 1.0}, workspace.relations);
      word.relation_score = scores[relation];
      word.arc_has_relation = parser_.relations == RelationKind::joint;
      for (std::uint32_t r = 0; r < scores.size(); ++r) {
        if (r != relation) word.other_relations.push_back({names_.name(r), scores[r]});
      }
      keep_best(word.other_relations, num_others, &WordExplanation::Relation::score);
    }
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace margrove
