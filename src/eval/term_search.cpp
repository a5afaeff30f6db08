#include "eval/term_search.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/time_share.hpp"
#include "eval/candidates.hpp"
#include "eval/metric_choice.hpp"
#include "eval/trial_rows.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

struct TermCandidate {
  std::string_view word_ngrams, char_ngrams;
};

/// Those with fewer terms in a row first, but words before runs of characters where both cost
/// about the same.
constexpr std::array kTermCandidates{
    TermCandidate{"1", "none"}, TermCandidate{"1", "4"},     TermCandidate{"none", "4"},
    TermCandidate{"1-2", "4"},  TermCandidate{"1-2", "3-5"},
};

/// So far below the best a cheaper candidate wins: no more is paid than helps, and on few thousand
/// rows a smaller difference is chance.
constexpr double kTermMargin = 0.002;

/// With fewer rows, chance moves the measured scores by more than the default terms ever lack.
constexpr std::size_t kRowsForSearch = 1000;

std::vector<OptionValues> points_of_terms() {
  std::vector<OptionValues> points;
  for (const TermCandidate& each : kTermCandidates) {
    points.push_back({{"word_ngrams", std::string(each.word_ngrams)},
                      {"char_ngrams", std::string(each.char_ngrams)}});
  }
  return points;
}

struct GivenLength {
  std::string_view name, where;
};

/// A length of n-grams that is not at its default, or in the grid.
std::optional<GivenLength> given_length(const TfidfOptions& options,
                                        std::span<const OptionValues> grid) {
  const TfidfOptions defaults;
  if (options.word_ngrams != defaults.word_ngrams) return GivenLength{"word_ngrams", ""};
  if (options.char_ngrams != defaults.char_ngrams) return GivenLength{"char_ngrams", ""};
  for (const std::string_view name : {"word_ngrams", "char_ngrams"}) {
    if (has_option(grid, name)) return GivenLength{name, ", in the grid"};
  }
  return std::nullopt;
}

void require_not_automatic(const TfidfOptions& options, const GivenLength& length) {
  require<InvalidOption>(options.terms != TextTerms::Choice::automatic,
                         "option terms is auto, which chooses ", length.name, ", but option ",
                         length.name, " is given, too", length.where);
}

std::size_t first_near_best(const TuningResult& result, std::string_view metric) {
  const double best = result.points[result.best].mean;
  const auto is_near = [&](const GridPoint& point) {
    const double loss = is_loss(metric) ? point.mean - best : best - point.mean;
    return loss <= kTermMargin;
  };
  const auto first = std::ranges::find_if(result.points, is_near);
  return static_cast<std::size_t>(first - result.points.begin());
}

}  // namespace

bool searches_by_default(const TfidfOptions& options, std::size_t num_texts,
                         std::span<const OptionValues> grid) {
  return options.terms == TextTerms::Choice::by_default && num_texts >= kRowsForSearch &&
         !given_length(options, grid);
}

PreprocessingOptions with_searched_terms(PreprocessingOptions options, const Examples& raw,
                                         std::span<const OptionValues> grid) {
  if (options.kernel_model) return options;  // the terms are those of the model
  const std::size_t num_texts = raw.texts().empty() ? 0 : raw.num_rows();
  if (searches_by_default(options, num_texts, grid)) {
    options.terms = TextTerms::Choice::automatic;
  }
  return options;
}

void check_terms(const TfidfOptions& options, std::span<const OptionValues> grid) {
  if (const auto length = given_length(options, grid)) require_not_automatic(options, *length);
}

void follow_given_length(std::string_view name, TfidfOptions& options) {
  require_not_automatic(options, {name, ""});
  options.terms = TextTerms::Choice::given;
}

std::optional<TermSearch> search_terms(const Method& method, const OptionValues& fixed,
                                       const Examples& raw, const Hierarchy* hierarchy,
                                       const PreprocessingOptions& preprocessing,
                                       std::span<const double> row_weights,
                                       const std::string& metric, Executor& executor,
                                       RunControl& control) {
  if (preprocessing.terms != TextTerms::Choice::automatic) return std::nullopt;
  check_terms(preprocessing);
  require<InvalidOption>(!raw.texts().empty(), "option terms is auto, but the rows have no texts");
  TermSearch search{preprocessing, metric, {}};
  search.preprocessing.terms = TextTerms::Choice::given;
  if (metric.empty()) search.metric = default_metric(facts_of(raw, hierarchy));
  const std::vector<OptionValues> points = points_of_terms();
  constexpr std::uint64_t kSeed = 0;
  std::vector<Split> splits = trial_splits(raw.labels, kSeed);
  validate_on_known(splits, raw, hierarchy, fixed, {});
  const auto run = method.start();
  set_options(run->options(), fixed);
  search.measured = tune(method, fixed, points, raw, hierarchy,
                         preprocessing_for(method, run->options(), search.preprocessing), splits,
                         search.metric, executor, control, row_weights);
  require_finished(search.measured, splits.size(), "terms");
  search.measured.best = first_near_best(search.measured, search.metric);
  search.preprocessing =
      options_of_point(points[search.measured.best], search.preprocessing).preprocessing;
  return search;
}

std::optional<TermSearch> search_terms(const Examples& raw, const Hierarchy* hierarchy,
                                       const PreprocessingOptions& preprocessing,
                                       const std::string& metric, Executor& executor,
                                       RunControl& control) {
  constexpr double kShareOfTime = 0.2;
  RunControl share = time_share(control, kShareOfTime * control.seconds_left());
  try {
    return search_terms(find_method("flat-svm"), {}, raw, hierarchy, preprocessing, {}, metric,
                        executor, share);
  } catch (const OutOfTimeLimit&) {
    if (!control.proceed()) throw;
  }
  TermSearch unfinished{preprocessing, metric, {}};
  unfinished.preprocessing.terms = TextTerms::Choice::given;
  return unfinished;
}

}  // namespace margrove
