#pragma once
// The known duality gap of each example, and the examples that passes leave out (shrinking).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace margrove {

/// The gap of each block when it was last visited: an estimate from the known labellings, and the
/// part beyond it that the search left unproven. Their sum bounds the gap. An example with a small
/// gap is shrunk, that is, left out of 1, 3, 7 and then 8 passes if its gap stays small.
class BlockGaps {
 public:
  explicit BlockGaps(std::size_t num_examples)
      : estimate_(num_examples, std::numeric_limits<double>::infinity()),
        unproven_(num_examples, 0.0),
        passes_left_out_(num_examples, 0),
        shrunk_for_(num_examples, 0) {}

  void record(std::size_t i, double estimate, double unproven) {
    estimate_[i] = estimate;
    unproven_[i] = unproven;
  }
  // Sums over all examples; infinite until each has been visited.
  double gap_estimate() const { return std::accumulate(estimate_.begin(), estimate_.end(), 0.0); }
  double unproven_gap() const { return std::accumulate(unproven_.begin(), unproven_.end(), 0.0); }
  double gap_bound() const { return gap_estimate() + unproven_gap(); }

  /// Shrinks the example if the bound on its gap, or only the estimate, is at most `limit`.
  void shrink(std::size_t i, double limit, bool by_estimate) {
    const double gap = by_estimate ? estimate_[i] : estimate_[i] + unproven_[i];
    shrunk_for_[i] =
        gap <= limit ? static_cast<std::uint8_t>(std::min(kMaxPasses, 2 * shrunk_for_[i] + 1)) : 0;
    passes_left_out_[i] = shrunk_for_[i];
  }
  bool is_shrunk(std::size_t i) const { return passes_left_out_[i] > 0; }
  /// Whether the pass that begins leaves the example out; counts that pass.
  bool skips_pass(std::size_t i) { return passes_left_out_[i] > 0 && passes_left_out_[i]-- > 0; }
  void unshrink_all() {
    std::fill(passes_left_out_.begin(), passes_left_out_.end(), std::uint8_t{0});
    std::fill(shrunk_for_.begin(), shrunk_for_.end(), std::uint8_t{0});
  }

 private:
  static constexpr int kMaxPasses = 8;  // that leave an example out before it is visited again
  std::vector<double> estimate_, unproven_;
  std::vector<std::uint8_t> passes_left_out_;  // still to come
  std::vector<std::uint8_t> shrunk_for_;  // passes when it was last visited; 0: it was not shrunk
};

}  // namespace margrove
