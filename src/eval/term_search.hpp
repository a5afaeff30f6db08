#pragma once
// The choice of the terms of texts on held-out rows: option terms.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "eval/tuning.hpp"

namespace margrove {

struct TermSearch {
  PreprocessingOptions preprocessing;  // with the chosen terms
  std::string metric;
  /// The candidates, cheapest first; `best` is the chosen one. No points: the search did not end in
  /// its share of the time, and the terms are the default ones.
  TuningResult measured;
};

/// Whether a search for a method or for its options chooses the terms of so many texts, too: where
/// option terms is at its default, neither the options nor the grid give lengths of n-grams, and
/// there are 1,000 texts or more.
bool searches_by_default(const TfidfOptions& options, std::size_t num_texts,
                         std::span<const OptionValues> grid = {});
/// The options for such a search for these rows: terms is auto where searches_by_default().
PreprocessingOptions with_searched_terms(PreprocessingOptions options, const Examples& raw,
                                         std::span<const OptionValues> grid = {});

/// Throws InvalidOption where option terms is auto, but other options or the grid give terms, too.
void check_terms(const TfidfOptions& options, std::span<const OptionValues> grid = {});
/// For an option of lengths that is given, if only with its default: the terms are as it says.
/// Throws as check_terms().
void follow_given_length(std::string_view name, TfidfOptions& options);

/// Where option terms of `preprocessing` is auto: measures each of a few kinds of terms by the
/// method with the `fixed` options, as tune() does on trial_splits(), and chooses the cheapest that
/// is nearly as good as the best. All other options stay. Metric "": default_metric(). None where
/// the terms are given. Throws what check_terms() and tune() throw, InvalidOption where the rows
/// have no texts, and OutOfTimeLimit where `control` ends the search.
std::optional<TermSearch> search_terms(const Method& method, const OptionValues& fixed,
                                       const Examples& raw, const Hierarchy* hierarchy,
                                       const PreprocessingOptions& preprocessing,
                                       std::span<const double> row_weights,
                                       const std::string& metric, Executor& executor,
                                       RunControl& control);
/// The same where the method is not known yet: by flat-svm with its default options, in a fifth of
/// the time at most.
std::optional<TermSearch> search_terms(const Examples& raw, const Hierarchy* hierarchy,
                                       const PreprocessingOptions& preprocessing,
                                       const std::string& metric, Executor& executor,
                                       RunControl& control);

}  // namespace margrove
