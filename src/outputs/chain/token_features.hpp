#pragma once
// Features of the tokens of a column file, as text and as numbers.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/word_form.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/chain/column_reader.hpp"
#include "outputs/chain/word_clusters.hpp"

namespace margrove {

/// Is given the name of a feature, which is valid during the call only, and its value.
using VisitFeature = std::function<void(std::string_view name, float value)>;

/// Features that a model may have or not.
struct TokenTemplates {
  bool word_pairs = false;
  const WordClusters* clusters = nullptr;  // null or empty: none
};

/// Of each token of a sentence.
std::vector<WordForm> forms_of(const ColumnCorpus& corpus, std::size_t sentence, Alphabet alphabet);

/// Calls visit() for each feature of one token: its lower-cased form, shape, prefixes
/// and suffixes of up to four characters, and whether it has capitals, digits or a hyphen; form and
/// shape of the neighbours up to a distance of two; with word_pairs its form with that of each
/// direct neighbour; with clusters the path of its cluster, and of those of its direct neighbours,
/// and the first 4, 6 and 10 steps of it. Each further column adds its text as a feature of the
/// token and of its direct neighbours; a cell name:number adds one feature of this value to the
/// token alone. `forms` are forms_of() the sentence. O(bytes of the cells).
void token_features(const ColumnCorpus& corpus, std::size_t sentence, std::size_t token,
                    std::span<const WordForm> forms, const TokenTemplates& templates,
                    const VisitFeature& visit);

/// Features by name, numbered in order of first appearance.
class FeatureTable {
 public:
  FeatureTable() = default;
  explicit FeatureTable(std::vector<std::string> names, Alphabet alphabet = Alphabet::ascii,
                        WordClusters clusters = {});
  /// The features seen at least min_count times; pairs of words, at least twice. The alphabet is
  /// alphabet_of(corpus).
  static FeatureTable collect(const ColumnCorpus& corpus, int min_count, bool word_pairs,
                              WordClusters clusters = {});

  Alphabet alphabet() const { return alphabet_; }
  bool has_word_pairs() const { return has_word_pairs_; }
  const WordClusters& clusters() const { return clusters_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// The corpus as sequences. Unknown features are left out. Tags are those of the corpus, or 0 if
  /// it has none.
  SequenceData encode(const ColumnCorpus& corpus, std::uint32_t outside_tag) const;

 private:
  std::uint32_t add(std::string_view name);

  std::vector<std::string> names_;
  std::vector<std::uint32_t> slots_;  // see text_slots.hpp: a token may have a million features
  Alphabet alphabet_ = Alphabet::ascii;
  bool has_word_pairs_ = false;
  WordClusters clusters_;
};

}  // namespace margrove
