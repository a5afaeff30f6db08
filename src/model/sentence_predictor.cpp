#include "model/sentence_predictor.hpp"

#include <algorithm>

namespace margrove {
namespace {

/// Removes what stands before `end` and `end` itself from the front of the text, and returns it.
std::string_view take_to(char end, std::string_view& text) {
  const std::size_t size = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return taken;
}

}  // namespace

std::vector<Sentence> SentencePredictor::answers(const ExampleSource& source, Executor& executor,
                                                 RunControl& control) const {
  const std::string text = predict_file(source, executor, control);
  std::vector<Sentence> sentences;
  Sentence sentence;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = take_to('\n', rest);
    if (line.empty()) {
      sentences.push_back(std::move(sentence));
      sentence.clear();
      continue;
    }
    Token& token = sentence.emplace_back();
    while (!line.empty()) token.emplace_back(take_to('\t', line));
  }
  return sentences;
}

}  // namespace margrove
