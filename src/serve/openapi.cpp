#include "serve/openapi.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "margrove/options.hpp"
#include "serve/answer_json.hpp"
#include "serve/service.hpp"

namespace margrove::serve {
namespace {

Json of_type(std::string_view type) { return {{"type", type}}; }
Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
Json reference(std::string_view schema) {
  return {{"$ref", concat("#/components/schemas/", schema)}};
}

/// An object with exactly these keys, of which the optional ones may be missing.
Json object_of(Json properties, std::initializer_list<std::string_view> optional = {}) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) {
    if (std::find(optional.begin(), optional.end(), name) == optional.end()) {
      required.push_back(name);
    }
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

/// The schema of an option's value.
Json option_schema(const OptionInfo& info) {
  if (info.type == "switch") return of_type("boolean");
  if (info.type == "text") return of_type("string");
  if (info.type == "choice") {
    Json values = Json::array();
    for (std::string_view rest = info.range; !rest.empty();) {
      const std::size_t end = std::min(rest.find(" | "), rest.size());
      values.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 3, rest.size()));
    }
    return {{"type", "string"}, {"enum", std::move(values)}};
  }
  Json schema = of_type(info.type == "integer" ? "integer" : "number");
  // The ranges of at_least() and between().
  const std::string_view range = info.range;
  if (range.starts_with(">= ")) schema["minimum"] = Json::parse(range.substr(3));
  if (range.starts_with("in [")) {
    const Json bounds = Json::parse(range.substr(3));
    schema["minimum"] = bounds[0];
    schema["maximum"] = bounds[1];
  }
  return schema;
}

/// Those of an answer, and which model gives it.
template <class Options>
std::vector<OptionInfo> infos_of() {
  Options options;
  ModelChoice choice;
  OptionTable table(options);
  table.append(OptionTable(choice));
  return table.list();
}
std::vector<OptionInfo> infos_of_choice() {
  ModelChoice choice;
  return OptionTable(choice).list();
}

/// The options as keys of a body.
Json body_options(const std::vector<OptionInfo>& infos) {
  Json properties = Json::object();
  for (const OptionInfo& info : infos) {
    properties[info.name] = option_schema(info);
    properties[info.name]["description"] = info.help;
  }
  return properties;
}
/// The options as parameters of the query.
Json query_options(const std::vector<OptionInfo>& infos) {
  Json parameters = Json::array();
  for (const OptionInfo& info : infos) {
    parameters.push_back({{"name", info.name},
                          {"in", "query"},
                          {"description", info.help},
                          {"schema", option_schema(info)}});
  }
  return parameters;
}

/// The body of a request with rows: options beside one of the two keys.
Json rows_schema(const std::vector<OptionInfo>& infos, bool has_many) {
  Json properties = body_options(infos);
  properties["row"] = reference("Row");
  properties["rows"] = list_of(reference("Row"));
  properties["rows"]["minItems"] = 1;
  if (!has_many) properties["rows"]["maxItems"] = 1;
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"additionalProperties", false},
          {"oneOf", Json::array({{{"required", {"row"}}}, {{"required", {"rows"}}}})}};
}

/// The form of a suggestion, which may have other fields, too.
Json form_schema() {
  Json properties{{"text", of_type("string")}};
  properties.update(body_options(infos_of<SuggestOptions>()));
  properties["project"] = {{"type", "string"}, {"description", "another word for model"}};
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", {"text"}}};
}

Json part_schema(std::string_view name, bool has_value) {
  Json properties{{name, of_type("string")}};
  if (has_value) {
    properties["value"] = of_type("number");
    properties["centre"] = of_type("number");
  }
  properties["weight"] = of_type("number");
  properties["score"] = of_type("number");
  return object_of(std::move(properties));
}

Json explanation_schema() {
  const Json node = object_of({{"label", of_type("string")},
                               {"itself", of_type("boolean")},
                               {"score", of_type("number")},
                               {"strongest", list_of(part_schema("feature", true))}});
  const Json source = object_of({{"name", of_type("string")},
                                 {"score", of_type("number")},
                                 {"strongest", list_of(part_schema("kernels", false))}});
  return object_of({{"label", of_type("string")},
                    {"score", of_type("number")},
                    {"nodes", list_of(node)},
                    {"sources", list_of(source)}});
}

Json schemas() {
  const Json text = of_type("string"), texts = list_of(text), numbers = list_of(of_type("number"));
  const Json fact = object_of({{"name", text}, {"value", text}});
  const Json suggestion =
      object_of({{"uri", text}, {"label", text}, {"score", of_type("number")}}, {"label"});
  const Json kept = object_of({{"model", text}, {"error", text}});
  return {
      {"Row",
       {{"description",
         "Of a model of texts: the text, or {\"text\": text}; of named columns: an object with "
         "them; of numbers: a line of SVMlight, or {\"features\": {index: number}}; of several "
         "views: "
         "{\"views\": {name: row of numbers}}; of sentences: a list of tokens, each a text, the "
         "list of its columns, or the object of its features where the model was trained on such."},
        {"type", {"string", "object", "array"}}}},
      {"PredictRequest", rows_schema(infos_of<AnswerOptions>(), true)},
      {"ExplainRequest", rows_schema(infos_of<ExplainOptions>(), false)},
      {"SuggestRequest", form_schema()},
      {"ReloadRequest",
       {{"type", "object"},
        {"properties", body_options(infos_of_choice())},
        {"additionalProperties", false}}},
      {"Prediction",
       object_of({{"labels", texts},
                  {"scores", numbers},
                  {"probabilities", numbers},
                  {"tags", texts},
                  {"heads", list_of(of_type("integer"))},
                  {"relations", texts}},
                 {"labels", "scores", "probabilities", "tags", "heads", "relations"})},
      {"Predictions",
       object_of({{"model", text}, {"predictions", list_of(reference("Prediction"))}})},
      {"Explanation", explanation_schema()},
      {"Explanations", object_of({{"model", text},
                                  {"labels", texts},
                                  {"explanations", list_of(reference("Explanation"))},
                                  {"lines", texts}},
                                 {"labels", "explanations", "lines"})},
      {"Model", object_of({{"model", text},
                           {"models", texts},
                           {"method", text},
                           {"rows", {{"enum", {"texts", "records", "numbers"}}}},
                           {"is_trained", {{"const", true}}},
                           {"modification_time", {{"type", {"string", "null"}}}},
                           {"facts", list_of(fact)}})},
      {"Suggestions", object_of({{"results", list_of(suggestion)}})},
      {"Health", object_of({{"status", {{"const", "ok"}}}, {"models", texts}})},
      {"Reloads",
       object_of({{"reloaded", texts}, {"kept", list_of(kept)}, {"error", text}}, {"error"})},
      {"Error", object_of({{"error", text}})},
  };
}

