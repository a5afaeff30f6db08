#include "serve/service.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "data/csr_operations.hpp"
#include "data/text_scan.hpp"
#include "io/model_facts.hpp"
#include "methods/training.hpp"
#include "serve/answer_json.hpp"
#include "serve/openapi.hpp"
#include "serve/request_rows.hpp"

namespace margrove::serve {
namespace {

constexpr std::size_t kRowsAtOnce = 64;  // between two looks at the clock

#include "kServedPage.inc"

constexpr std::array kRoutes{
    Route{"GET", "/", "A page to try models", Place::at_once, false, &Service::page},
    Route{"POST", "/predict", "Predict the labels of rows", Place::in_turn, true,
          &Service::predict},
    Route{"POST", "/explain", "Explain the score of a row", Place::in_turn, true,
          &Service::explain},
    Route{"GET", "/model", "Describe a model", Place::in_turn, true, &Service::model},
    Route{"GET", "/healthz", "Say that the server works", Place::at_once, false, &Service::health},
    Route{"GET", "/metrics", "Counters in Prometheus's text form", Place::at_once, true,
          &Service::metrics},
    Route{"GET", "/openapi.json", "This description", Place::at_once, true, &Service::description},
    Route{"POST", "/reload", "Load models again", Place::loader, true, &Service::reload_models},
};

void require_time(Deadline deadline) {
  if (std::chrono::steady_clock::now() > deadline) {
    throw StatusError(504, "the time for a request is over");
  }
}

/// The media type without its parameters, in small letters.
std::string media_type(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find_first_of("; \t")));
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return type;
}

/// Sets the options of a query and a body.
void set_all(OptionTable table, std::string_view query, const OptionValues& of_body) {
  OptionValues values = parse_query(query);
  values.insert(values.end(), of_body.begin(), of_body.end());
  set_options(table, values);
}

template <class... Structs>
OptionTable table_of(Structs&... structs) {
  struct None {
    static auto fields() { return std::tuple{}; }
  } none;
  OptionTable table(none);
  (table.append(OptionTable(structs)), ...);
  return table;
}

void require_json(const Request& request) {
  if (media_type(request.content_type) != "application/json") {
    throw StatusError(415, concat("content type is '", request.content_type.substr(0, 100),
                                  "', but must be application/json, or application/x-ndjson for a "
                                  "stream to /predict"));
  }
}

RequestBody json_body(const Request& request) {
  require_json(request);
  return parse_request_body(request.body);
}

RequestBody rows_body(const Request& request) {
  RequestBody body = json_body(request);
  require(body.has_rows, "body: it has neither 'row' nor 'rows', but must have one of them");
  require(!body.rows.empty(), "body: 'rows' is empty, but must have at least one row");
  return body;
}

/// Rows as the predictor takes them.
CsrMatrix prepared(const ServedModel& model, std::span<const std::string_view> rows,
                   const std::string& source, std::int64_t first = 1) {
  return preprocess(model.parts(), read_request_rows(model.parts(), rows, source, first));
}

/// Calls use(answer) for the rows of X in order.
template <class Use>
void for_answers(const ServedModel& model, const AnswerOptions& options, const CsrView& X,
                 Deadline deadline, const Use& use) {
  const LabelTexts& texts = model.texts(options.show);
  for (std::size_t begin = 0; begin < X.num_rows(); begin += kRowsAtOnce) {
    require_time(deadline);
    const CsrView block = row_range(X, begin, std::min(begin + kRowsAtOnce, X.num_rows()));
    for (const Answer& answer :
         answer_rows(model.parts(), model.hierarchy(), options, block, Executor::serial())) {
      use(answer_json(answer, options, texts));
    }
  }
}

/// A line of a stream without blanks around it and the CR of its end.
std::string_view trimmed_row(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return detail::trimmed(line);
}

std::string_view kind_name(const ModelParts& model) {
  switch (row_kind(model)) {
    case RowKind::documents:
      return "texts";
    case RowKind::records:
      return "records";
    case RowKind::numbers:
      break;
  }
  return "numbers";
}

}  // namespace

// Errors ------------------------------------------------------------------------------------------

Response error_response(int status, std::string_view message, std::string_view allow) {
  return {status, to_text({{"error", message}}), "application/json", allow};
}

Response error_response(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const StatusError& e) {
    return error_response(e.status(), e.what(), e.allow());
  } catch (const InvalidInput& e) {
    return error_response(400, e.what());
  } catch (const std::bad_alloc&) {
    return {503, R"({"error": "the memory does not suffice for the request"})"};
  } catch (const std::exception& e) {
    return error_response(500, concat("internal error: ", e.what()));
  }
}

// Routes ------------------------------------------------------------------------------------------

std::span<const Route> routes() { return kRoutes; }

