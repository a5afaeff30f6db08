#pragma once
// Relations of arcs by the words they join.

#include <cstdint>
#include <span>
#include <vector>

#include "outputs/tree/conllu_reader.hpp"
#include "outputs/tree/dependency_tree.hpp"

namespace margrove {

/// What the features of arcs see of a sentence.
ParserSentence parser_sentence(const DependencySentence& sentence);

/// The relation of an arc by the parts of speech of its ends and its direction, which are hashed:
/// the one seen most often with them in training.
class RelationTable {
 public:
  /// `relations`: one per hash, a power of two of them.
  explicit RelationTable(std::vector<std::uint32_t> relations) : relations_(std::move(relations)) {}
  /// Where no arc was seen, the most frequent relation of all.
  static RelationTable count(const DependencyCorpus& corpus);

  /// Of the arc head -> word (positions from 1; head 0 is the root).
  std::uint32_t relation(const ParserSentence& sentence, std::size_t head, std::size_t word) const;
  std::span<const std::uint32_t> relations() const { return relations_; }

 private:
  std::vector<std::uint32_t> relations_;
};

}  // namespace margrove
