#include "data/zipf_text.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace margrove {
namespace {
/// Streams of the seed: one for the hierarchy and the ranks, one for topics, one for each row.
constexpr std::uint64_t kProblemStream = 0;
constexpr std::uint64_t kTopicStream = 1;
constexpr std::uint64_t kFirstTextStream = 2;
/// Every such row has a label of the next rank.
constexpr std::uint64_t kRowsPerRank = 4;
constexpr std::uint32_t kFewestTopicWords = 10;

std::vector<std::uint32_t> permutation(std::uint32_t size, Random& random) {
  std::vector<std::uint32_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0U);
  random.shuffle(std::span(numbers));
  return numbers;
}

/// A whole number whose mean is `mean`: one of the two beside it.
std::uint32_t draw_beside(double mean, Random& random) {
  const double floor = std::floor(mean);
  return static_cast<std::uint32_t>(floor) + (random.uniform() < mean - floor ? 1 : 0);
}

/// Knuth's method, for small means.
std::uint32_t draw_poisson(double mean, Random& random) {
  const double end = std::exp(-mean);
  std::uint32_t count = 0;
  for (double product = random.uniform(); product > end; product *= random.uniform()) ++count;
  return count;
}

ZipfTextOptions checked(const ZipfTextOptions& options) {
  validate(options);
  const double most_nonzeros = options.num_features / 4.0, most_labels = options.num_labels / 2.0;
  require<InvalidOption>(options.mean_nonzeros <= most_nonzeros, "option mean_nonzeros is ",
                         options.mean_nonzeros, ", but must be at most a quarter of num_features, ",
                         most_nonzeros);
  require<InvalidOption>(options.mean_labels <= most_labels, "option mean_labels is ",
                         options.mean_labels, ", but must be at most half of num_labels, ",
                         most_labels);
  return options;
}
}  // namespace

ZipfText::ZipfText(const ZipfTextOptions& options)
    : options_(checked(options)),
      label_ranks_(
          zipf_table(static_cast<std::uint32_t>(options.num_labels), options.label_exponent)),
      word_ranks_(
          zipf_table(static_cast<std::uint32_t>(options.num_features), options.word_exponent)),
      counts_(static_cast<std::size_t>(options.num_features)) {
  Random random(options.seed, kProblemStream);
  topic_seed_ = Random(options.seed, kTopicStream).next();
  label_of_rank_ = permutation(static_cast<std::uint32_t>(options.num_labels), random);
  word_of_rank_ = permutation(static_cast<std::uint32_t>(options.num_features), random);
  make_levels();
  draw_parents(random);
  name_nodes();
}

// The hierarchy ----------------------------------------------------------------------------------

void ZipfText::make_levels() {
  std::vector<Node> sizes{static_cast<Node>(options_.num_labels)};  // from the leaves upwards
  while (sizes.back() > 1) {
    sizes.push_back(
        static_cast<Node>(std::max(1.0, std::round(sizes.back() / options_.branching))));
  }
  std::ranges::reverse(sizes);
  level_starts_.push_back(0);
  for (const Node size : sizes) level_starts_.push_back(level_starts_.back() + size);
  const auto num_words = static_cast<std::uint32_t>(options_.num_features);
  for (std::size_t level = 1; level < sizes.size(); ++level) {
    const std::uint32_t topic_words = std::max(num_words / sizes[level], kFewestTopicWords);
    topic_ranks_.push_back(zipf_table(topic_words, options_.word_exponent));
  }
}

void ZipfText::draw_parents(Random& random) {
  parent_starts_ = {0, 0};  // the root has none
  for (std::size_t level = 1; level + 1 < level_starts_.size(); ++level) {
    for (Node node = level_starts_[level]; node < level_starts_[level + 1]; ++node) {
      add_parents(node, level, random);
      parent_starts_.push_back(parents_.size());
    }
  }
}

void ZipfText::add_parents(Node node, std::size_t level, Random& random) {
  const Node above = level_starts_[level - 1];
  const Node num_above = level_starts_[level] - above;
  const Node place = node - level_starts_[level];
  const std::size_t begin = parents_.size();
  // Each node above has a child.
  parents_.push_back(above +
                     (place < num_above ? place : static_cast<Node>(random.below(num_above))));
  const std::size_t count = std::min(draw_beside(options_.mean_parents, random), num_above);
  while (parents_.size() < begin + count) {
    const Node parent = above + static_cast<Node>(random.below(num_above));
    const auto own = std::span(parents_).subspan(begin);
    if (std::ranges::find(own, parent) == own.end()) parents_.push_back(parent);
  }
}

