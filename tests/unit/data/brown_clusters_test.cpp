#include "data/brown_clusters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/out_of_time.hpp"
#include "base/random.hpp"

namespace margrove {
namespace {

using Sentences = std::vector<std::vector<std::uint32_t>>;

/// Sentences of Markov chains in which each word has its own followers; words are numbered by
/// falling frequency.
Sentences random_sentences(std::uint64_t seed, std::uint32_t num_words, std::size_t length) {
  Random random(seed);
  std::vector<std::vector<double>> weights(num_words, std::vector<double>(num_words));
  for (auto& row : weights) {
    for (std::size_t b = 0; b < num_words; ++b) {
      row[b] = std::exp(2 * random.normal()) / static_cast<double>(b + 1);
    }
  }
  const auto draw = [&](const std::vector<double>& row) {
    double rest = random.uniform();
    double sum = 0;
    for (const double w : row) sum += w;
    rest *= sum;
    std::uint32_t b = 0;
    while (b + 1 < num_words && rest >= row[b]) rest -= row[b++];
    return b;
  };
  Sentences sentences(length / 20);
  std::vector<double> counts(num_words, 0.0);
  for (auto& sentence : sentences) {
    std::uint32_t word = static_cast<std::uint32_t>(random.below(num_words));
    for (int t = 0; t < 20; ++t) {
      sentence.push_back(word);
      counts[word] += 1;
      word = draw(weights[word]);
    }
  }
  std::vector<std::uint32_t> order(num_words), rank(num_words);
  for (std::uint32_t k = 0; k < num_words; ++k) order[k] = k;
  std::ranges::stable_sort(order, [&](auto a, auto b) { return counts[a] > counts[b]; });
  for (std::uint32_t k = 0; k < num_words; ++k) rank[order[k]] = k;
  for (auto& sentence : sentences) {
    for (auto& word : sentence) word = rank[word];
  }
  return sentences;
}

/// The definition: sum_ab n_ab log n_ab - sum_a f_a log c_a over the words that have entered.
double information(const Sentences& sentences, const std::vector<int>& cluster_of) {
  std::map<std::pair<int, int>, double> pairs;
  std::map<int, double> neighbours, words;
  for (const auto& sentence : sentences) {
    for (std::size_t t = 0; t < sentence.size(); ++t) {
      const int a = cluster_of[sentence[t]];
      if (a < 0) continue;
      words[a] += 1;
      if (t + 1 == sentence.size()) continue;
      const int b = cluster_of[sentence[t + 1]];
      if (b < 0) continue;
      pairs[{a, b}] += 1;
      neighbours[a] += 1;
      neighbours[b] += 1;
    }
  }
  double sum = 0;
  for (const auto& [pair, n] : pairs) sum += n * std::log(n);
  for (const auto& [a, f] : neighbours) sum -= f * std::log(words[a]);
  return sum;
}

/// The same algorithm with the information computed anew for each possible union.
std::vector<std::string> slow_clusters(const Sentences& sentences, std::uint32_t num_words,
                                       std::uint32_t num_clusters) {
  std::vector<int> cluster_of(num_words, -1);
  std::vector<std::string> paths(num_words);
  const auto closest = [&](const std::vector<int>& used) {
    std::pair<int, int> best{-1, -1};
    double most = -std::numeric_limits<double>::infinity();
    for (const int a : used) {
      for (const int b : used) {
        if (a >= b) continue;
        std::vector<int> joined = cluster_of;
        for (int& c : joined) c = c == b ? a : c;
        const double value = information(sentences, joined);
        if (value > most + 1e-9) {
          most = value;
          best = {a, b};
        }
      }
    }
    return best;
  };
  std::vector<int> used;
  for (std::uint32_t word = 0; word < num_words; ++word) {
    int place = 0;
    while (std::ranges::find(used, place) != used.end()) ++place;
    used.push_back(place);
    std::ranges::sort(used);
    cluster_of[word] = place;
    if (word < num_clusters) continue;
    const auto [a, b] = closest(used);
    for (int& c : cluster_of) c = c == b ? a : c;
    std::erase(used, b);
  }
  while (used.size() > 1) {
    const auto [a, b] = closest(used);
    for (std::uint32_t word = 0; word < num_words; ++word) {
      if (cluster_of[word] == a) paths[word].insert(paths[word].begin(), '0');
      if (cluster_of[word] == b) paths[word].insert(paths[word].begin(), '1');
    }
    for (int& c : cluster_of) c = c == b ? a : c;
    std::erase(used, b);
  }
  return paths;
}

TEST(BrownClusters, are_those_of_the_definition) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Sentences sentences = random_sentences(seed, 14, 1500);
    for (const std::uint32_t num_clusters : {1U, 2U, 4U, 7U, 30U}) {
      SCOPED_TRACE(num_clusters);
      EXPECT_EQ(brown_clusters(sentences, 14, num_clusters),
                slow_clusters(sentences, 14, std::min(num_clusters, 14U)));
    }
  }
}

TEST(BrownClusters, words_with_the_same_neighbours_are_together) {
  // Articles 0 and 1 stand before nouns 2 to 5, and verbs 6 to 8 behind these.
  Random random(1);
  Sentences sentences(600);
  for (auto& sentence : sentences) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random.below(n)); };
    sentence = {below(2), 2 + below(4), 6 + below(3), below(2), 2 + below(4)};
  }
  const auto paths = brown_clusters(sentences, 9, 3);
  for (const auto& [first, end] : {std::pair{0U, 2U}, {2U, 6U}, {6U, 9U}}) {
    for (std::uint32_t word = 0; word < 9; ++word) {
      EXPECT_EQ(paths[word] == paths[first], first <= word && word < end) << word;
    }
  }
}

TEST(BrownClusters, of_few_words_and_of_none) {
  EXPECT_TRUE(brown_clusters({}, 0, 5).empty());
  EXPECT_EQ(brown_clusters(Sentences{{0}}, 1, 5), std::vector<std::string>{""});
  EXPECT_EQ(brown_clusters(Sentences{{0, 7, 1}}, 2, 5), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(brown_clusters(Sentences{{0, 1, 2}}, 3, 1), (std::vector<std::string>{"", "", ""}));
}

TEST(BrownClusters, end_when_they_are_asked_to) {
  RunControl control;
  control.interrupt();
  EXPECT_THROW(brown_clusters(random_sentences(1, 14, 400), 14, 3, &control), OutOfTime);
}

}  // namespace
}  // namespace margrove
