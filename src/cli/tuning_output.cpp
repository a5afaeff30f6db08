#include "cli/tuning_output.hpp"

#include <fmt/format.h>

#include <iostream>

namespace margrove::cli {

void print_grid(const TuningResult& result, std::string_view metric) {
  for (const auto& [name, value] : result.points.front().values) std::cout << name << "\t";
  std::cout << metric << "\n";
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    const GridPoint& point = result.points[p];
    for (const auto& [name, value] : point.values) std::cout << value << "\t";
    std::cout << fmt::format("{:.4f}", point.mean);
    if (point.scores.size() > 1) {
      std::cout << " (";
      for (std::size_t s = 0; s < point.scores.size(); ++s) {
        std::cout << fmt::format("{}{:.4f}", s == 0 ? "" : " ", point.scores[s]);
      }
      std::cout << ")";
    }
    std::cout << (p == result.best ? " *\n" : "\n");
  }
}

ChosenTerms print_terms(const std::optional<TermSearch>& search, const PreprocessingOptions& given,
                        CommandControl& control) {
  if (!search) return {given};
  control.end_progress();
  const bool is_finished = !search->measured.points.empty();
  if (is_finished) print_grid(search->measured, search->metric);
  const PreprocessingOptions& chosen = search->preprocessing;
  const double seconds = control.run().seconds();
  std::cout << fmt::format(
      "terms\tword-ngrams {}, char-ngrams {}{}\nseconds_terms\t{:.2f}\n",
      chosen.word_ngrams.to_text(), chosen.char_ngrams.to_text(),
      is_finished ? "" : ", the default: their search did not end in its share of the time",
      seconds);
  return {chosen, seconds};
}

}  // namespace margrove::cli