void ZipfText::name_nodes() {
  hierarchy_.source = "zipf";
  const Node num_nodes = level_starts_.back();
  for (Node node = 0; node < num_nodes; ++node) hierarchy_.codec.add(concat(node + 1));
  for (Node node = 1; node < num_nodes; ++node) {
    for (std::size_t k = parent_starts_[node]; k < parent_starts_[node + 1]; ++k) {
      hierarchy_.edges.push_back({parents_[k], node});
    }
  }
  const Node first_leaf = num_nodes - static_cast<Node>(options_.num_labels);
  for (Node leaf = first_leaf; leaf < num_nodes; ++leaf) {
    codec_.add(hierarchy_.codec.name(leaf));
  }
}

// Rows -------------------------------------------------------------------------------------------

ZipfText::Row ZipfText::row(std::uint64_t number) {
  Random random(options_.seed, kFirstTextStream + number);
  draw_labels(number, random);
  draw_words(random);
  return {labels_, {columns_, values_}};
}

void ZipfText::draw_labels(std::uint64_t number, Random& random) {
  const std::uint64_t rank = number / kRowsPerRank;
  const bool has_label_of_rank = number % kRowsPerRank == 0 && rank < label_of_rank_.size();
  labels_ = {label_of_rank_[has_label_of_rank ? rank : label_ranks_.draw(random)]};
  if (options_.mean_labels == 1) return;
  // A steep law repeats its first labels: then a row has fewer than it has draws.
  const std::uint32_t further = draw_poisson(options_.mean_labels - 1, random);
  for (std::uint32_t k = 0; k < further; ++k) {
    constexpr int kMostDraws = 100;
    for (int draws = 0; draws < kMostDraws; ++draws) {
      const LabelId label = label_of_rank_[label_ranks_.draw(random)];
      if (std::ranges::find(labels_, label) != labels_.end()) continue;
      labels_.push_back(label);
      break;
    }
  }
  std::ranges::sort(labels_);
}

std::size_t ZipfText::draw_length(Random& random) const {
  constexpr double kSpread = 0.5;  // standard deviation of the logarithm
  const double factor = std::exp(kSpread * random.normal() - kSpread * kSpread / 2);  // of mean 1
  return static_cast<std::size_t>(
      std::clamp(std::round(options_.mean_nonzeros * factor), 1.0, options_.num_features / 2.0));
}

void ZipfText::count_word(FeatureId word) {
  if (counts_[word]++ == 0) columns_.push_back(word);
}

void ZipfText::draw_words(Random& random) {
  columns_.clear();
  values_.clear();
  const std::size_t length = draw_length(random);
  // Where the law is so steep that draws repeat a few words, any others make up the length.
  constexpr std::size_t kMostDrawsPerWord = 8;
  for (std::size_t left = kMostDrawsPerWord * length; left > 0 && columns_.size() < length;
       --left) {
    count_word(random.uniform() < options_.topic_share ? topic_word(random)
                                                       : word_of_rank_[word_ranks_.draw(random)]);
  }
  while (columns_.size() < length) {
    count_word(static_cast<FeatureId>(random.below(counts_.size())));
  }
  std::ranges::sort(columns_);
  for (const FeatureId word : columns_) {
    values_.push_back(static_cast<float>(counts_[word]));
    counts_[word] = 0;
  }
}

FeatureId ZipfText::topic_word(Random& random) const {
  const std::size_t deepest = topic_ranks_.size();
  Node node = level_starts_[deepest] + labels_[random.below(labels_.size())];
  const std::size_t level = 1 + random.below(deepest);
  for (std::size_t below = deepest; below > level; --below) {
    const std::size_t begin = parent_starts_[node], count = parent_starts_[node + 1] - begin;
    node = parents_[begin + (count == 1 ? 0 : random.below(count))];
  }
  // Lists of words are made where they are needed: all of them would be num_features for each
  // level.
  const std::uint64_t rank = topic_ranks_[level - 1].draw(random);
  Random word(topic_seed_, (std::uint64_t{node} << 32U) + rank);
  return static_cast<FeatureId>(word.below(counts_.size()));
}

}  // namespace margrove
