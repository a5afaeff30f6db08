#include "outputs/tree/conllu_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/out_of_time.hpp"
#include "counted_seconds.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;
using std::string_literals::operator""s;

std::string word(std::string_view id, std::string_view head, std::string_view relation = "dep") {
  return concat(id, "\tw", id, "\tl\tU\tX\tF\t", head, "\t", relation, "\t_\t_\n");
}
std::string conllu_error(std::string_view text) {
  return message_of([&] { parse_conllu(text, "f"); });
}

TEST(ConlluReader, asks_for_the_time_and_bounds_lines) {
  std::string lines;
  while (lines.size() < 10'000'000) lines += word("1", "0", "root") + "\n";
  constexpr long kLimit = 5;
  RunControl control(nullptr, 1e-3 * (kLimit - 0.5), &testing_clock::counted_seconds);
  const long before = testing_clock::questions;
  EXPECT_EQ(message_of<OutOfTimeLimit>([&] { parse_conllu(lines, "f", {}, &control); }),
            "f: the time limit ended reading; nothing is trained");
  EXPECT_LE(testing_clock::questions - before, kLimit);
  lines = "# " + std::string(40'000'000, 'x') + "\n" + word("1", "0", "root") + "\n";
  RunControl small;
  small.limit_memory(2e8);
  EXPECT_THAT(message_of([&] { parse_conllu(lines, "f", {}, &small); }),
              ::testing::StartsWith("f:1: the line has "));
  small.limit_memory(4e8);
  EXPECT_NO_THROW(parse_conllu(lines, "f", {}, &small));
}

TEST(ConlluReader, reads_words_and_trees) {
  const DependencyCorpus corpus = parse_conllu(
      "# text\n" + word("1-2", "_", "_") + word("1", "2") + word("2", "0", "root") +
          word("2.1", "_", "_") + word("3", "2", "obj:x") + "\r\n" + word("1", "0", "root"),
      "f");
  ASSERT_EQ(corpus.sentences.size(), 2U);
  EXPECT_THAT(corpus.sentences[0].forms, ElementsAre("w1", "w2", "w3"));
  EXPECT_THAT(corpus.sentences[0].heads, ElementsAre(2U, 0U, 2U));
  EXPECT_THAT(corpus.sentences[0].relations, ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(corpus.relations.names(), ElementsAre("dep", "root", "obj:x"));
  EXPECT_THAT(corpus.sentences[1].heads, ElementsAre(0U));
}

TEST(ConlluReader, trees_may_be_missing) {
  const DependencyCorpus corpus =
      parse_conllu(word("1", "_", "_") + word("2", "_", "_"), "f", {.has_trees = false});
  EXPECT_EQ(corpus.sentences[0].num_words(), 2U);
  EXPECT_TRUE(corpus.sentences[0].heads.empty());
}

TEST(ConlluReader, errors_say_where_and_what) {
  EXPECT_EQ(conllu_error("# only\n"), "f: the file has no sentence, but must have at least one");
  EXPECT_EQ(conllu_error("1\ta\n"),
            "f:1:4: the line has 2 columns, but must have 10 separated by tabs");
  EXPECT_EQ(conllu_error("1\t\tl\tU\tX\tF\t0\troot\t_\t_\n"), "f:1:3: column 2 is empty");
  EXPECT_EQ(conllu_error(word("1", "0") + word("3", "1")),
            "f:2:1: word number is '3', but must be 2");
  EXPECT_EQ(conllu_error(word("x", "0")), "f:1:1: word number is 'x', but must be 1");
  EXPECT_EQ(conllu_error(word("1", "_")),
            "f:1:14: head is '_', but must be the number of a word or 0");
  EXPECT_EQ(conllu_error(word("1", "1")),
            "f:1:14: word 1 is its own head, but must have another one");
  EXPECT_EQ(conllu_error(word("1", "0", "_")), "f:1:16: relation is missing");
  EXPECT_EQ(conllu_error(word("1", "0") + word("2", "7")),
            "f:2:14: head is 7, but the sentence has 2 words");
  EXPECT_EQ(conllu_error(word("1", "0") + word("2", "0")),
            "f:2:14: word 2 is a second root after word 1, but a sentence must have one");
  EXPECT_EQ(conllu_error(word("1", "2") + word("2", "1")),
            "f:1:14: the sentence has no root, but must have one");
  EXPECT_EQ(conllu_error(word("1", "0") + word("2", "3") + word("3", "2")),
            "f:2:14: word 2 is below itself, but heads must form a tree");
  EXPECT_EQ(conllu_error("1\t\xFF\n"), "f:1:3: byte is '\\xff', but the text must be valid UTF-8");
  EXPECT_EQ(conllu_error("1\ta\0\n"s), "f:1:4: the line has a NUL byte, but must be UTF-8 text");
}

TEST(Projective, equals_the_check_of_every_pair_of_arcs) {
  // All head vectors of up to four words that are trees.
  for (std::uint32_t n = 1; n <= 4; ++n) {
    std::vector<std::uint32_t> heads(n, 0);
    for (;;) {
      const auto is_below_root = [&](std::uint32_t word) {
        for (std::uint32_t step = 0; step < n && word != 0; ++step) word = heads[word - 1];
        return word == 0;
      };
      bool is_tree = true;
      for (std::uint32_t word = 1; word <= n; ++word) is_tree = is_tree && is_below_root(word);
      bool crossing = false;
      for (std::uint32_t a = 1; a <= n; ++a) {
        for (std::uint32_t b = 1; b <= n; ++b) {
          const auto [a1, a2] = std::minmax(a, heads[a - 1]);
          const auto [b1, b2] = std::minmax(b, heads[b - 1]);
          crossing |= a1 < b1 && b1 < a2 && a2 < b2;
        }
      }
      if (is_tree) {
        EXPECT_EQ(is_projective(heads), !crossing) << ::testing::PrintToString(heads);
      }
      std::uint32_t k = 0;
      while (k < n && ++heads[k] > n) heads[k++] = 0;
      if (k == n) break;
    }
  }
}

TEST(ConlluReader, reads_real_data) {
  const auto train = testing::data_file("ud-english-ewt/train.conllu");
  const auto dev = testing::data_file("ud-english-ewt/dev.conllu");
  if (!train || !dev) GTEST_SKIP() << "skipped: no data";
  const auto sizes = [](const DependencyCorpus& corpus) {
    std::size_t num_words = 0;
    std::size_t num_projective = 0;
    for (const auto& sentence : corpus.sentences) {
      num_words += sentence.num_words();
      num_projective += is_projective(sentence.heads) ? 1 : 0;
    }
    return std::tuple(corpus.sentences.size(), num_words, num_projective);
  };
  EXPECT_EQ(sizes(read_conllu(*train)), std::tuple(12544U, 204577U, 12256U));
  EXPECT_EQ(sizes(read_conllu(*dev)), std::tuple(2001U, 25147U, 1970U));
}

}  // namespace
}  // namespace margrove
