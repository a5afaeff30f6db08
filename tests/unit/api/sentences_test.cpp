// Sentences in memory, by the public headers alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files.hpp"
#include "margrove/margrove.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<Sentence> kTagged{{{"the", "D"}, {"cat", "N"}, {"sleeps", "V"}},
                                    {{"a", "D"}, {"dog", "N"}, {"barks", "V"}}};
const std::vector<Sentence> kUntagged{{{"the"}, {"cat"}, {"sleeps"}}, {{"a"}, {"dog"}, {"barks"}}};
const std::vector<Sentence> kTrees{{{"the", "the", "DET", "2", "det"},
                                    {"dog", "dog", "NOUN", "3", "nsubj"},
                                    {"runs", "run", "VERB", "0", "root"}}};

TEST(Sentences, are_trained_and_answered_as_a_file_is) {
  const std::string columns = "the\tD\ncat\tN\nsleeps\tV\n\na\tD\ndog\tN\nbarks\tV\n\n";
  const testing::ScratchFolder folder;
  const std::string file = folder / "tagged";
  testing::write_bytes(file, columns);
  const Model model = train_sentences(kTagged), same = train_sentences(file);
  model.save(folder / "of_memory");
  same.save(folder / "of_file");
  EXPECT_EQ(testing::read_bytes(folder / "of_memory"), testing::read_bytes(folder / "of_file"));
  std::string lines;
  for (const Sentence& answer : model.predict_sentences(kUntagged)) {
    for (const Token& token : answer) lines += token.at(0) + "\n";
    lines += "\n";
  }
  EXPECT_EQ(lines, model.predict_file(file));
  EXPECT_EQ(model.evaluate_sentences(kTagged)[0].first, "token_accuracy");
  EXPECT_EQ(model.evaluate_sentences(kTagged)[0].second, 1);
}

TEST(Sentences, of_trees_have_heads_and_relations) {
  const Model model = train_sentences(kTrees, {{"model", "dependency"}});
  const std::vector<Sentence> words{{{"the", "the", "DET"}, {"dog"}, {"runs", "run", "VERB"}}};
  const std::vector<Sentence> answers = model.predict_sentences(words);
  ASSERT_EQ(answers[0].size(), 3U);
  EXPECT_EQ(answers[0][0], (Token{"2", "det"}));
}

// What a file would read as the end of a sentence, a comment or two columns is a token in memory.
TEST(Sentences, have_any_token) {
  const Model model = train_sentences(kTagged);
  const std::vector<Sentence> odd{{{"-DOCSTART-"}, {"New York"}, {"#"}, {"# x"}}, {{" "}}};
  const std::vector<Sentence> answers = model.predict_sentences(odd);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].size(), 4U);
  EXPECT_EQ(answers[1].size(), 1U);
}

TEST(Sentences, are_tuned_on_splits_of_them) {
  std::vector<Sentence> many;
  for (int k = 0; k < 6; ++k) many.insert(many.end(), kTagged.begin(), kTagged.end());
  const TuneOptions tuning{.grid = {"C=0.01,1"}, .folds = 2};
  const Tuned tuned = tune_sentences(many, {{"C", "7"}}, tuning);
  ASSERT_EQ(tuned.points.size(), 2U);
  EXPECT_EQ(tuned.points[0].scores.size(), 2U);
  EXPECT_EQ(tuned.points[tuned.best].mean, 1);
  const Model same = train_sentences(many, tuned.points[tuned.best].values);
  EXPECT_EQ(tuned.model.predict_sentences(kUntagged), same.predict_sentences(kUntagged));
  EXPECT_THAT(
      [&] { tune_sentences(std::vector<Sentence>{kTagged[0]}); },
      ThrowsMessage<InvalidOption>(HasSubstr("option folds is 3, but there is only 1 row")));
  EXPECT_THAT([&] { tune_sentences(many, {}, {.grid = {"C=1"}, .metric = "las"}); },
              ThrowsMessage<InvalidOption>(HasSubstr("metric is 'las', but must be one of")));
}

TEST(Sentences, with_one_tag_train_with_a_warning) {
  const Model model = train_sentences(std::vector<Sentence>{{{"a", "_"}, {"b", "_"}}});
  EXPECT_THAT(model.report().warnings,
              ::testing::Contains(HasSubstr("all tokens have the tag '_'")));
}

TEST(Sentences, errors_name_sentence_and_token) {
  const auto fault = [](const std::vector<Sentence>& sentences, const std::string& model) {
    try {
      train_sentences(sentences, {{"model", model}});
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(fault({}, "chain"), HasSubstr("sentences: there is no sentence"));
  EXPECT_THAT(fault({{{"a", "A"}}, {}}, "chain"), HasSubstr("sentence 1 has no tokens"));
  EXPECT_THAT(fault({{{"a", "A"}, {}}}, "chain"),
              HasSubstr("sentences: sentence 0, token 1: the token has no columns"));
  EXPECT_THAT(fault({{{"a"}}}, "chain"), HasSubstr("token 0: it has one column"));
  EXPECT_THAT(fault({{{"a", "A"}, {"b", "x", "B"}}}, "chain"),
              HasSubstr("token 1: it has 3 columns, but must have 2 like sentence 0, token 0"));
  EXPECT_THAT(fault({{{"a", "x:inf", "A"}}}, "chain"), HasSubstr("its number must be finite"));
  EXPECT_THAT(fault({{{"a\n", "A"}}}, "chain"), HasSubstr("without tabs, line ends"));
  EXPECT_THAT(fault({{{"\xff", "A"}}}, "chain"), HasSubstr("must be valid UTF-8"));
  EXPECT_THAT(fault({{{"", "A"}}}, "chain"), HasSubstr("column 1 is empty"));
  EXPECT_THAT(fault({{{"a", "1"}}}, "dependency"), HasSubstr("the word has 2 columns"));
  EXPECT_THAT(fault({{{"a", "1", "x"}}}, "dependency"), HasSubstr("word 1 is its own head"));
  EXPECT_THAT(fault({{{"a", "0", "r"}, {"b", "0", "r"}}}, "dependency"),
              HasSubstr("sentences: sentence 0, token 1: word 2 is a second root"));
  EXPECT_THAT(fault({{{"a", "0", "_"}}}, "dependency"), HasSubstr("relation is missing"));
  EXPECT_THAT(
      [] {
        train_sentences(kTagged, {{"model", "hierarchy"}});
      },
      ThrowsMessage<InvalidOption>(HasSubstr("takes rows")));
  EXPECT_THAT([] { train_sentences(kTagged).predict_sentences(kTagged); },
              ThrowsMessage<InvalidInput>(HasSubstr("tokens have 2 columns, but must have 1")));
  const Model rows = train(FlatLrOptions{}, {.rows = testing::grouped_rows(20, 3)});
  EXPECT_THAT([&] { rows.predict_sentences(kTagged); },
              ThrowsMessage<InvalidInput>(HasSubstr("must be one of sentences")));
}

}  // namespace
}  // namespace margrove
