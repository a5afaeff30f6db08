#include "model/sentence_predictor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "margrove/errors.hpp"
#include "model/model.hpp"

namespace margrove {
namespace {

std::string text_of(const WordExplanation::Head& head) {
  return head.number == 0 ? "0 (root)" : fmt::format("{} {}", head.number, head.word);
}

/// "  other heads: 2 dog +1.5, 0 (root) -0.25". Nothing if there are none.
template <class Others, class Text>
void append_others(std::string_view title, const Others& others, const Text& text,
                   std::string& lines) {
  if (others.empty()) return;
  lines += title;
  for (const auto& other : others) {
    if (&other != &others.front()) lines += ',';
    lines += ' ';
    lines += text(other);
  }
  lines += '\n';
}

}  // namespace

std::string explanation_text(std::span<const WordExplanation> sentence) {
  std::string lines;
  std::size_t number = 0;
  for (const WordExplanation& word : sentence) {
    lines += fmt::format("{} {}: head {}, relation {}; arc {:+.6g}", ++number, word.word,
                         text_of(word.head), word.relation, word.head.arc);
    if (word.relation_score) {
      lines += fmt::format(", {} relation {:+.6g}", word.arc_has_relation ? "of which" : "and",
                           *word.relation_score);
    }
    lines += '\n';
    append_others(
        "  other heads:", word.other_heads,
        [](const auto& head) { return fmt::format("{} {:+.6g}", text_of(head), head.arc); }, lines);
    append_others(
        "  other relations:", word.other_relations,
        [](const auto& other) { return fmt::format("{} {:+.6g}", other.name, other.score); },
        lines);
  }
  return lines;
}

std::vector<std::string> unknown_answers(std::size_t num_unknown, std::size_t num_words,
                                         std::string_view answers,
                                         std::span<const std::string> names,
                                         std::size_t first_unknown) {
  if (num_unknown == 0) return {};
  constexpr std::size_t kMost = 5;  // names worth reading in a message
  const auto unknown = names.subspan(first_unknown);
  const auto some = unknown.first(std::min(kMost, unknown.size()));
  std::string text = concat("'", fmt::format("{}", fmt::join(some, "', '")), "'");
  if (unknown.size() > kMost) text += concat(" and ", unknown.size() - kMost, " more");
  return {concat("the model does not know the ", answers, " of ", num_unknown, " of ", num_words,
                 " words (", text, "); they count as wrong")};
}

const SentencePredictor& sentences_of(const ModelParts& model) {
  const SentencePredictor* predictor = model.predictor->sentences();
  require(predictor != nullptr, "the model is of method ", model.method,
          ", but must be one of sentences");
  return *predictor;
}

const SentencePredictor& explained_sentences_of(const ModelParts& model) {
  const SentencePredictor& predictor = sentences_of(model);
  require<InvalidOption>(predictor.explains(), "a model of method ", model.method, " and kind ",
                         predictor.kind(), " has no explanations");
  return predictor;
}

}  // namespace margrove
