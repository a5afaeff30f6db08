#pragma once
// What a block solver knows of the duality gap of each example, and who may sit out a pass.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace margrove {

/// Gaps of blocks when they were last looked at: `known`, by the labellings at hand, and `open`,
/// what searches left undecided beyond that. Examples with small gaps sleep for a number of passes
/// that doubles each time.
class BlockGaps {
 public:
  explicit BlockGaps(std::size_t num_examples)
      : known_(num_examples, std::numeric_limits<double>::infinity()),
        open_(num_examples, 0.0),
        sleep_(num_examples, 0),
        nap_(num_examples, 0) {}

  void record(std::size_t i, double known, double open) {
    known_[i] = known;
    open_[i] = open;
  }
  /// Infinite until each example has been looked at.
  double known() const { return std::accumulate(known_.begin(), known_.end(), 0.0); }
  double open() const { return std::accumulate(open_.begin(), open_.end(), 0.0); }

  /// Lets the example sleep if its gap, or the known part of it, is at most `most`.
  void rest(std::size_t i, double most, bool known_only) {
    const double gap = known_only ? known_[i] : known_[i] + open_[i];
    nap_[i] = gap <= most ? static_cast<std::uint8_t>(std::min(kMaxNap, 2 * nap_[i] + 1)) : 0;
    sleep_[i] = nap_[i];
  }
  bool asleep(std::size_t i) const { return sleep_[i] > 0; }
  /// One pass closer to waking up; true if that was asleep.
  bool sleeps_on(std::size_t i) { return sleep_[i] > 0 && sleep_[i]-- > 0; }
  void wake_all() {
    std::fill(sleep_.begin(), sleep_.end(), std::uint8_t{0});
    std::fill(nap_.begin(), nap_.end(), std::uint8_t{0});
  }

 private:
  static constexpr int kMaxNap = 8;  // passes that a solved example may sit out
  std::vector<double> known_, open_;
  std::vector<std::uint8_t> sleep_, nap_;  // passes left to sit out, and how many at the last time
};

}  // namespace margrove
