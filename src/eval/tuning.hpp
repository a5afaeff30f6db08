#pragma once
// Model selection on the training data: a grid of options by cross-validation or hold-out.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "margrove/selection.hpp"
#include "methods/training.hpp"
#include "model/splits.hpp"

namespace margrove {

/// All combinations, with the last name varying fastest: "C=0.1,1" and "alpha=uniform,power:2" give
/// four. Throws InvalidOption if a text is not name=value,value,... or a name occurs twice.
std::vector<OptionValues> parse_grid(std::span<const std::string> texts);

/// Whether the points of a grid, which all have the same options, give this one.
bool has_option(std::span<const OptionValues> grid, std::string_view name);

/// A point of a grid, whose options are those of the method and of the preprocessing of rows.
struct PointOptions {
  OptionValues of_method;
  PreprocessingOptions preprocessing;
};
/// `preprocessing` with the options of the point that are its own. Throws InvalidOption for a value
/// that it does not take, and for option terms; of_method is not checked.
PointOptions options_of_point(const OptionValues& point, const PreprocessingOptions& preprocessing);

struct TuningResult {
  std::vector<GridPoint> points;  // in the order of the grid
  std::size_t best = 0;           // the first with the best mean
  Stop stop = Stop::converged;    // interrupted or time_limit: some scores are NaN
};

/// The points of options.grid, or of the default grid, which needs an option C. Throws
/// InvalidOption where `known`, the options of the method, lacks C.
std::vector<OptionValues> grid_of(const TuneOptions& options, const Method& method,
                                  const OptionTable& known);

/// The splits that the options ask for. Throws InvalidOption if both kinds are given.
std::vector<Split> make_splits(const LabelSets& labels, const TuneOptions& options);

/// Where the best value of an option stands among those that were tried.
enum class Place { alone, smallest, between, largest };
Place place_of_best(const TuningResult& result, const std::string& name);
/// The value of an option at the best point; none if it is not of the grid, or no number.
std::optional<double> best_number(const TuningResult& result, const std::string& name);

/// Measures the points, and beyond a default grid (is_default) while its best C is at an end.
TuningResult search(
    std::span<const OptionValues> grid, bool is_default, const std::string& metric,
    const std::function<TuningResult(std::span<const OptionValues> points)>& measure);

/// Throws OutOfTimeLimit, which begins with `search`, where some run was not done.
void require_finished(const TuningResult& result, std::size_t num_splits,
                      std::string_view search = "tune");

/// Sets the means of all points and `best`.
void choose_best(TuningResult& result, std::string_view metric);

/// Takes the rows whose label is an inner node out of the validation rows: of a partial label it is
/// unknown whether an answer is right. Throws InvalidInput that begins with `source` if no row of a
/// split is left.
void validate_on_leaves(std::span<Split> splits, const LabelSets& labels, const LabelCodec& codec,
                        const Hierarchy& hierarchy, const std::string& source);

/// Takes the validation rows out of which it is unknown whether an answer is right: those without a
/// label, and those with a partial one where a point of the grid takes partial labels. Throws as
/// validate_on_leaves().
void validate_on_known(std::span<Split> splits, const Examples& raw, const Hierarchy* hierarchy,
                       const OptionValues& fixed, std::span<const OptionValues> grid);

/// Trains every grid point on every split, with preprocessing fitted on the split's training rows,
/// whose options the points may set, too, and measures `metric` (one of searches) on its validation
/// rows. `fixed` options hold for all points. Points and splits run in parallel,
/// each on one thread, or a single one on all; the result does not depend on executor.size().
/// Throws InvalidOption for an unknown metric or option.
TuningResult tune(const Method& method, const OptionValues& fixed,
                  std::span<const OptionValues> grid, const Examples& raw,
                  const Hierarchy* hierarchy, const PreprocessingOptions& preprocessing,
                  std::span<const Split> splits, std::string_view metric, Executor& executor,
                  RunControl& control, std::span<const double> row_weights = {});

/// The whole search on rows: grid, splits and extensions as the options say. Throws OutOfTimeLimit
/// where `control` ends it.
TuningResult search_rows(const Method& method, const OptionValues& fixed, const Examples& raw,
                         const Hierarchy* hierarchy, const PreprocessingOptions& preprocessing,
                         std::span<const double> row_weights, const TuneOptions& options,
                         Executor& executor, RunControl& control);

}  // namespace margrove
