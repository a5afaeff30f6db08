#pragma once
// The metrics of a model on labelled rows (docs/command_line.md has their definitions).

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "eval/evaluated_rows.hpp"
#include "eval/precision_recall.hpp"
#include "eval/row_ratio.hpp"
#include "margrove/control.hpp"
#include "margrove/options.hpp"

namespace margrove {

/// Names, as text separated by commas.
struct NameList {
  std::vector<std::string> names;
  static NameList parse(std::string_view text);
  std::string to_text() const { return detail::join(names, ","); }
};

struct EvaluationOptions {
  /// Of metrics. "all": every metric that the model and the rows allow. Empty: the same, but
  /// without those of node scores if there are more than most_pairs pairs (row, node).
  NameList metrics = {};
  std::size_t most_pairs = 100'000'000;
  NameList ignored_nodes = {};  // by the metrics of node scores
  bool node_scores = false;     // compute them in any case, for a table
  bool influences = false;      // of the rows on each metric
  int bootstrap = 0;            // resamples; not given: no intervals
  std::uint64_t seed = 0;       // of the bootstrap
  static auto fields() {
    using O = EvaluationOptions;
    return std::tuple{
        field("metrics", &O::metrics,
              "names separated by commas, or all; by default the inexpensive ones"),
        field("ignore_nodes", &O::ignored_nodes,
              "nodes that metrics of node scores leave out in addition to a single root: names "
              "separated by commas, or a file with one name per line"),
        field("bootstrap", &O::bootstrap, at_least(1),
              "95 % bootstrap intervals from so many samples of the rows with replacement"),
        field("seed", &O::seed, at_least(0), "seed of the bootstrap"),
    };
  }
};

struct EvaluatedMetric {
  std::string group;  // a heading
  std::string name;
  double value = 0;
  std::optional<Interval> interval = {};  // 95 %, of metrics that are sums over rows
  /// As RowRatio::influence(), where requested; none of ece.
  std::vector<double> influence = {};
};

struct ModelEvaluation {
  std::vector<EvaluatedMetric> metrics;
  std::vector<std::string> left_out;  // sentences
  std::optional<PrecisionRecall> node_scores;
};

/// Throws InvalidOption for a metric or an ignored node that does not exist, InvalidInput for a
/// metric that was requested by name and that the model or the rows do not allow, OutOfTimeLimit
/// where `control` asks to end. The same bits for any executor.
ModelEvaluation evaluate_rows(const ModelParts& model, const EvaluatedRows& rows,
                              const EvaluationOptions& options, Executor& executor,
                              RunControl* control = nullptr);

}  // namespace margrove
