#pragma once
// Model selection on the training data: a grid of options by cross-validation or hold-out.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margrove/metrics.hpp"
#include "methods/training.hpp"
#include "model/splits.hpp"

namespace margrove {

/// All combinations, with the last name varying fastest: "C=0.1,1" and "alpha=uniform,power:2" give
/// four. Throws InvalidOption if a text is not name=value,value,... or a name occurs twice.
std::vector<OptionValues> parse_grid(std::span<const std::string> texts);

struct GridPoint {
  OptionValues values;
  std::vector<double> scores;  // one per split; NaN if training did not finish
  double mean = 0;
};
struct TuningResult {
  std::vector<GridPoint> points;  // in the order of the grid
  std::size_t best = 0;           // the first with the best mean
  Stop stop = Stop::converged;    // interrupted or time_limit: some scores are NaN
};

/// Sets the means of all points and `best`.
void choose_best(TuningResult& result, std::string_view metric);

/// Takes the rows whose label is an inner node out of the validation rows: of a partial label it is
/// unknown whether an answer is right. Throws InvalidInput that begins with `source` if no row of a
/// split is left.
void validate_on_leaves(std::span<Split> splits, const LabelSets& labels, const LabelCodec& codec,
                        const Hierarchy& hierarchy, const std::string& source);

/// Trains every grid point on every split, with preprocessing fitted on the split's training rows,
/// and measures `metric` (a name of named_values(Metrics)) on its validation rows. `fixed` options
/// hold for all points. Points and splits run in parallel, each on one thread; the result does not
/// depend on executor.size(). Throws InvalidOption for an unknown metric or option.
TuningResult tune(const Method& method, const OptionValues& fixed,
                  std::span<const OptionValues> grid, const RawRows& raw,
                  const Hierarchy* hierarchy, const PreprocessingOptions& preprocessing,
                  std::span<const Split> splits, std::string_view metric, Executor& executor,
                  RunControl& control);

/// The metrics of a model on rows that may have labels which it does not know.
struct Evaluation {
  Metrics metrics;
  std::size_t num_unknown_labels = 0;     // distinct labels that the model does not know
  std::size_t num_rows_with_unknown = 0;  // rows with one
};
Evaluation evaluate_model(const ModelParts& model, const RawRows& raw, Executor& executor);

}  // namespace margrove
