#pragma once
// Places for the weights of a feature-by-column matrix of which few are used.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "margrove/csr_matrix.hpp"

namespace margrove {

/// Group g is the columns [g kWidth, (g + 1) kWidth). A block is the weights of a group for one
/// feature. Blocks are numbered as they are first needed, until sort(); the weights of block k
/// are at [k kWidth, (k + 1) kWidth) of any array of weights, and those of blocks beyond its end
/// are 0.
class WeightBlocks {
 public:
  static constexpr std::uint32_t kWidth = 16;  // a cache line of float
  /// Those that a block takes with so many arrays of weights: theirs and its place in a list.
  static constexpr double bytes(double arrays) { return 64 * arrays + 12; }

  struct Block {
    std::uint32_t group, number;
  };

  WeightBlocks() = default;
  WeightBlocks(std::size_t num_features, std::uint32_t num_groups)
      : num_groups_(num_groups), of_feature_(num_features) {}

  std::uint32_t size() const { return size_; }
  /// The blocks of a feature, by ascending group.
  std::span<const Block> of(FeatureId feature) const { return of_feature_[feature]; }
  /// The first place >= from in of(feature) whose group is at least `group`. O(places in between):
  /// for callers that look for many groups in ascending order.
  std::size_t place(FeatureId feature, std::uint32_t group, std::size_t from) const {
    const std::vector<Block>& blocks = of_feature_[feature];
    const std::size_t num_missing = num_groups_ - blocks.size();  // at most so many before it
    std::size_t place = std::max(from, group > num_missing ? group - num_missing : 0);
    while (place < blocks.size() && blocks[place].group < group) ++place;
    return place;
  }
  /// The number of a block, which is added if it is new; at: its place(). O(blocks of the feature)
  /// for a new one. Throws InvalidInput where there are 2^32 - 1 blocks.
  std::uint32_t number(FeatureId feature, std::uint32_t group, std::size_t at);
  std::uint32_t number(FeatureId feature, std::uint32_t group) {
    return number(feature, group, place(feature, group, 0));
  }

  /// Numbers the blocks anew, by feature and group, so that those of a feature lie together, if
  /// there are more than `growth` >= 1 times as many as after the last time. Returns the old number
  /// of each, or nothing.
  std::vector<std::uint32_t> sort(double growth = 1);
  /// Moves the weights of blocks that had these numbers to where sort() wants them. Takes the
  /// memory of another array meanwhile.
  static void follow(std::span<const std::uint32_t> old_numbers, std::vector<float>& w);

  /// feature num_groups + group of each block, by number.
  std::vector<std::uint64_t> list() const;
  /// Takes the blocks of such a list, instead of those that are there. False, and no blocks, if it
  /// is not one for these features and groups.
  bool set(std::span<const std::uint64_t> list);

 private:
  std::uint32_t num_groups_ = 0, size_ = 0;
  std::uint32_t num_sorted_ = 0;  // the first blocks, which are in the order of sort()
  std::vector<std::vector<Block>> of_feature_;
};

}  // namespace margrove
