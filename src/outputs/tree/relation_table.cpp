#include "outputs/tree/relation_table.hpp"

#include <algorithm>

#include "data/word_form.hpp"

namespace margrove {
namespace {

// The index of an arc's relation in a table.
std::size_t relation_slot(const ParserSentence& sentence, std::size_t head, std::size_t word,
                          std::size_t table_size) {
  std::uint64_t key = sentence.tags[word - 1] * 0x9E3779B97F4A7C15ULL;
  key ^= sentence.fine_tags[word - 1] * 0xC2B2AE3D27D4EB4FULL;
  key ^= (head == 0 ? 1 : sentence.tags[head - 1]) * 0x165667B19E3779F9ULL;
  key ^= head < word ? 0x27D4EB2F165667C5ULL : 0;
  return (key ^ (key >> 31U)) & (table_size - 1);
}

}  // namespace

ParserSentence parser_sentence(const DependencySentence& sentence) {
  ParserSentence out;
  for (std::size_t k = 0; k < sentence.num_words(); ++k) {
    out.forms.push_back(hash_text(sentence.forms[k]));
    out.tags.push_back(hash_text(sentence.upos[k]));
    out.fine_tags.push_back(hash_text(sentence.xpos[k]));
    const std::string form = lower_case(sentence.forms[k], Alphabet::ascii);
    const bool has_lemma = sentence.lemmas[k] != "_";
    out.lemmas.push_back(hash_text(has_lemma ? sentence.lemmas[k] : form));
    out.morphology.push_back(hash_text(sentence.features[k]));
    out.endings.push_back(hash_text(affix(form, 3, true)));
  }
  return out;
}

RelationTable RelationTable::count(const DependencyCorpus& corpus) {
  constexpr std::size_t kSize = std::size_t{1} << 14;
  std::vector<std::vector<std::uint32_t>> counts(kSize);
  std::vector<std::uint32_t> all(corpus.relations.size(), 0);
  for (const auto& sentence : corpus.sentences) {
    const ParserSentence words = parser_sentence(sentence);
    for (std::size_t k = 0; k < sentence.heads.size(); ++k) {
      auto& slot = counts[relation_slot(words, sentence.heads[k], k + 1, kSize)];
      slot.resize(corpus.relations.size(), 0);
      ++slot[sentence.relations[k]];
      ++all[sentence.relations[k]];
    }
  }
  const auto most = [](const std::vector<std::uint32_t>& c) {
    return static_cast<std::uint32_t>(std::max_element(c.begin(), c.end()) - c.begin());
  };
  std::vector<std::uint32_t> table(kSize);
  for (std::size_t k = 0; k < kSize; ++k) table[k] = most(counts[k].empty() ? all : counts[k]);
  return RelationTable(std::move(table));
}

std::uint32_t RelationTable::relation(const ParserSentence& sentence, std::size_t head,
                                      std::size_t word) const {
  return relations_[relation_slot(sentence, head, word, relations_.size())];
}

}  // namespace margrove
