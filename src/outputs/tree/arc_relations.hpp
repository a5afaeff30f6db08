#pragma once
// Scores of the relations of an arc: <w_r, psi(x, head, word)> for each relation r. Features are
// hashed into a table of 2^bits weights: the weights of a feature for all relations stand beside
// each other, from a place that its hash gives. The rows of different features may overlap.

#include <cstdint>
#include <span>
#include <vector>

#include "outputs/tree/parser_sentence.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// Where the weights of relations stand in a vector of weights.
struct RelationShape {
  int bits = 20;
  std::uint32_t num_relations = 1;
  std::size_t begin = 0;  // the position of the table

  /// The relations, rounded up so that loops over them need no remainder. The extra weights of a
  /// row are read, but not used.
  std::size_t width() const { return (num_relations + std::size_t{7}) / 8 * 8; }
  std::size_t num_weights() const { return std::size_t{1} << static_cast<unsigned>(bits); }
};
/// Whether the table has room for four rows.
inline bool has_room(const RelationShape& shape) {
  return shape.num_weights() >= 4 * shape.width();
}
/// Throws InvalidOption, naming hash_bits, unless has_room().
void check_shape(const RelationShape& shape);

/// Appends the places of the weights of relation 0 for all features of the arc head -> word, each
/// of value 1. Positions count from 1; head 0 is the root. A feature depends on the word, on its
/// head or on both, with the direction of the arc.
void relation_features(const ParserSentence& sentence, std::size_t head, std::size_t word,
                       const RelationShape& shape, std::vector<std::uint32_t>& places);

struct RelationWorkspace {
  // (n + 1) x width, by direction (1: the head stands before the word): the sums of the features
  // that depend on the word alone and on the head alone.
  std::vector<double> word_sums[2], head_sums[2];
  std::vector<std::uint32_t> places;
  std::vector<double> sums;
};

/// The scores of the relations of all arcs of a sentence. Refers to its arguments.
class RelationScorer {
 public:
  /// Sums the features of single words, so that an arc only adds those of pairs.
  RelationScorer(const ParserSentence& sentence, const RelationShape& shape, ScaledWeights w,
                 RelationWorkspace& workspace);

  /// The scores of all relations of the arc, valid until the next call.
  std::span<const double> operator()(std::size_t head, std::size_t word) const;

 private:
  const ParserSentence* sentence_;
  RelationShape shape_;
  ScaledWeights w_;
  RelationWorkspace* workspace_;
};

/// The same scores for a single arc, without the sums of other words.
std::span<const double> arc_relation_scores(const ParserSentence& sentence, std::size_t head,
                                            std::size_t word, const RelationShape& shape,
                                            ScaledWeights w, RelationWorkspace& workspace);

/// The position of the largest score; the first one of equal ones.
std::uint32_t best_relation(std::span<const double> scores);

}  // namespace margrove
