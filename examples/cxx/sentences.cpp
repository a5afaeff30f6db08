// Tags sentences in memory: trains a chain, saves it, and answers.
#include <cstdio>
#include <margrove/margrove.hpp>

int main() try {
  const std::vector<margrove::Sentence> train{
      {{"the", "DET"}, {"cat", "NOUN"}, {"sleeps", "VERB"}},
      {{"a", "DET"}, {"dog", "NOUN"}, {"barks", "VERB"}},
      {{"dogs", "NOUN"}, {"run", "VERB"}},
  };
  margrove::train_sentences(train, {{"model", "chain"}, {"C", "1"}}).save("tagger.model");

  const margrove::Model model = margrove::Model::load("tagger.model");
  const std::vector<margrove::Sentence> answers =
      model.predict_sentences(std::vector<margrove::Sentence>{{{"a"}, {"cat"}, {"runs"}}});
  for (const margrove::Token& token : answers[0]) std::printf("%s\n", token[0].c_str());
  for (const auto& [name, value] : model.evaluate_sentences(train)) {
    std::printf("%s %.2f\n", name.c_str(), value);
  }
} catch (const margrove::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
