#pragma once
// Clusters of words, from which chains make features.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/word_form.hpp"
#include "margrove/control.hpp"
#include "outputs/chain/column_reader.hpp"

namespace margrove {

/// All of Unicode if a word has a character beyond ASCII, so that models of others stay as they
/// were.
Alphabet alphabet_of(const ColumnCorpus& corpus);

/// Words in lower case and the paths of their clusters in a binary tree, texts of 0 and 1.
class WordClusters {
 public:
  WordClusters() = default;
  /// One path for each word; words are distinct.
  WordClusters(std::vector<std::string> words, std::vector<std::string> paths);
  /// brown_clusters() of the words that occur at least twice. Throws OutOfTime where the control
  /// asks to end.
  static WordClusters learn(const ColumnCorpus& corpus, std::uint32_t num_clusters,
                            RunControl& control);

  bool is_empty() const { return words_.empty(); }
  const std::vector<std::string>& words() const { return words_; }
  const std::vector<std::string>& paths() const { return paths_; }
  /// Null where the word, in lower case, has no cluster.
  const std::string* path_of(std::string_view word) const;

 private:
  std::vector<std::string> words_, paths_;
  std::vector<std::uint32_t> slots_;  // see text_slots.hpp
};

}  // namespace margrove
