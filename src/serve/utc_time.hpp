#pragma once
// Times as the server writes them.

#include <ctime>
#include <string>

namespace margrove::serve {

/// A second of UTC as ISO 8601 writes it: 2024-05-19T16:42:42Z.
std::string utc_text(std::time_t time);
/// As HTTP writes it: Sun, 19 May 2024 16:42:42 GMT.
std::string http_date(std::time_t time);

}  // namespace margrove::serve
