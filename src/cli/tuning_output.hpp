#pragma once
// What searches over options print: the grid, and the terms of texts.

#include <optional>
#include <string_view>

#include "cli/command.hpp"
#include "eval/term_search.hpp"

namespace margrove::cli {

/// A line of names, then one for each point with its scores; the best has a star.
void print_grid(const TuningResult& result, std::string_view metric);

struct ChosenTerms {
  PreprocessingOptions preprocessing;
  double seconds = 0;  // of the command up to the end of the search; 0: there was none
};
/// Prints the candidates, the chosen terms and the seconds of `search`, if there was one; otherwise
/// the terms are those of `given`.
ChosenTerms print_terms(const std::optional<TermSearch>& search, const PreprocessingOptions& given,
                        CommandControl& control);

}  // namespace margrove::cli
