#include "eval/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "base/out_of_time.hpp"
#include "eval/metric_choice.hpp"
#include "eval/ranking.hpp"
#include "eval/selective.hpp"
#include "eval/set_metrics.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/errors.hpp"
#include "model/calibration.hpp"

namespace margrove {
namespace {

constexpr int kBins = 15;
constexpr double kLevel = 0.95;

/// Computes the requested metrics.
class Evaluator {
 public:
  Evaluator(const ModelParts& model, const EvaluatedRows& rows, const EvaluationOptions& options,
            Executor& executor, RunControl* control)
      : model_(model),
        rows_(rows),
        options_(options),
        choice_(options.metrics.names),
        executor_(executor),
        control_(control) {}

  ModelEvaluation run() {
    require(rows_.truth.num_rows() > 0, "metrics: number of rows is 0, but must be > 0");
    ignored_ = ignored_columns();
    measure_labels();
    measure_nodes();
    measure_hierarchy();
    measure_ranking();
    measure_node_scores();
    measure_probabilities();
    require_all_named();
    add_intervals();
    return std::move(result_);
  }

 private:
  bool gives_one_label() const { return model_.rows().gives_one_label(); }

  void add(MetricFamily family, std::string name, double value,
           std::vector<double> influence = {}) {
    if (choice_.wants(name)) {
      result_.metrics.push_back(
          {std::string(heading(family)), std::move(name), value, {}, std::move(influence)});
    }
  }
  template <class Metric>
  std::vector<double> influence_on(const Metric& metric) const {
    return options_.influences ? metric.influence() : std::vector<double>();
  }
  void add(MetricFamily family, RowRatio ratio) {
    if (!choice_.wants(ratio.name)) return;
    add(family, ratio.name, ratio.value(), influence_on(ratio));
    if (options_.bootstrap > 0) ratios_.push_back(std::move(ratio));
  }
  void add(MetricFamily family, MacroF1 macro) {
    if (!choice_.wants(macro.name())) return;
    add(family, macro.name(), macro.value(), influence_on(macro));
    if (options_.bootstrap > 0) macros_.push_back(std::move(macro));
  }

  void measure_labels() {
    constexpr auto kFamily = MetricFamily::labels;
    if (!choice_.wants_any(kFamily)) return;
    auto ratios = label_ratios(rows_.truth, rows_.predicted, rows_.in_training);
    for (std::size_t k = 0; k + 1 < ratios.size(); ++k) add(kFamily, std::move(ratios[k]));
    add(kFamily, MacroF1("macro_f1", rows_.truth, rows_.predicted, rows_.in_training));
    add(kFamily, std::move(ratios.back()));
  }

  /// Whether metrics of the hierarchy are as those of label sets, and nobody asked for them.
  bool has_nothing_further() const {
    return rows_.hierarchy.num_edges() == 0 && choice_.is_default();
  }

  void measure_nodes() {
    constexpr auto kFamily = MetricFamily::nodes;
    if (!choice_.wants_any(kFamily)) return;
    const LabelSets truth = closed_sets(rows_.hierarchy, rows_.truth);
    const LabelSets predicted = closed_sets(rows_.hierarchy, rows_.predicted);
    for (RowRatio& ratio : closed_ratios(truth, predicted)) add(kFamily, std::move(ratio));
    if (has_nothing_further()) return;
    add(kFamily, MacroF1("hierarchical_f1_macro", truth, predicted,
                         closed_training(rows_.hierarchy, rows_.in_training)));
  }

  void measure_hierarchy() {
    constexpr auto kFamily = MetricFamily::hierarchy;
    if (!choice_.wants_any(kFamily) || has_nothing_further()) return;
    for (RowRatio& ratio : hierarchy_ratios(rows_.truth, rows_.predicted, rows_.hierarchy)) {
      add(kFamily, std::move(ratio));
    }
  }

  void measure_ranking() {
    constexpr auto kFamily = MetricFamily::ranking;
    if (!choice_.wants_any(kFamily)) return;
    std::vector<std::size_t> ks = choice_.ranks();
    std::erase_if(ks, [&](std::size_t k) { return k > model_.rows().num_labels(); });
    std::vector<double> inverse;
    if (rows_.num_training_rows >= 3) {
      inverse = inverse_propensities(rows_.training_rows, rows_.num_training_rows);
    }
    const ScoreRows scores = watched(label_score_rows(model_, rows_));
    for (RowRatio& ratio : ranking_ratios(scores, rows_.truth, ks, inverse, executor_)) {
      add(kFamily, std::move(ratio));
    }
  }