Service::Service(ServedModels& models, Metrics& metrics, std::string version, ReadGauges gauges,
                 Log log, bool has_token)
    : models_(models),
      metrics_(metrics),
      version_(std::move(version)),
      gauges_(std::move(gauges)),
      log_(std::move(log)),
      has_token_(has_token) {}

const Route& Service::route_of(std::string_view method, std::string_view path) const {
  const auto has_path = [&](const Route& route) { return route.path == path; };
  const auto found = std::find_if(kRoutes.begin(), kRoutes.end(), has_path);
  if (found == kRoutes.end()) {
    std::string known;
    for (const Route& route : kRoutes) known += concat(known.empty() ? "" : ", ", route.path);
    throw StatusError(404, concat("there is no such path; known: ", known));
  }
  if (method != found->method && !(method == "HEAD" && found->method == "GET")) {
    throw StatusError(405, concat(found->path, " takes ", found->method, " only"),
                      found->method == "GET" ? "GET, HEAD" : "POST");
  }
  return *found;
}

Response Service::answer(const Request& request, Deadline deadline) const {
  try {
    const Route& route = route_of(request.method, request.path);
    require_time(deadline);
    return (this->*route.answer)(request, deadline);
  } catch (...) {
    return error_response(std::current_exception());
  }
}

std::shared_ptr<const ServedModel> Service::find(const std::string& name) const {
  auto model = models_.find(name);
  if (model == nullptr) {
    throw StatusError(404, concat("model is '", name, "', but must be one of ",
                                  detail::join(models_.names(), ", ")));
  }
  return model;
}

Response Service::page(const Request& request, Deadline) const {
  set_all(table_of(), request.query, {});
  return {200, std::string(kServedPage), "text/html; charset=utf-8"};
}

Response Service::predict(const Request& request, Deadline deadline) const {
  const RequestBody body = rows_body(request);
  AnswerOptions options;
  ModelChoice choice;
  set_all(table_of(options, choice), request.query, body.options);
  const auto model = find(choice.model);
  options.check(model->parts());
  Json predictions = Json::array();
  for_answers(*model, options, prepared(*model, body.rows, "row"), deadline,
              [&](Json answer) { predictions.push_back(std::move(answer)); });
  metrics_.count_rows(model->name(), predictions.size());
  return {200, to_text({{"model", model->name()}, {"predictions", std::move(predictions)}})};
}

Response Service::explain(const Request& request, Deadline deadline) const {
  const RequestBody body = rows_body(request);
  require(body.rows.size() == 1, "body: 'rows' has ", body.rows.size(),
          " rows, but only one can be explained");
  ExplainOptions options;
  ModelChoice choice;
  set_all(table_of(options, choice), request.query, body.options);
  const auto model = find(choice.model);
  const ModelParts& parts = model->parts();
  const CsrMatrix X = prepared(*model, body.rows, "row");
  const LabelSets predicted = parts.rows().predict(X, Executor::serial());
  std::vector<LabelId> explained(predicted[0].begin(), predicted[0].end());
  Json labels = Json::array();
  for (const LabelId label : explained) labels.push_back(parts.labels.name(label));
  if (!options.label.empty()) {
    const auto id = parts.labels.find(options.label);
    require<InvalidOption>(id.has_value(), "option label is '", options.label,
                           "', but must be a label of the model");
    require_explainable(parts, X, *id);
    explained = {*id};
  }
  Json explanations = Json::array();
  for (const LabelId label : explained) {
    require_time(deadline);
    explanations.push_back(explanation_json(
        parts, parts.explain(X.row(0), label, static_cast<std::size_t>(options.features))));
  }
  return {200, to_text({{"model", model->name()},
                        {"labels", std::move(labels)},
                        {"explanations", std::move(explanations)}})};
}

Response Service::model(const Request& request, Deadline) const {
  ModelChoice choice;
  set_all(table_of(choice), request.query, {});
  const auto model = find(choice.model);
  Json facts = Json::array();
  for (const auto& [name, value] : model_facts(model->parts())) {
    facts.push_back({{"name", name}, {"value", value}});
  }
  return {200, to_text({{"model", model->name()},
                        {"models", models_.names()},
                        {"method", model->parts().method},
                        {"rows", kind_name(model->parts())},
                        {"facts", std::move(facts)}})};
}

Response Service::health(const Request& request, Deadline) const {
  set_all(table_of(), request.query, {});
  return {200, to_text({{"status", "ok"}, {"models", models_.names()}})};
}

Response Service::metrics(const Request& request, Deadline) const {
  set_all(table_of(), request.query, {});
  return {200, metrics_.text(version_, gauges_()), "text/plain; version=0.0.4; charset=utf-8"};
}

Response Service::description(const Request& request, Deadline) const {
  set_all(table_of(), request.query, {});
  return {200, openapi_text(version_, has_token_)};
}

