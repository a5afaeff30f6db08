#pragma once
// Stop words as options of front ends name them.

#include <string>
#include <string_view>
#include <vector>

#include "margrove/stop_words.hpp"

namespace margrove {

/// The languages that have a list, ascending.
std::vector<std::string> stop_word_languages();
bool has_stop_words(std::string_view language);

/// The words of a language's list, or of a file that no language is named like, such as ./english.
/// Throws InvalidInput naming the file if it cannot be read, also with the language that may be
/// meant.
std::vector<std::string> stop_words_of_choice(const std::string& language_or_file);

}  // namespace margrove
