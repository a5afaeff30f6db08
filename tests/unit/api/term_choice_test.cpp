#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "margrove/margrove.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The ends of words decide, so that terms must have characters.
Examples texts_with_ends() {
  std::string lines;
  for (const char* stem : {"walk", "talk", "jump", "work", "play", "call", "look", "help"}) {
    lines += std::string("verb\tthey ") + stem + "ing\nnoun\tthey " + stem + "er\n";
  }
  return parse_text(lines, "texts");
}

TEST(Terms, are_chosen_by_train_and_tune_and_choose) {
  TrainingData data{.rows = texts_with_ends()};
  data.tfidf.terms = TextTerms::Choice::automatic;
  const TuneOptions tuning{.grid = {"C=1,10"}, .folds = 2, .metric = "accuracy"};
  const Model model = train(FlatSvmOptions{}, data);
  const Model tuned = tune(FlatSvmOptions{}, data, tuning).model;
  const Model best = choose(data).model;
  for (const Model* each : {&model, &tuned, &best}) {  // terms ascend by bytes
    EXPECT_TRUE(each->feature_name(0).starts_with("'")) << each->feature_name(0);
  }
}

TEST(Terms, that_contradict_each_other_throw) {
  TrainingData data{.rows = texts_with_ends()};
  data.tfidf.terms = TextTerms::Choice::automatic;
  EXPECT_THAT([&] { tune(FlatSvmOptions{}, data, {.grid = {"word_ngrams=1,2"}}); },
              ThrowsMessage<InvalidOption>(HasSubstr("option word_ngrams is given, too, in the")));
  data.tfidf.word_ngrams = {2, 2};
  EXPECT_THAT([&] { train(FlatSvmOptions{}, data); },
              ThrowsMessage<InvalidOption>(HasSubstr("option word_ngrams is given, too")));
  data.tfidf.word_ngrams = TfidfOptions{}.word_ngrams;
  data.rows = Dataset{};
  EXPECT_THAT([&] { train(FlatSvmOptions{}, data); },
              ThrowsMessage<InvalidOption>(HasSubstr("but the rows have no texts")));
}

}  // namespace
}  // namespace margrove
