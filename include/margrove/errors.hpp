#pragma once
// The three ways in which a call can fail. Stopping early is not a failure: it is reported by
// margrove/control.hpp's Stop. Broken invariants of our own are assertions.

#include <stdexcept>
#include <string>
#include <string_view>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

/// The base of everything that Margrove throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller's data are wrong. The message reads "where: what is value, but must be ...".
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// The caller's option is wrong: unknown, out of range, or in conflict with another one.
class InvalidOption : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// A model file is missing, truncated, damaged or of a later format.
class ModelFileError : public Error {
 public:
  using Error::Error;
};

namespace detail {
void append_part(std::string& message, std::string_view part);
void append_part(std::string& message, char part);
void append_part(std::string& message, double part);  // shortest text that reads back equal
void append_part(std::string& message, long long part);
void append_part(std::string& message, unsigned long long part);

template <class Part>
void append_any(std::string& message, const Part& part) {
  if constexpr (std::is_convertible_v<const Part&, std::string_view> ||
                std::is_same_v<Part, char>) {
    append_part(message, part);
  } else if constexpr (std::is_floating_point_v<Part>) {
    append_part(message, static_cast<double>(part));
  } else if constexpr (std::is_signed_v<Part>) {
    append_part(message, static_cast<long long>(part));
  } else {
    append_part(message, static_cast<unsigned long long>(part));
  }
}
}  // namespace detail

/// The parts joined into one text; numbers are written in the C locale.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string message;
  (detail::append_any(message, parts), ...);
  return message;
}

/// Throws E (InvalidInput unless named) with the parts as its message unless `condition` holds.
template <class E = InvalidInput, class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) throw E(concat(parts...));
}

}  // namespace margrove
