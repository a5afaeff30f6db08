#pragma once
// What the readers of JSON share: where in a text the parser is.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace margrove::detail {

/// How deep objects and lists may be nested.
inline constexpr std::size_t kMaxJsonDepth = 64;

/// A position in a text that records how far the JSON parser has read, so that values get places.
struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** reached = nullptr;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    *reached = ++at;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at == other.at; }
};

/// The reason in a message of the JSON library, which names places of its own before it;
/// begins with ": ".
inline std::string_view json_reason(std::string_view message) {
  message.remove_prefix(std::min(message.find(": "), message.size()));
  return message.substr(0, message.find("; last read"));
}

}  // namespace margrove::detail
