#include "metrics_bindings.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cmath>
#include <map>
#include <optional>

#include "arrays.hpp"
#include "eval/precision_recall.hpp"
#include "eval/ranking.hpp"
#include "eval/row_ratio.hpp"
#include "eval/selective.hpp"
#include "eval/set_metrics.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/executor.hpp"
#include "model/calibration.hpp"

namespace margrove::python {
namespace {

using namespace nb::literals;

using Values = std::map<std::string, double>;

LabelGraph graph_of(const Edges& given) {
  const Hierarchy hierarchy = hierarchy_of(given);
  std::vector<LabelEdge> edges;
  for (const auto& [parent, child] : hierarchy.edges) edges.push_back({parent, child});
  return LabelGraph::build(static_cast<std::uint32_t>(hierarchy.codec.size()), edges);
}

/// True and predicted label sets of the same rows.
struct Pair {
  Pair(const Sets& of_truth, const Sets& of_prediction)
      : truth(sets_of(of_truth)), predicted(sets_of(of_prediction)) {
    require(truth.num_rows() == predicted.num_rows(), "y_pred: it has ", predicted.num_rows(),
            " rows, but must have ", truth.num_rows(), " as y_true");
  }
  std::vector<bool> right() const {
    std::vector<bool> right;
    for (std::size_t i = 0; i < truth.num_rows(); ++i) {
      right.push_back(std::ranges::equal(truth[i], predicted[i]));
    }
    return right;
  }
  LabelSets truth, predicted;
};

struct SetMetrics {
  SetMetrics(const Pair& sets, const LabelGraph& hierarchy)
      : ratios(label_ratios(sets.truth, sets.predicted, {})) {
    const LabelSets truth = closed_sets(hierarchy, sets.truth);
    const LabelSets predicted = closed_sets(hierarchy, sets.predicted);
    for (RowRatio& ratio : closed_ratios(truth, predicted)) ratios.push_back(std::move(ratio));
    for (RowRatio& ratio : hierarchy_ratios(sets.truth, sets.predicted, hierarchy)) {
      ratios.push_back(std::move(ratio));
    }
    macros.emplace_back("macro_f1", sets.truth, sets.predicted, std::vector<bool>{});
    macros.emplace_back("hierarchical_f1_macro", truth, predicted, std::vector<bool>{});
  }
  std::vector<RowRatio> ratios;
  std::vector<MacroF1> macros;
};

Values set_metrics(const Sets& truth, const Sets& predicted, const Edges& hierarchy) {
  const SetMetrics metrics(Pair(truth, predicted), graph_of(hierarchy));
  Values values;
  for (const RowRatio& ratio : metrics.ratios) values[ratio.name] = ratio.value();
  for (const MacroF1& macro : metrics.macros) values[macro.name()] = macro.value();
  return values;
}

std::pair<double, double> bootstrap_interval(const std::string& metric, const Sets& truth,
                                             const Sets& predicted, const Edges& hierarchy,
                                             int num_resamples, double level, std::uint64_t seed) {
  SetMetrics metrics(Pair(truth, predicted), graph_of(hierarchy));
  std::string known;
  const auto keep_named = [&](auto& all, const auto& name_of) {
    for (const auto& each : all) known += (known.empty() ? "" : ", ") + name_of(each);
    std::erase_if(all, [&](const auto& each) { return name_of(each) != metric; });
  };
  keep_named(metrics.ratios, [](const RowRatio& ratio) { return ratio.name; });
  keep_named(metrics.macros, [](const MacroF1& macro) { return macro.name(); });
  require(metrics.ratios.size() + metrics.macros.size() == 1, "metric is '", metric,
          "', but must be one of ", known);
  Executor executor(0);
  const auto intervals = bootstrap_intervals(
      metrics.ratios, metrics.macros, static_cast<std::size_t>(std::get<0>(truth).size() - 1),
      num_resamples, seed, level, executor);
  return {intervals.front().low, intervals.front().high};
}

/// Rows of an array, to which it refers. Throws InvalidInput if a score is NaN.
ScoreRows rows_of(const Matrix<double>& scores) {
  const std::size_t num_columns = scores.shape(1);
  const std::span<const double> all(scores.data(), scores.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    require(!std::isnan(all[k]), "y_score: row ", k / num_columns, " has nan in column ",
            k % num_columns, ", but must have numbers");
  }
  return {scores.shape(0), num_columns,
          [all, num_columns](std::size_t begin, std::size_t end, std::span<double> block) {
            std::ranges::copy(all.subspan(begin * num_columns, (end - begin) * num_columns),
                              block.begin());
          }};
}

Values ranking_metrics(const Sets& truth, const Matrix<double>& scores,
                       const std::vector<std::size_t>& ks,
                       const std::optional<Vector<std::uint32_t>>& training_rows,
                       std::size_t num_training_rows) {
  std::vector<double> inverse;
  if (training_rows) inverse = inverse_propensities(span_of(*training_rows), num_training_rows);
  Executor executor(0);
  Values values;
  for (const RowRatio& ratio :
       ranking_ratios(rows_of(scores), sets_of(truth), ks, inverse, executor)) {
    values[ratio.name] = ratio.value();
  }
  return values;
}

/// The first columns are the nodes of the hierarchy, the others labels outside it.
Values node_score_metrics(const Sets& truth, const Matrix<double>& scores, const Edges& hierarchy,
                          const std::vector<std::uint32_t>& ignored) {
  const LabelGraph graph = graph_of(hierarchy);
  ScoreRows rows = rows_of(scores);
  const auto given = rows.compute;
  const std::size_t num_columns = rows.num_columns;
  require(num_columns >= graph.num_nodes(), "y_score: it has ", num_columns,
          " columns, but must have one for each of ", graph.num_nodes(), " nodes");
  rows.compute = [&](std::size_t begin, std::size_t end, std::span<double> block) {
    given(begin, end, block);
    for (std::size_t i = 0; i < end - begin; ++i) {
      raise_parents(graph, block.subspan(i * num_columns, num_columns));
    }
  };
  std::vector<bool> counted(num_columns, true);
  if (const auto root = uncounted_root(graph)) counted[*root] = false;
  for (const std::uint32_t n : ignored) counted.at(n) = false;
  Executor executor(0);
  const PrecisionRecall found =
      precision_recall(rows, closed_sets(graph, sets_of(truth)), counted, executor);
  return {{"au_prc", found.pooled},
          {"au_prc_macro", found.macro},
          {"au_prc_weighted", found.weighted},
          {"f_max", found.f_max}};
}

double calibration_error(const Sets& truth, const Sets& predicted,
                         const Vector<double>& confidences, int num_bins) {
  for (std::size_t i = 0; i < confidences.size(); ++i) {
    require(confidences(i) >= 0 && confidences(i) <= 1, "confidence: that of row ", i, " is ",
            confidences(i), ", but must be in [0, 1]");
  }
  require(num_bins > 0, "n_bins is ", num_bins, ", but must be > 0");
  return expected_calibration_error(
      reliability(span_of(confidences), Pair(truth, predicted).right(), num_bins));
}

nb::tuple risk_coverage_of(const Sets& truth, const Sets& predicted,
                           const Vector<double>& confidences) {
  std::vector<double> risks = risk_coverage(span_of(confidences), Pair(truth, predicted).right());
  const double area = area_under(risks);
  return nb::make_tuple(to_numpy(std::move(risks)), area);
}

}  // namespace

void bind_metrics(nb::module_& m) {
  using Released = nb::call_guard<nb::gil_scoped_release>;
  m.def("set_metrics", &set_metrics, "truth"_a.noconvert(), "predicted"_a.noconvert(),
        "hierarchy"_a.noconvert(), Released());
  m.def("bootstrap_interval", &bootstrap_interval, "metric"_a, "truth"_a.noconvert(),
        "predicted"_a.noconvert(), "hierarchy"_a.noconvert(), "num_resamples"_a, "level"_a,
        "seed"_a, Released());
  m.def("ranking_metrics", &ranking_metrics, "truth"_a.noconvert(), "scores"_a.noconvert(), "ks"_a,
        "training_rows"_a.noconvert().none(), "num_training_rows"_a, Released());
  m.def("node_score_metrics", &node_score_metrics, "truth"_a.noconvert(), "scores"_a.noconvert(),
        "hierarchy"_a.noconvert(), "ignored"_a, Released());
  m.def("expected_calibration_error", &calibration_error, "truth"_a.noconvert(),
        "predicted"_a.noconvert(), "confidences"_a.noconvert(), "num_bins"_a);
  m.def("risk_coverage", &risk_coverage_of, "truth"_a.noconvert(), "predicted"_a.noconvert(),
        "confidences"_a.noconvert());
}

}  // namespace margrove::python