  void measure_node_scores() {
    constexpr auto kFamily = MetricFamily::node_scores;
    if (!choice_.wants_any(kFamily) && !options_.node_scores) return;
    const std::size_t pairs = rows_.truth.num_rows() * rows_.labels.size();
    if (choice_.is_default() && !options_.node_scores && pairs > options_.most_pairs) {
      result_.left_out.push_back(concat("metrics of node scores are left out: there are ", pairs,
                                        " pairs (row, node), more than ", options_.most_pairs,
                                        "; request them by name or request all"));
      return;
    }
    std::vector<bool> counted(rows_.labels.size(), true);
    for (const NodeId n : ignored_) counted[n] = false;
    const ScoreRows scores = watched(node_score_rows(model_, rows_));
    const PrecisionRecall found = precision_recall(
        scores, closed_sets(rows_.hierarchy, rows_.truth), counted, executor_, options_.influences);
    const auto influence = [&](double PrecisionRecall::Influence::*value) {
      std::vector<double> of_rows;
      for (const auto& row : found.influence) of_rows.push_back(row.*value);
      return of_rows;
    };
    using Influence = PrecisionRecall::Influence;
    add(kFamily, "au_prc", found.pooled, influence(&Influence::pooled));
    add(kFamily, "au_prc_macro", found.macro, influence(&Influence::macro));
    add(kFamily, "au_prc_weighted", found.weighted, influence(&Influence::weighted));
    add(kFamily, "f_max", found.f_max, influence(&Influence::f_max));
    result_.node_scores = found;
  }

  /// Scores whose computation ends where the control asks to.
  ScoreRows watched(ScoreRows scores) const {
    if (control_ == nullptr) return scores;
    scores.compute = [control = control_, compute = std::move(scores.compute)](
                         std::size_t begin, std::size_t end, std::span<double> block) {
      require<OutOfTimeLimit>(control->proceed(), "metrics: the time is up");
      compute(begin, end, block);
    };
    return scores;
  }

  std::vector<NodeId> ignored_columns() const {
    std::vector<NodeId> ignored;
    if (const auto root = uncounted_root(rows_.hierarchy)) ignored.push_back(*root);
    for (const std::string& name : options_.ignored_nodes.names) {
      const auto node = rows_.labels.find(name);
      require<InvalidOption>(node && *node < rows_.hierarchy.num_nodes(),
                             "option ignore_nodes has '", name,
                             "', but must have nodes of the hierarchy");
      ignored.push_back(*node);
    }
    return ignored;
  }

  void measure_probabilities() {
    constexpr auto kFamily = MetricFamily::probabilities;
    if (!choice_.wants_any(kFamily) || !gives_one_label()) return;
    const Confidences found = confidences_of(model_, rows_, executor_);
    if (model_.calibration) {
      add(kFamily, log_loss(found));
      add(kFamily, mean_of_known("brier", found.square_error));
      add(kFamily, "ece",
          expected_calibration_error(reliability(found.confidence, found.right, kBins)));
    }
    add(kFamily, "risk_coverage_area", area_under(risk_coverage(found.confidence, found.right)),
        options_.influences ? influence_on_area(found.confidence, found.right)
                            : std::vector<double>());
  }

  /// Rows with a value that is not NaN.
  static RowRatio mean_of_known(std::string name, std::span<const double> values) {
    RowRatio ratio{std::move(name), {}};
    for (const double value : values) {
      ratio.part.push_back(std::isnan(value) ? 0.0 : value);
      ratio.whole.push_back(std::isnan(value) ? 0.0 : 1.0);
    }
    return ratio;
  }
  static RowRatio log_loss(const Confidences& found) {
    constexpr double kLeast = std::numeric_limits<double>::epsilon();
    std::vector<double> losses;
    for (const double p : found.of_truth) losses.push_back(-std::log(p < kLeast ? kLeast : p));
    return mean_of_known("log_loss", losses);
  }

  void require_all_named() const {
    for (const std::string& name : choice_.named()) {
      const bool is_there = std::ranges::any_of(
          result_.metrics, [&](const EvaluatedMetric& metric) { return metric.name == name; });
      require(is_there, "metric ", name, " was requested, but ", obstacle(name));
    }
  }

  void add_intervals() {
    if (options_.bootstrap == 0) return;
    const auto intervals =
        bootstrap_intervals(ratios_, macros_, rows_.truth.num_rows(), options_.bootstrap,
                            options_.seed, kLevel, executor_);
    for (EvaluatedMetric& metric : result_.metrics) {
      for (std::size_t k = 0; k < intervals.size(); ++k) {
        const std::string& name =
            k < ratios_.size() ? ratios_[k].name : macros_[k - ratios_.size()].name();
        if (name == metric.name) metric.interval = intervals[k];
      }
    }
  }

  const ModelParts& model_;
  const EvaluatedRows& rows_;
  const EvaluationOptions& options_;
  MetricChoice choice_;
  Executor& executor_;
  RunControl* control_;
  std::vector<NodeId> ignored_;
  ModelEvaluation result_;
  std::vector<RowRatio> ratios_;
  std::vector<MacroF1> macros_;
};

}  // namespace

NameList NameList::parse(std::string_view text) {
  NameList list;
  std::istringstream stream{std::string(text)};
  for (std::string name; std::getline(stream, name, ',');) list.names.push_back(std::move(name));
  return list;
}

ModelEvaluation evaluate_rows(const ModelParts& model, const EvaluatedRows& rows,
                              const EvaluationOptions& options, Executor& executor,
                              RunControl* control) {
  return Evaluator(model, rows, options, executor, control).run();
}

}  // namespace margrove
