#pragma once
// Parts of the independent problems of a training: their division, training and tensors.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/tensors.hpp"
#include "linear/label_problems.hpp"

namespace margrove {

/// Some blocks of the labels of a problem.
struct Piece {
  std::size_t problem = 0;
  BlockRange blocks;
};

/// A block of labels and about how long it takes: a few passes over all rows of the problem, and
/// more over those of its own labels.
struct Unit {
  std::size_t problem, block;
  double cost;
};

/// All blocks of all problems, in their order.
std::vector<Unit> units_of(const LabelProblems& all);
/// Ranges of units of about the same cost, none of them empty.
std::vector<std::vector<Piece>> divide(const std::vector<Unit>& units, std::size_t num_shards);
/// The units [begin, end) as pieces that keep all threads of fit_pieces() busy.
std::vector<Piece> pieces_of(const LabelProblems& all, const std::vector<Unit>& units,
                             std::size_t begin, std::size_t end);

/// A trained label of a problem.
struct Trained {
  std::uint32_t problem, label;
  LabelFit fit;
};
/// In the order of the pieces and of label_blocks().
std::vector<Trained> fit_pieces(const LabelProblems& all, const std::vector<Piece>& pieces,
                                Executor& executor, RunControl& control);

void put_trained(TensorMap& out, const std::vector<Trained>& trained);
/// Throws ModelFileError.
std::vector<Trained> get_trained(const TensorMap& tensors, std::uint32_t num_columns);

}  // namespace margrove
