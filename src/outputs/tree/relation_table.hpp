#pragma once
// Relations of arcs by the words that they join.

#include <cstdint>
#include <span>
#include <vector>

#include "outputs/tree/conllu_reader.hpp"
#include "outputs/tree/parser_sentence.hpp"

namespace margrove {

/// The hashes of a sentence, on which features and relations depend.
ParserSentence parser_sentence(const DependencySentence& sentence);

/// Gives an arc the most frequent relation of the training arcs with the same direction and the
/// same parts of speech of the two words, which are hashed.
class RelationTable {
 public:
  /// relations: one per hash; their number is a power of two.
  explicit RelationTable(std::vector<std::uint32_t> relations) : relations_(std::move(relations)) {}
  /// Hashes without arcs get the most frequent relation of all.
  static RelationTable count(const DependencyCorpus& corpus);

  /// The relation of the arc head -> word. Positions count from 1; head 0 is the root.
  std::uint32_t relation(const ParserSentence& sentence, std::size_t head, std::size_t word) const;
  std::span<const std::uint32_t> relations() const { return relations_; }

 private:
  std::vector<std::uint32_t> relations_;
};

}  // namespace margrove
