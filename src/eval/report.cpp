#include "eval/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "eval/named_metrics.hpp"
#include "eval/sibling_confusion.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/metrics.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kReliabilityBins = 10;
const std::string_view kDataMark = "%DATA%";
const std::string_view kPage =
#include "report_page.inc"
    ;

/// The labels of a row that the model knows.
LabelSets known_labels(const LabelSets& truth, std::uint32_t num_labels) {
  LabelSets known;
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    set.clear();
    for (const LabelId label : truth[i]) {
      if (label < num_labels) set.push_back(label);
    }
    known.append(set);
  }
  return known;
}

/// Counts of each node and of confused siblings.
struct Counts {
  std::vector<std::int64_t> support, predicted, both;
  SiblingConfusion confused;
};

Counts count(const LabelGraph& graph, const LabelSets& truth, const LabelSets& predicted) {
  Counts counts;
  for (auto* numbers : {&counts.support, &counts.predicted, &counts.both}) {
    numbers->assign(graph.num_nodes(), 0);
  }
  SetCloser closer(graph, SetCloser::Nodes::all);
  std::vector<NodeId> y, p;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    closer.close(truth[i], y);
    closer.close(predicted[i], p);
    for (const NodeId n : y) {
      ++counts.support[n];
      counts.both[n] += std::ranges::binary_search(p, n);
    }
    for (const NodeId n : p) ++counts.predicted[n];
    count_confused(graph, y, p, counts.confused);
  }
  return counts;
}

Json tree_of(const ModelParts& model, const Counts& counts) {
  Json names = Json::array(), parents = Json::array();
  for (NodeId n = 0; n < model.hierarchy.num_nodes(); ++n) {
    names.push_back(model.labels.name(n));
    Json above = Json::array();
    for (const NodeId parent : model.hierarchy.parents(n)) above.push_back(parent);
    parents.push_back(std::move(above));
  }
  return {{"names", std::move(names)}, {"parents", std::move(parents)},
          {"support", counts.support}, {"predicted", counts.predicted},
          {"both", counts.both},       {"training_rows", model.training_rows}};
}

Json confused_pairs(const Counts& counts, int num_pairs) {
  struct Pair {
    NodeId a, b;
    std::int64_t a_as_b = 0, b_as_a = 0;
  };
  std::map<std::pair<NodeId, NodeId>, Pair> pairs;
  for (const auto& [key, number] : counts.confused) {
    const auto [truth, given] = key;
    Pair& pair = pairs[std::minmax(truth, given)];
    pair.a = std::min(truth, given);
    pair.b = std::max(truth, given);
    (truth == pair.a ? pair.a_as_b : pair.b_as_a) += number;
  }
  std::vector<Pair> sorted;
  for (const auto& [key, pair] : pairs) sorted.push_back(pair);
  std::ranges::stable_sort(sorted, [](const Pair& x, const Pair& y) {
    return x.a_as_b + x.b_as_a > y.a_as_b + y.b_as_a;
  });
  Json list = Json::array();
  for (std::size_t k = 0; k < std::min(sorted.size(), static_cast<std::size_t>(num_pairs)); ++k) {
    const Pair& pair = sorted[k];
    list.push_back(
        {{"a", pair.a}, {"b", pair.b}, {"a_as_b", pair.a_as_b}, {"b_as_a", pair.b_as_a}});
  }
  return list;
}

/// NaN becomes null, because JSON has no NaN.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json convergence_of(const FitReport& report) {
  Json curve = Json::array();
  for (const auto& [pass, primal, dual] : report.curve) {
    curve.push_back({pass, number_or_null(primal), number_or_null(dual)});
  }
  return {{"stop", to_string(report.stop)},
          {"passes", report.passes},
          {"objective", number_or_null(report.primal)},
          {"dual", number_or_null(report.dual)},
          {"relative_gap", number_or_null(report.relative_gap)},
          {"curve", std::move(curve)}};
}

Json calibration_of(const ModelParts& model, const CsrView& X, const LabelSets& truth,
                    Executor& executor) {
  if (!model.rows().gives_one_label()) return nullptr;
  std::vector<double> confidences(X.num_rows());
  std::vector<char> right(X.num_rows());
  for_probabilities(model.rows(), model.temperature(), nullptr, X, executor,
                    [&](std::size_t i, const RowProbabilities& row) {
                      const auto best = std::max_element(row.labels.begin(), row.labels.end());
                      const auto label = static_cast<LabelId>(best - row.labels.begin());
                      confidences[i] = *best;
                      right[i] =
                          static_cast<char>(truth[i].size() == 1 && truth[i].front() == label);
                    });
  const auto bins =
      reliability(confidences, std::vector<bool>(right.begin(), right.end()), kReliabilityBins);
  Json list = Json::array();
  for (const ReliabilityBin& bin : bins) {
    list.push_back(
        {{"count", bin.count}, {"confidence", bin.confidence}, {"accuracy", bin.accuracy}});
  }
  return {{"temperature", model.temperature()},
          {"fitted_rows", model.calibration ? model.calibration->num_rows : 0},
          {"error", expected_calibration_error(bins)},
          {"bins", std::move(list)}};
}

