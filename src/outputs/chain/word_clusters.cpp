#include "outputs/chain/word_clusters.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/text_slots.hpp"
#include "data/brown_clusters.hpp"
#include "data/word_form.hpp"

namespace margrove {

Alphabet alphabet_of(const ColumnCorpus& corpus) {
  const auto is_ascii = [](const std::string& word) {
    return std::ranges::none_of(word, [](char c) { return (c & 0x80) != 0; });
  };
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    for (std::size_t t = 0; t < corpus.num_tokens(i); ++t) {
      if (!is_ascii(corpus.cell(i, t, 0))) return Alphabet::unicode;
    }
  }
  return Alphabet::ascii;
}

WordClusters::WordClusters(std::vector<std::string> words, std::vector<std::string> paths)
    : words_(std::move(words)), paths_(std::move(paths)) {
  for (std::uint32_t id = 0; id < words_.size(); ++id) {
    add_number(slots_, id, id + std::size_t{1}, ListedTexts{words_});
  }
}

WordClusters WordClusters::learn(const ColumnCorpus& corpus, std::uint32_t num_clusters,
                                 RunControl& control) {
  const Alphabet alphabet = alphabet_of(corpus);
  std::unordered_map<std::string, std::uint32_t> found;
  std::vector<const std::string*> texts;
  std::vector<std::vector<std::uint32_t>> sentences;
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    auto& ids = sentences.emplace_back();
    for (std::size_t t = 0; t < corpus.num_tokens(i); ++t) {
      const auto id = static_cast<std::uint32_t>(found.size());
      const auto [at, is_new] = found.try_emplace(lower_case(corpus.cell(i, t, 0), alphabet), id);
      if (is_new) {
        texts.push_back(&at->first);
        counts.push_back(0);
      }
      ++counts[at->second];
      ids.push_back(at->second);
    }
  }
  // By falling frequency; of equally frequent words the first in the order of bytes.
  std::vector<std::uint32_t> order(texts.size()), rank(texts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : *texts[a] < *texts[b];
  });
  for (std::uint32_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
  for (auto& ids : sentences) {
    for (std::uint32_t& id : ids) id = rank[id];
  }
  const auto num_words = static_cast<std::uint32_t>(
      std::ranges::count_if(counts, [](std::uint32_t count) { return count > 1; }));
  std::vector<std::string> words;
  for (std::uint32_t k = 0; k < num_words; ++k) words.push_back(*texts[order[k]]);
  return {std::move(words), brown_clusters(sentences, num_words, num_clusters, &control)};
}

const std::string* WordClusters::path_of(std::string_view word) const {
  const std::uint32_t id = find_number(slots_, word, ListedTexts{words_});
  return id != kFreeSlot ? &paths_[id] : nullptr;
}

}  // namespace margrove
