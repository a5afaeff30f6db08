#include "data/brown_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/out_of_time.hpp"

namespace margrove {
namespace {

/// Logarithms of counts, most of which are small.
class CountLogs {
 public:
  CountLogs() : logs_(kSize, 0.0) {
    for (std::size_t n = 1; n < kSize; ++n) logs_[n] = std::log(static_cast<double>(n));
  }
  double log(double n) const {
    return n < kSize ? logs_[static_cast<std::size_t>(n)] : std::log(n);
  }
  /// n log n, 0 for n = 0.
  double entropy(double n) const { return n * log(n); }

 private:
  static constexpr std::size_t kSize = 4096;
  std::vector<double> logs_;
};

/// How often each word stands beside each other one: for each first word the other ones, ascending,
/// and their counts.
class Neighbours {
 public:
  struct Entry {
    std::uint32_t word;
    double count;
  };
  /// keys: first word and other word, 32 bits each.
  Neighbours(std::vector<std::uint64_t> keys, std::uint32_t num_words) : begins_(num_words + 1, 0) {
    std::sort(keys.begin(), keys.end());
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (k > 0 && keys[k] == keys[k - 1]) {
        entries_.back().count += 1;
        continue;
      }
      ++begins_[(keys[k] >> 32U) + 1];
      entries_.push_back({static_cast<std::uint32_t>(keys[k]), 1.0});
    }
    for (std::size_t w = 0; w < num_words; ++w) begins_[w + 1] += begins_[w];
  }
  std::span<const Entry> of(std::uint32_t word) const {
    return std::span(entries_).subspan(begins_[word], begins_[word + 1] - begins_[word]);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<Entry> entries_;
};

/// With n_ab neighbours (a, b), f_a of them with a at either place, and c_a words of class a, the
/// mutual information is, but for a factor and what no union changes,
///   sum_ab n_ab log n_ab - sum_a f_a log c_a.
/// shared(a, b) is what the first sum loses by the union of a and b at the neighbours of other
/// classes: where one of two counts is 0 nothing, so that only the neighbours that both have
/// matter, and a class that changes changes the pairs of its neighbours.
class Clusters {
 public:
  explicit Clusters(std::uint32_t num_places)
      : size_(num_places),
        counts_(size_ * size_, 0.0),
        entropies_(size_ * size_, 0.0),
        shared_(size_ * size_, 0.0),
        neighbours_(size_, 0.0),
        words_(size_, 0.0),
        is_used_(size_, false) {}

  std::size_t size() const { return size_; }
  bool is_used(std::size_t a) const { return is_used_[a]; }
  std::size_t free_place() const {
    return static_cast<std::size_t>(std::ranges::find(is_used_, false) - is_used_.begin());
  }

  void count(std::size_t a, std::size_t b, double number) {
    counts_[index(a, b)] += number;
    neighbours_[a] += number;
    neighbours_[b] += number;
  }
  /// A class at a free place, whose neighbours have been counted.
  void enter(std::size_t a, double num_words) {
    words_[a] = num_words;
    is_used_[a] = true;
    take_up(a);
  }
  /// b joins a.
  void join(std::size_t a, std::size_t b) {
    add_shared(a, -1.0);
    add_shared(b, -1.0);
    is_used_[b] = false;
    for (std::size_t x = 0; x < size_; ++x) {
      counts_[index(a, x)] += std::exchange(counts_[index(b, x)], 0.0);
    }
    for (std::size_t x = 0; x < size_; ++x) {
      counts_[index(x, a)] += std::exchange(counts_[index(x, b)], 0.0);
    }
    neighbours_[a] += std::exchange(neighbours_[b], 0.0);
    words_[a] += std::exchange(words_[b], 0.0);
    take_up(a);
  }
  /// The pair a < b whose union loses least; of equal ones the first.
  std::pair<std::size_t, std::size_t> closest() const {
    std::pair<std::size_t, std::size_t> best{0, 0};
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t a = 0; a < size_; ++a) {
      if (!is_used_[a]) continue;
      for (std::size_t b = a + 1; b < size_; ++b) {
        if (!is_used_[b]) continue;
        if (const double value = loss(a, b); value < least) {
          least = value;
          best = {a, b};
        }
      }
    }
    return best;
  }

 private:
  std::size_t index(std::size_t a, std::size_t b) const { return a * size_ + b; }
  double& shared(std::size_t a, std::size_t b) {
    return shared_[index(std::min(a, b), std::max(a, b))];
  }
  /// What the first sum loses where the counts at i and j become one.
  double lost(std::size_t i, std::size_t j) const {
    if (counts_[i] == 0.0 || counts_[j] == 0.0) return 0.0;
    return entropies_[i] + entropies_[j] - logs_.entropy(counts_[i] + counts_[j]);
  }
  double loss(std::size_t a, std::size_t b) const {
    double first = shared_[index(a, b)], sum = 0.0;
    for (const std::size_t i : {index(a, a), index(a, b), index(b, a), index(b, b)}) {
      first += entropies_[i];
      sum += counts_[i];
    }
    const double second = neighbours_[a] * logs_.log(words_[a]) +
                          neighbours_[b] * logs_.log(words_[b]) -
                          (neighbours_[a] + neighbours_[b]) * logs_.log(words_[a] + words_[b]);
    return first - logs_.entropy(sum) - second;
  }

