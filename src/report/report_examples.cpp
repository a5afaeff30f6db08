// Rows with explanations.

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "data/utf8.hpp"
#include "model/linear_predictor.hpp"
#include "report/report_parts.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kMaxTextBytes = 4000;

Json explanation_json(const ModelParts& model, const Explanation& explanation,
                      std::span<const std::string> names, const ReportOptions& options) {
  const auto feature_name = [&](FeatureId feature) -> std::string {
    const bool is_intercept = feature == model.num_raw_features();
    if (options.feature_name && !is_intercept) return options.feature_name(feature);
    return model.feature_name(feature);
  };
  Json nodes = Json::array(), sources = Json::array();
  for (const auto& node : explanation.nodes) {
    Json strongest = Json::array();
    for (const auto& part : node.strongest) {
      strongest.push_back({{"feature", feature_name(part.feature)}, {"score", part.score}});
    }
    nodes.push_back({{"label", names[node.label]},
                     {"itself", node.is_spawned},
                     {"score", node.score},
                     {"strongest", std::move(strongest)}});
  }
  for (const auto& source : explanation.sources) {
    sources.push_back({{"name", source.name}, {"score", source.score}});
  }
  return {{"label", names[explanation.label]},
          {"score", explanation.score},
          {"nodes", std::move(nodes)},
          {"sources", std::move(sources)}};
}

/// The first kMaxTextBytes of a text, and "..." for the rest.
std::string beginning(const std::string& text) {
  if (text.size() <= kMaxTextBytes) return text;
  std::size_t end = kMaxTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

bool is_right(const EvaluatedRows& rows, const LabelSets& predicted, std::uint32_t i) {
  return std::ranges::equal(rows.truth[i], predicted[i]);
}

/// The predicted labels of a row and its true ones that the model predicts at all.
std::vector<LabelId> explained_labels(const ReportInputs& inputs, std::uint32_t row) {
  const RowPredictor& predictor = inputs.model.rows();
  std::vector<float> scores(predictor.num_labels());
  predictor.scores(inputs.rows.X, row, row + 1, scores);
  const auto predicted = inputs.rows.predicted[row];
  std::vector<LabelId> labels(predicted.begin(), predicted.end());
  for (const LabelId label : inputs.rows.truth[row]) {
    const bool has_score =
        label < scores.size() && scores[label] > -std::numeric_limits<float>::infinity();
    if (has_score && std::ranges::find(labels, label) == labels.end()) labels.push_back(label);
  }
  return labels;
}

}  // namespace

std::vector<std::uint32_t> example_rows(const ReportInputs& inputs,
                                        std::span<const ConfusedPair> pairs,
                                        const ReportOptions& options) {
  const EvaluatedRows& rows = inputs.rows;
  std::vector<std::uint32_t> order(rows.truth.num_rows());
  std::iota(order.begin(), order.end(), 0U);
  Random random(options.seed);
  random.shuffle(std::span(order));
  std::stable_partition(order.begin(), order.end(),
                        [&](std::uint32_t i) { return !is_right(rows, rows.predicted, i); });
  const auto most = static_cast<std::size_t>(std::max(options.num_examples, 0));
  const std::size_t wanted = std::min(order.size(), most);
  std::vector<std::uint32_t> chosen(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted - wanted / 2));
  chosen.insert(chosen.end(), order.end() - static_cast<std::ptrdiff_t>(wanted / 2), order.end());
  for (const ConfusedPair& pair : pairs) {
    chosen.insert(chosen.end(), pair.rows.begin(), pair.rows.end());
  }
  if (inputs.other != nullptr) {
    for (const bool by_this : {true, false}) {  // rows that one of the models alone has right
      std::size_t left = most / 2;
      for (const std::uint32_t i : order) {
        if (left == 0) break;
        if (is_right(rows, rows.predicted, i) != by_this) continue;
        if (is_right(rows, inputs.other->labels, i) == by_this) continue;
        chosen.push_back(i);
        --left;
      }
    }
  }
  std::ranges::sort(chosen);
  chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
  return chosen;
}

Json examples_json(const ReportInputs& inputs, std::span<const std::string> names,
                   std::span<const std::uint32_t> rows, const ReportOptions& options) {
  const auto names_of = [&](std::span<const LabelId> labels) {
    Json array = Json::array();
    for (const LabelId label : labels) array.push_back(names[label]);
    return array;
  };
  const int num_features = inputs.model.kernel_features ? 0 : std::max(options.num_features, 0);
  Json list = Json::array();
  for (const std::uint32_t i : rows) {
    Json explanations = Json::array();
    for (const LabelId label : explained_labels(inputs, i)) {
      explanations.push_back(explanation_json(
          inputs.model,
          inputs.model.explain(inputs.rows.X.row(i), label, static_cast<std::size_t>(num_features)),
          names, options));
    }
    Json example{{"row", i + 1},
                 {"right", is_right(inputs.rows, inputs.rows.predicted, i)},
                 {"truth", names_of(inputs.rows.truth[i])},
                 {"predicted", names_of(inputs.rows.predicted[i])},
                 {"explanations", std::move(explanations)}};
    if (!inputs.texts.empty()) example["text"] = beginning(inputs.texts[i]);
    if (inputs.other != nullptr) {
      example["other"] = names_of(inputs.other->labels[i]);
      example["other_right"] = is_right(inputs.rows, inputs.other->labels, i);
    }
    list.push_back(std::move(example));
  }
  return list;
}

}  // namespace margrove::detail