Json content(std::string_view type, Json schema) {
  return {{type, {{"schema", std::move(schema)}}}};
}

/// What sets a route's operation apart from the others.
struct Operation {
  std::string_view path;
  std::string_view request, response;  // schemas; empty: none, text
  std::vector<OptionInfo> options;
  std::vector<int> errors;
  std::string_view media_type = "application/json";  // of the answer
  std::string_view request_type = "application/json";
};

std::vector<Operation> operations() {
  return {
      {"/", "", "", {}, {400}, "text/html"},
      {"/predict",
       "PredictRequest",
       "Predictions",
       infos_of<AnswerOptions>(),
       {400, 404, 408, 413, 415, 503, 504}},
      {"/explain",
       "ExplainRequest",
       "Explanations",
       infos_of<ExplainOptions>(),
       {400, 404, 408, 413, 415, 503, 504}},
      {"/model", "", "Model", infos_of_choice(), {400, 404, 503, 504}},
      {"/model/suggest",
       "SuggestRequest",
       "Suggestions",
       infos_of<SuggestOptions>(),
       {400, 404, 408, 413, 415, 503, 504},
       "application/json",
       "application/x-www-form-urlencoded"},
      {"/healthz", "", "Health", {}, {400}},
      {"/metrics", "", "", {}, {400}, "text/plain"},
      {"/openapi.json", "", "", {}, {400}},
      {"/reload", "ReloadRequest", "Reloads", infos_of_choice(), {400, 404, 408, 413, 415, 503}},
  };
}

std::string_view meaning(int status) {
  switch (status) {
    case 400:
      return "The request is wrong: the message names the place";
    case 401:
      return "The token is missing or wrong";
    case 403:
      return "The request names another host, or comes from a page of another server";
    case 404:
      return "There is no such model";
    case 408:
      return "The request did not arrive in time";
    case 413:
      return "The body or the answer is too large";
    case 415:
      return "The body is of another type";
    case 503:
      return "Too many requests wait, or the memory is short";
    default:
      return "The answer was not ready in time";
  }
}

Json operation_json(const Route& route, const Operation& operation, bool has_token) {
  const std::size_t begin = route.path.rfind('/') + 1;
  const std::string_view name = route.path.substr(begin, route.path.find('.') - begin);
  Json json{{"summary", route.summary}, {"operationId", name.empty() ? "page" : name}};
  if (!operation.options.empty()) json["parameters"] = query_options(operation.options);
  const bool is_predict = route.path == "/predict";
  if (!operation.request.empty()) {
    Json types = content(operation.request_type, reference(operation.request));
    if (is_predict) types["application/x-ndjson"] = {{"schema", reference("Row")}};
    json["requestBody"] = {{"required", true}, {"content", std::move(types)}};
  }
  Json answer;
  if (!operation.response.empty()) {
    answer = content("application/json", reference(operation.response));
    if (is_predict) answer["application/x-ndjson"] = {{"schema", reference("Prediction")}};
  } else {
    const bool is_json = operation.media_type == "application/json";
    answer = content(operation.media_type, of_type(is_json ? "object" : "string"));
  }
  Json responses{{"200", {{"description", "Done"}, {"content", std::move(answer)}}}};
  const Json error = content("application/json", reference("Error"));
  std::vector<int> errors = operation.errors;
  if (has_token && route.needs_token) errors.push_back(401);
  errors.push_back(403);
  for (const int status : errors) {
    responses[concat(status)] = {{"description", meaning(status)}, {"content", error}};
  }
  if (route.path == "/reload") {
    responses["409"] = {{"description", "A file cannot be loaded; the old model stays"},
                        {"content", content("application/json", reference("Reloads"))}};
  }
  json["responses"] = std::move(responses);
  if (has_token && !route.needs_token) json["security"] = Json::array();
  return json;
}

}  // namespace

std::string openapi_text(std::string_view version, bool has_token) {
  Json paths = Json::object();
  for (const Operation& operation : operations()) {
    for (const Route& route : routes()) {
      if (route.path != operation.path) continue;
      const char* method = route.method == "GET" ? "get" : "post";
      paths[std::string(route.path)] = {{method, operation_json(route, operation, has_token)}};
    }
  }
  Json components{{"schemas", schemas()}};
  Json description{{"openapi", "3.1.0"},
                   {"info", {{"title", "margrove serve"}, {"version", version}}},
                   {"paths", std::move(paths)}};
  if (has_token) {
    components["securitySchemes"] = {{"token", {{"type", "http"}, {"scheme", "bearer"}}}};
    description["security"] = Json::array({{{"token", Json::array()}}});
  }
  description["components"] = std::move(components);
  return to_text(description);
}

}  // namespace margrove::serve
