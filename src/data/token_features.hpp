#pragma once
// Tokens that are objects of features, as columns.

#include <map>
#include <span>
#include <string>
#include <variant>

#include "base/number_text.hpp"
#include "margrove/errors.hpp"
#include "margrove/sentences.hpp"

namespace margrove {

/// Texts and numbers by their keys; 0 is no feature.
using TokenFeatures = std::map<std::string, std::variant<double, std::string>>;

/// The token with a column for each key: key=text, or key:number, 0 where it has none. Other
/// features than these are left out. The first column, which the reader takes for the word, is
/// always the same. A text with a colon stands in apostrophes, because a cell that ends with a
/// colon and a number is a number.
inline Token token_of(const TokenFeatures& features, std::span<const std::string> keys) {
  Token token{"_"};
  for (const std::string& key : keys) {
    const auto found = features.find(key);
    const auto* text = found != features.end() ? std::get_if<std::string>(&found->second) : nullptr;
    if (text == nullptr) {
      const double number = found != features.end() ? std::get<double>(found->second) : 0.0;
      append_number(token.emplace_back(key + ":"), static_cast<float>(number));
    } else if (text->find(':') != std::string::npos) {
      token.push_back(concat(key, "='", *text, "'"));
    } else {
      token.push_back(concat(key, "=", *text));
    }
  }
  return token;
}

}  // namespace margrove
