#pragma once
// Cells of CSV (RFC 4180).

#include <string>
#include <string_view>

namespace margrove {

/// A text as a cell, in quotes if CSV needs them.
inline std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace margrove
