#pragma once
// What the readers of JSON share: where in a text the parser is.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "margrove/errors.hpp"

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

/// The base of a class that receives the parser's events (nlohmann's SAX interface) and needs the
/// places of the tokens.
class JsonEvents {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  bool binary(binary_t&) { return true; }  // JSON text has none

 protected:
  /// Sends the events of the text to `events`, which is the derived object.
  template <class Events>
  void parse(std::string_view text, Events& events) {
    end_ = text.data() + text.size();
    read_end_ = token_end_ = text.data();
    nlohmann::json::sax_parse(CountingIterator{text.data(), &read_end_},
                              CountingIterator{end_, &read_end_}, &events);
  }
  /// To be called at the end of every event. Returns true, as events do.
  bool end_token() {
    token_end_ = read_end_;
    return true;
  }
  /// The start of the present token, after the token before it and the separators between them.
  const char* place_of_token() const {
    const char* at = token_end_;
    while (at != end_ && std::string_view(" \t\r\n:,").find(*at) != std::string_view::npos) ++at;
    return at;
  }
  /// How far the parser has read.
  const char* read_end() const { return read_end_; }

 private:
  const char* end_ = nullptr;
  const char* read_end_ = nullptr;
  const char* token_end_ = nullptr;  // of the token before
};

/// Whether the text is JSON up to a number that is too large for a double, at the present token.
inline bool is_large_number(const nlohmann::json::exception& error) { return error.id == 406; }

/// What is wrong where the JSON library stopped, with its reason, but without the places of its own
/// that it names. `what` is the text: "line".
inline std::string json_fault(std::string_view what, const nlohmann::json::exception& error) {
  std::string_view message = error.what();
  if (is_large_number(error)) {
    message.remove_prefix(std::min(message.find('\''), message.size()));
    return concat("number is ", message, ", but must fit a 64-bit float");
  }
  message.remove_prefix(std::min(message.find(": "), message.size()));
  return concat("the ", what, " is not JSON", message.substr(0, message.find("; last read")));
}

}  // namespace margrove::detail