Json explanation_json(const ModelParts& model, const Explanation& explanation,
                      const ReportOptions& options) {
  const auto feature_name = [&](FeatureId feature) -> std::string {
    const bool is_intercept = feature == model.num_raw_features();
    if (options.feature_name && !is_intercept) return options.feature_name(feature);
    return model.feature_name(feature);
  };
  Json nodes = Json::array();
  for (const auto& node : explanation.nodes) {
    Json strongest = Json::array();
    for (const auto& part : node.strongest) {
      strongest.push_back({{"feature", feature_name(part.feature)}, {"score", part.score}});
    }
    nodes.push_back({{"label", model.labels.name(node.label)},
                     {"itself", node.is_spawned},
                     {"score", node.score},
                     {"strongest", std::move(strongest)}});
  }
  return {{"label", model.labels.name(explanation.label)},
          {"score", explanation.score},
          {"nodes", std::move(nodes)}};
}

bool can_predict(const LinearPredictor& linear, LabelId label) {
  const auto& parts = linear.parts();
  return std::ranges::any_of(parts.candidates,
                             [&](NodeId n) { return parts.label_of_node[n] == label; });
}

/// Some wrong and some right rows, with the scores of their predicted and true labels.
Json examples_of(const ModelParts& model, const CsrView& X, const LabelSets& truth,
                 const LabelSets& predicted, const ReportOptions& options) {
  const LinearPredictor* linear = model.predictor->linear();
  std::vector<std::uint32_t> order(X.num_rows());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  Random random(options.seed);
  random.shuffle(std::span(order));
  std::stable_partition(order.begin(), order.end(), [&](std::uint32_t i) {
    return !std::ranges::equal(truth[i], predicted[i]);
  });
  const std::size_t wanted =
      std::min(order.size(), static_cast<std::size_t>(std::max(options.num_examples, 0)));
  std::vector<std::uint32_t> chosen(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted - wanted / 2));
  chosen.insert(chosen.end(), order.end() - static_cast<std::ptrdiff_t>(wanted / 2), order.end());
  Json list = Json::array();
  const auto names = [&](std::span<const LabelId> labels) {
    Json array = Json::array();
    for (const LabelId label : labels) array.push_back(model.labels.name(label));
    return array;
  };
  for (const std::uint32_t i : chosen) {
    Json explanations = Json::array();
    std::vector<LabelId> explained(predicted[i].begin(), predicted[i].end());
    for (const LabelId label : truth[i]) {
      if (std::ranges::find(explained, label) == explained.end()) explained.push_back(label);
    }
    for (const LabelId label : explained) {
      if (linear == nullptr || !can_predict(*linear, label)) continue;
      explanations.push_back(explanation_json(
          model, model.explain(X.row(i), label, static_cast<std::size_t>(options.num_features)),
          options));
    }
    list.push_back({{"row", i + 1},
                    {"right", std::ranges::equal(truth[i], predicted[i])},
                    {"truth", names(truth[i])},
                    {"predicted", names(predicted[i])},
                    {"explanations", std::move(explanations)}});
  }
  return list;
}

Json metrics_json(const Metrics& metrics) {
  Json object{{"examples", metrics.examples}};
  for (const auto& [name, value] : named_values(metrics)) object[std::string(name)] = value;
  return object;
}

}  // namespace

std::string report_json(const ModelParts& model, const CsrView& X, const LabelSets& truth,
                        const ReportOptions& options, Executor& executor) {
  require(truth.num_rows() == X.num_rows() && X.num_rows() > 0, "report: there are ", X.num_rows(),
          " rows and ", truth.num_rows(),
          " label sets, but there must be at least one row and one label set per row");
  const LabelSets predicted = model.rows().predict(X, executor);
  const LabelSets known = known_labels(truth, static_cast<std::uint32_t>(model.labels.size()));
  const Counts counts = count(model.hierarchy, known, predicted);
  Json option_list = Json::object();
  for (const auto& [name, value] : model.options) option_list[name] = value;
  const Json content{
      {"title", options.title},
      {"method", model.method},
      {"options", std::move(option_list)},
      {"has_hierarchy", model.has_hierarchy},
      {"metrics",
       metrics_json(compute_metrics(truth, predicted, model.hierarchy, model.in_training()))},
      {"tree", tree_of(model, counts)},
      {"confused", confused_pairs(counts, options.num_pairs)},
      {"convergence", convergence_of(model.report)},
      {"calibration", calibration_of(model, X, truth, executor)},
      {"examples", examples_of(model, X, known, predicted, options)},
  };
  return content.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string report_html(const ModelParts& model, const CsrView& X, const LabelSets& truth,
                        const ReportOptions& options, Executor& executor) {
  std::string data;
  for (const char c : report_json(model, X, truth, options, executor)) {
    if (c == '<') {
      data += "\\u003c";  // so that no text of the data ends the script element
    } else {
      data += c;
    }
  }
  std::string page(kPage);
  const std::size_t mark = page.find(kDataMark);
  page.replace(mark, kDataMark.size(), data);
  return page;
}

}  // namespace margrove
