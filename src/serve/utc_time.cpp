#include "serve/utc_time.hpp"

#include <array>

namespace margrove::serve {

std::string utc_text(std::time_t time) {
  std::array<char, 32> text{};
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace margrove::serve
