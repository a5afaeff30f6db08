#include "margrove/errors.hpp"

#include <array>
#include <charconv>

namespace margrove::detail {
namespace {
template <class Number>
void append_number(std::string& message, Number number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  message.append(text.data(), end);
}
}  // namespace

void append_part(std::string& message, std::string_view part) { message += part; }
void append_part(std::string& message, char part) { message += part; }
void append_part(std::string& message, double part) { append_number(message, part); }
void append_part(std::string& message, long long part) { append_number(message, part); }
void append_part(std::string& message, unsigned long long part) { append_number(message, part); }

}  // namespace margrove::detail
