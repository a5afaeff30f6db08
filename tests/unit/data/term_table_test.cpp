#include "data/term_table.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"

namespace margrove {
namespace {

TEST(TermTable, names_read_back_as_their_terms) {
  for (const Term& term : {Term{"cat"}, Term{"the cat"}, Term{" ca", true}, Term{"", true}}) {
    const std::string name = term.name();
    const Term again = Term::of_name(name);
    EXPECT_EQ(again.characters, term.characters);
    EXPECT_EQ(again.is_run, term.is_run);
  }
  EXPECT_EQ((Term{"at ", true}).name(), "'at '");
}

TEST(TermTable, numbers_terms_as_they_come) {
  Random random(1);
  TermTable table;
  std::map<std::pair<std::string, bool>, std::uint32_t> expected;
  for (int step = 0; step < 20'000; ++step) {
    std::string characters;
    for (std::size_t size = random.below(21); size > 0; --size) {
      characters += static_cast<char>('a' + random.below(2));
    }
    const bool is_run = random.below(2) == 1;
    const auto next = static_cast<std::uint32_t>(expected.size());
    const auto [at, is_new] = expected.try_emplace({characters, is_run}, next);
    EXPECT_EQ(table.find({characters, is_run}), is_new ? TermTable::kNone : at->second);
    EXPECT_EQ(table.find_or_add({characters, is_run}), at->second);
  }
  EXPECT_EQ(table.size(), expected.size());
  for (const auto& [key, number] : expected) {
    EXPECT_EQ(table.find({key.first, key.second}), number);
    EXPECT_EQ(table.term(number).characters, key.first);
    EXPECT_EQ(table.term(number).is_run, key.second);
  }
}

TEST(DelayedTerms, come_all_and_in_their_order) {
  const TermTable table;
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 100U}) {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < count; ++k) names.push_back(std::to_string(k));
    std::vector<std::string> visited;
    DelayedTerms delayed(
        table, [&](const Term& term, std::uint64_t) { visited.emplace_back(term.characters); });
    for (int round = 0; round < 2; ++round) {
      for (const std::string& name : names) delayed.add({name});
      delayed.finish();
      EXPECT_EQ(visited, names);
      visited.clear();
    }
  }
}

}  // namespace
}  // namespace margrove