  /// Brings entropies and shared losses to the counts of class a.
  void take_up(std::size_t a) {
    for (std::size_t x = 0; x < size_; ++x) {
      for (const std::size_t i : {index(a, x), index(x, a)}) {
        entropies_[i] = logs_.entropy(counts_[i]);
      }
    }
    add_shared(a, 1.0);
    fill_shared(a);
  }
  /// Adds the part of neighbour x, times the factor, for all pairs of other classes.
  void add_shared(std::size_t x, double factor) {
    for (const bool is_behind : {false, true}) {
      found_.clear();
      for (std::size_t a = 0; a < size_; ++a) {
        const std::size_t i = is_behind ? index(a, x) : index(x, a);
        if (a != x && is_used_[a] && counts_[i] > 0.0) found_.push_back({a, i});
      }
      for (std::size_t i = 0; i < found_.size(); ++i) {
        for (std::size_t j = i + 1; j < found_.size(); ++j) {
          shared(found_[i].first, found_[j].first) +=
              factor * lost(found_[i].second, found_[j].second);
        }
      }
    }
  }
  void fill_shared(std::size_t a) {
    for (std::size_t b = 0; b < size_; ++b) {
      if (b == a || !is_used_[b]) continue;
      double sum = 0.0;
      for (std::size_t x = 0; x < size_; ++x) {
        if (x == a || x == b || !is_used_[x]) continue;
        sum += lost(index(a, x), index(b, x)) + lost(index(x, a), index(x, b));
      }
      shared(a, b) = sum;
    }
  }

  std::size_t size_;
  std::vector<double> counts_, entropies_, shared_;  // size x size; n, n log n
  std::vector<double> neighbours_, words_;           // f and c
  std::vector<bool> is_used_;
  std::vector<std::pair<std::size_t, std::size_t>> found_;  // of add_shared(): class, its count
  CountLogs logs_;
};

/// The tree of the classes: `joined` are pairs of nodes, whose parent is the next number behind
/// those of the num_leaves leaves.
std::vector<std::string> paths_of_leaves(
    std::size_t num_leaves, std::span<const std::pair<std::size_t, std::size_t>> joined) {
  std::vector<std::string> paths(num_leaves + joined.size());
  for (std::size_t k = joined.size(); k-- > 0;) {
    const std::string& path = paths[num_leaves + k];
    paths[joined[k].first] = path + '0';
    paths[joined[k].second] = path + '1';
  }
  paths.resize(num_leaves);
  return paths;
}

/// Joins all clusters to a tree, and returns the path to the leaf of each place.
std::vector<std::string> joined_to_a_tree(Clusters& clusters, RunControl* control) {
  // Places are numbered as leaves, and nodes of the tree after them.
  std::vector<std::size_t> node_of(clusters.size()), places;
  for (std::size_t a = 0; a < clusters.size(); ++a) {
    if (!clusters.is_used(a)) continue;
    node_of[a] = places.size();
    places.push_back(a);
  }
  std::vector<std::pair<std::size_t, std::size_t>> joined;
  while (joined.size() + 1 < places.size()) {
    end_if_out_of_time(control);
    const auto [a, b] = clusters.closest();
    clusters.join(a, b);
    joined.emplace_back(node_of[a], node_of[b]);
    node_of[a] = places.size() + joined.size() - 1;
  }
  std::vector<std::string> paths = paths_of_leaves(places.size(), joined),
                           of_places(clusters.size());
  for (std::size_t k = 0; k < places.size(); ++k) of_places[places[k]] = std::move(paths[k]);
  return of_places;
}

}  // namespace

std::vector<std::string> brown_clusters(std::span<const std::vector<std::uint32_t>> sentences,
                                        std::uint32_t num_words, std::uint32_t num_clusters,
                                        RunControl* control) {
  std::vector<double> frequencies(num_words, 0.0);
  std::vector<std::uint64_t> before, behind;
  for (const auto& sentence : sentences) {
    for (std::size_t t = 0; t < sentence.size(); ++t) {
      if (sentence[t] >= num_words) continue;
      frequencies[sentence[t]] += 1;
      if (t + 1 == sentence.size() || sentence[t + 1] >= num_words) continue;
      behind.push_back(std::uint64_t{sentence[t]} << 32U | sentence[t + 1]);
      before.push_back(std::uint64_t{sentence[t + 1]} << 32U | sentence[t]);
    }
  }
  const Neighbours words_behind(std::move(behind), num_words),
      words_before(std::move(before), num_words);

  Clusters clusters(std::min(num_clusters, num_words) + 1);
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> place_of(num_words, kNone);
  std::vector<std::vector<std::uint32_t>> words(clusters.size());
  for (std::uint32_t word = 0; word < num_words; ++word) {
    end_if_out_of_time(control);
    const std::size_t place = clusters.free_place();
    place_of[word] = place;
    words[place] = {word};
    for (const auto& [other, count] : words_behind.of(word)) {
      if (place_of[other] != kNone) clusters.count(place, place_of[other], count);
    }
    for (const auto& [other, count] : words_before.of(word)) {
      if (other != word && place_of[other] != kNone) clusters.count(place_of[other], place, count);
    }
    clusters.enter(place, frequencies[word]);
    if (word < num_clusters) continue;
    const auto [kept, joined] = clusters.closest();
    clusters.join(kept, joined);
    for (const std::uint32_t each : words[joined]) place_of[each] = kept;
    words[kept].insert(words[kept].end(), words[joined].begin(), words[joined].end());
  }

  const std::vector<std::string> paths = joined_to_a_tree(clusters, control);
  std::vector<std::string> found;
  for (std::uint32_t word = 0; word < num_words; ++word) found.push_back(paths[place_of[word]]);
  return found;
}

}  // namespace margrove