std::vector<Reloaded> Service::reload(std::string_view name) const {
  std::vector<Reloaded> outcomes = models_.reload(name);
  std::string loaded;
  for (const Reloaded& each : outcomes) {
    metrics_.count_reload(each.name, each.error.empty());
    if (each.error.empty()) {
      loaded += concat(loaded.empty() ? "" : ", ", each.name);
    } else {
      log_(concat("not loaded: ", each.name, ", the old model stays: ", each.error));
    }
  }
  if (!loaded.empty()) log_(concat("loaded again: ", loaded));
  return outcomes;
}

Response Service::reload_models(const Request& request, Deadline) const {
  ModelChoice choice;
  // Without a body, too: pages of other servers can send any other type unasked.
  require_json(request);
  const RequestBody body = request.body.empty() ? RequestBody() : json_body(request);
  require(!body.has_rows, "body: it has rows, but /reload takes none");
  set_all(table_of(choice), request.query, body.options);
  if (!choice.model.empty()) find(choice.model);
  Json reloaded = Json::array(), kept = Json::array();
  std::string errors;
  for (const Reloaded& each : reload(choice.model)) {
    if (each.error.empty()) {
      reloaded.push_back(each.name);
    } else {
      kept.push_back({{"model", each.name}, {"error", each.error}});
      errors +=
          concat(errors.empty() ? "" : "; ", "model ", each.name, " stays as it is: ", each.error);
    }
  }
  Json answer{{"reloaded", std::move(reloaded)}, {"kept", std::move(kept)}};
  if (errors.empty()) return {200, to_text(answer)};
  answer["error"] = errors;
  return {409, to_text(answer)};
}

// Streams -----------------------------------------------------------------------------------------

bool is_stream(std::string_view method, std::string_view path, std::string_view content_type) {
  const std::string type = media_type(content_type);
  return method == "POST" && path == "/predict" &&
         (type == "application/x-ndjson" || type == "application/jsonl");
}

PredictStream::PredictStream(const Service& service, std::string_view query,
                             std::size_t max_line_bytes)
    : service_(service), max_line_bytes_(max_line_bytes) {
  ModelChoice choice;
  set_all(table_of(options_, choice), query, {});
  model_ = service_.find(choice.model);
  options_.check(model_->parts());
}

void PredictStream::take(std::string_view bytes, Deadline deadline, std::string& answers) {
  const std::size_t newline = bytes.rfind('\n');
  const bool has_end = newline != std::string_view::npos;
  std::string lines = std::move(rest_);
  if (has_end) lines += bytes.substr(0, newline + 1);
  rest_ = has_end ? std::string(bytes.substr(newline + 1)) : lines.append(bytes);
  if (rest_.size() > max_line_bytes_) {
    throw StatusError(
        413, concat("line:", num_lines_ + 1, ": it has more than ", max_line_bytes_, " bytes"));
  }
  if (has_end) take_lines(lines, deadline, answers);
}

void PredictStream::finish(Deadline deadline, std::string& answers) {
  const std::string line = std::move(rest_);
  rest_.clear();
  if (!line.empty()) take_lines(line, deadline, answers);
}

void PredictStream::take_lines(std::string_view lines, Deadline deadline, std::string& answers) {
  std::vector<std::string_view> rows;
  const auto answer = [&](std::int64_t after) {
    if (!rows.empty()) {
      answer_block(rows, after - static_cast<std::int64_t>(rows.size()), deadline, answers);
    }
    rows.clear();
  };
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = trimmed_row(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++num_lines_;
    if (line.empty()) {
      answer(num_lines_);
    } else {
      rows.push_back(line);
      if (rows.size() == kRowsAtOnce) answer(num_lines_ + 1);
    }
  }
  answer(num_lines_ + 1);
}

void PredictStream::answer_block(std::span<const std::string_view> rows, std::int64_t first,
                                 Deadline deadline, std::string& answers) {
  require_time(deadline);
  try {
    append_answers(rows, first, answers);
  } catch (const InvalidInput&) {
    if (rows.size() == 1) throw;
    for (std::size_t i = 0; i < rows.size(); ++i) {  // up to the wrong one
      append_answers(rows.subspan(i, 1), first + static_cast<std::int64_t>(i), answers);
    }
  }
}

void PredictStream::append_answers(std::span<const std::string_view> rows, std::int64_t first,
                                   std::string& answers) const {
  const CsrMatrix X = prepared(*model_, rows, "line", first);
  for_answers(*model_, options_, X, Deadline::max(), [&](const Json& answer) {
    answers += to_text(answer);
    answers += '\n';
  });
  service_.metrics_.count_rows(model_->name(), rows.size());
}

}  // namespace margrove::serve
