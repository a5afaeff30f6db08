#pragma once

#include <string>
#include <string_view>

namespace margrove::serve {

/// The OpenAPI 3.1 description of all routes, made from their tables of options.
/// has_token: whether the server asks for one.
std::string openapi_text(std::string_view version, bool has_token);

}  // namespace margrove::serve
