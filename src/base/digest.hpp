#pragma once
// A digest that tells damaged and exchanged files from intact ones. It is no protection against
// somebody who wants two files to have the same digest.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace margrove {

class Digest {
 public:
  /// Eight bytes at a time, then the length, so that no two divisions of a text agree.
  void add(std::span<const std::byte> bytes) {
    std::size_t k = 0;
    for (; k + sizeof(std::uint64_t) <= bytes.size(); k += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + k, sizeof word);
      mix(word);
    }
    std::uint64_t rest = 0;
    if (k < bytes.size()) std::memcpy(&rest, bytes.data() + k, bytes.size() - k);
    mix(rest);
    mix(bytes.size());
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  /// Sixteen hexadecimal digits.
  std::string to_text() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[state_ >> shift & 15U];
    return text;
  }

 private:
  // An odd multiplier makes each step a bijection of the state: a change of one word is never lost.
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9E3779B97F4A7C15U;
    state_ ^= state_ >> 29;
  }
  std::uint64_t state_ = 0x243F6A8885A308D3U;
};

}  // namespace margrove
