#include "outputs/weight_blocks.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "margrove/errors.hpp"

namespace margrove {

std::uint32_t WeightBlocks::number(FeatureId feature, std::uint32_t group, std::size_t at) {
  std::vector<Block>& blocks = of_feature_[feature];
  if (at < blocks.size() && blocks[at].group == group) return blocks[at].number;
  require(size_ < std::numeric_limits<std::uint32_t>::max(),
          "training: the weights of the nodes have ", size_, " blocks, and no more are possible");
  blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(at), {group, size_});
  return size_++;
}

std::vector<std::uint32_t> WeightBlocks::sort(double growth) {
  if (size_ <= growth * num_sorted_) return {};
  std::vector<std::uint32_t> old_numbers;
  old_numbers.reserve(size_);
  for (std::vector<Block>& blocks : of_feature_) {
    for (Block& block : blocks) {
      const std::uint32_t old = block.number;
      block.number = static_cast<std::uint32_t>(old_numbers.size());
      old_numbers.push_back(old);
    }
  }
  num_sorted_ = size_;
  return old_numbers;
}

void WeightBlocks::follow(std::span<const std::uint32_t> old_numbers, std::vector<float>& w) {
  // In place, each step would have to wait for the one before it to read a distant block.
  std::vector<float> moved(old_numbers.size() * kWidth, 0.0F);
  w.resize(moved.size(), 0.0F);
  float* to = moved.data();
  for (const std::uint32_t old : old_numbers) {
    to = std::copy_n(w.data() + std::size_t{old} * kWidth, kWidth, to);
  }
  w = std::move(moved);
}

std::vector<std::uint64_t> WeightBlocks::list() const {
  std::vector<std::uint64_t> list(size_);
  for (std::size_t feature = 0; feature < of_feature_.size(); ++feature) {
    for (const Block& block : of_feature_[feature]) {
      list[block.number] = feature * num_groups_ + block.group;
    }
  }
  return list;
}

bool WeightBlocks::set(std::span<const std::uint64_t> list) {
  of_feature_.assign(of_feature_.size(), {});
  size_ = num_sorted_ = 0;
  const std::uint64_t num_possible = of_feature_.size() * std::uint64_t{num_groups_};
  const auto is_new = [&](std::uint64_t each) {
    const std::uint32_t next = size_;
    return each < num_possible && number(static_cast<FeatureId>(each / num_groups_),
                                         static_cast<std::uint32_t>(each % num_groups_)) == next;
  };
  if (std::ranges::all_of(list, is_new)) {
    if (std::ranges::is_sorted(list)) num_sorted_ = size_;
    return true;
  }
  of_feature_.assign(of_feature_.size(), {});
  size_ = 0;
  return false;
}

}  // namespace margrove
