#include "serve/answer_json.hpp"

#include <utility>

namespace margrove::serve {
namespace {

Json node_json(const ModelParts& model, const Explanation::Node& node) {
  Json strongest = Json::array();
  for (const auto& part : node.strongest) {
    strongest.push_back({{"feature", model.feature_name(part.feature)},
                         {"value", part.value},
                         {"centre", part.centre},
                         {"weight", part.weight},
                         {"score", part.score}});
  }
  return {{"label", model.labels.name(node.label)},
          {"itself", node.is_spawned},
          {"score", node.score},
          {"strongest", std::move(strongest)}};
}

Json source_json(const Explanation::Source& source) {
  Json strongest = Json::array();
  for (const auto& path : source.strongest) {
    strongest.push_back({{"kernels", path.name}, {"weight", path.weight}, {"score", path.score}});
  }
  return {{"name", source.name}, {"score", source.score}, {"strongest", std::move(strongest)}};
}

}  // namespace

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json answer_json(const Answer& answer, const AnswerOptions& options, const LabelTexts& texts) {
  Json labels = Json::array();
  for (const LabelId label : answer.labels) labels.push_back(texts.names[label]);
  Json json{{"labels", std::move(labels)}};
  if (options.scores) json["scores"] = answer.numbers;
  if (options.probabilities) json["probabilities"] = answer.numbers;
  return json;
}

Json answer_json(const Sentence& answer, std::span<const AnswerColumn> columns) {
  Json json = Json::object();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    Json values = Json::array();
    for (const Token& token : answer) {
      values.push_back(columns[c].is_number ? Json::parse(token[c]) : Json(token[c]));
    }
    json[std::string(columns[c].name)] = std::move(values);
  }
  return json;
}

Json suggestion_json(const ModelParts& model, LabelId label, double probability) {
  Json json{{"uri", model.labels.name(label)}};
  const bool has_name = !model.label_names.empty() && !model.label_names[label].empty();
  if (has_name) json["label"] = model.label_names[label];
  json["score"] = probability;
  return json;
}

Json explanation_json(const ModelParts& model, const Explanation& explanation) {
  Json json{{"label", model.labels.name(explanation.label)}, {"score", explanation.score}};
  Json nodes = Json::array();
  for (const auto& node : explanation.nodes) nodes.push_back(node_json(model, node));
  Json sources = Json::array();
  for (const auto& source : explanation.sources) sources.push_back(source_json(source));
  json["nodes"] = std::move(nodes);
  json["sources"] = std::move(sources);
  return json;
}

}  // namespace margrove::serve
