#include "serve/utc_time.hpp"

#include <array>

namespace margrove::serve {
namespace {

std::string written(std::time_t time, const char* format) {
  std::array<char, 40> text{};
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string utc_text(std::time_t time) { return written(time, "%Y-%m-%dT%H:%M:%SZ"); }

std::string http_date(std::time_t time) { return written(time, "%a, %d %b %Y %H:%M:%S GMT"); }

}  // namespace margrove::serve
