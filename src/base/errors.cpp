#include "margrove/errors.hpp"

#include "base/number_text.hpp"

namespace margrove::detail {

void append_part(std::string& message, std::string_view part) { message += part; }
void append_part(std::string& message, char part) { message += part; }
void append_part(std::string& message, double part) { append_number(message, part); }
void append_part(std::string& message, long long part) { append_number(message, part); }
void append_part(std::string& message, unsigned long long part) { append_number(message, part); }

}  // namespace margrove::detail
