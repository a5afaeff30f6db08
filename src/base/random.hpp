#pragma once
// Random numbers that are the same on every machine and standard library.

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace margrove {

/// Adds a constant to the state and returns the state's bits mixed.
std::uint64_t splitmix64(std::uint64_t& state);

/// xoshiro256++ seeded by splitmix64. The standard distributions differ between libraries, so the
/// few that we need are here. It is not for cryptography.
class Random {
 public:
  /// Streams of one seed are independent: each label, row or worker takes a stream of its own.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint64_t next();
  /// Uniform on [0, bound); bound > 0. Unbiased.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform on [0, 1), 53 bits.
  double uniform();
  /// Standard normal (polar method).
  double normal();

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace margrove
