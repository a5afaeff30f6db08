#pragma once
// Lists of stop words: words so frequent in a language that they tell little of what a text says.

#include <string>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

/// The words of a language as TextTerms has them: in lower case, ascending by bytes. Throws
/// InvalidOption listing the languages that have a list unless this one has; their names are those
/// of TextTerms::Stem.
std::vector<std::string> stop_words_of(std::string_view language);

}  // namespace margrove
