#pragma once
// What a misspelt name may have meant.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace margrove {

/// The candidate with the fewest edits from `word`: insertions, deletions, replacements and swaps
/// of neighbouring characters. None if these are more than a third of the word's characters.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates);

/// "; did you mean 'NAME'?", empty if no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace margrove
