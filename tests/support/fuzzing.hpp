#pragma once
// Functions that fuzz targets share.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "margrove/errors.hpp"

namespace margrove::testing {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process if the condition does not hold, so that the fuzzer keeps the input.
inline void check(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

/// Runs read(), which may throw InvalidInput if it names the source, or says of all texts that none
/// has a term. Any other exception ends the process.
template <class Read>
void expect_result_or_named_error(const Read& read) {
  try {
    read();
  } catch (const InvalidInput& error) {
    const std::string_view message = error.what();
    check(message.starts_with("f:") || message.starts_with("tfidf: none of the "),
          "an error names its file");
  }
}

}  // namespace margrove::testing
