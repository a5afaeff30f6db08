#include "serve/service.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/out_of_time.hpp"
#include "data/csr_operations.hpp"
#include "data/text_scan.hpp"
#include "methods/training.hpp"
#include "model/finite_scores.hpp"
#include "serve/answer_json.hpp"
#include "serve/openapi.hpp"
#include "serve/row_answers.hpp"
#include "serve/utc_time.hpp"

namespace margrove::serve {
namespace {

constexpr std::size_t kAnswersAtOnce = 64 * 1024;  // bytes of a stream
constexpr std::size_t kBytesPerPlace = 3 * sizeof(std::string_view);
// A control character has six bytes in a row of JSON, whose memory doubles as it grows.
constexpr std::size_t kBytesPerFormByte = 20;

#include "kServedPage.inc"

constexpr std::array kRoutes{
    Route{"GET", "/", "A page to try models", Place::at_once, false, &Service::page},
    Route{"POST", "/predict", "Predict the labels of rows", Place::in_turn, true,
          &Service::predict},
    Route{"POST", "/explain", "Explain the score of a row", Place::in_turn, true,
          &Service::explain},
    Route{"GET", "/model", "Describe a model", Place::in_turn, true, &Service::model},
    Route{"POST", "/model/suggest", "Suggest labels of a text to Annif", Place::in_turn, true,
          &Service::suggest},
    Route{"GET", "/healthz", "Say that the server works", Place::at_once, false, &Service::health},
    Route{"GET", "/metrics", "Counters in Prometheus's text form", Place::at_once, true,
          &Service::metrics},
    Route{"GET", "/openapi.json", "This description", Place::at_once, true, &Service::description},
    Route{"POST", "/reload", "Load models again", Place::loader, true, &Service::reload_models},
};

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

void require_type(const Request& request, std::string_view type, std::string_view others = {}) {
  if (media_type(request.content_type) != type) {
    throw StatusError(415, concat("content type is '", request.content_type.substr(0, 100),
                                  "', but must be ", type, others));
  }
}

void require_json(const Request& request) {
  require_type(request, "application/json", ", or application/x-ndjson for a stream to /predict");
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

/// The lines of a text, without their ends.
Json lines_of(std::string_view text) {
  Json lines = Json::array();
  while (!text.empty()) lines.push_back(detail::take_to('\n', text));
  return lines;
}

/// What a row of a request is, as docs/serving.md names it.
std::string_view form_of_rows(const ServedModel& model) {
  if (model.sentences() != nullptr) return "sentences";
  return model.parts().views.empty() ? info_of(row_kind(model.parts())).name : "views";
}

void require_texts(const ServedModel& model) {
  const bool has_texts = model.sentences() == nullptr && model.parts().views.empty() &&
                         info_of(row_kind(model.parts())).are_texts;
  require(has_texts, "model ", model.name(), " takes ", form_of_rows(model),
          ", but /model/suggest has texts only; POST /predict takes all rows");
}

/// A label and its probability.
using Suggestion = std::pair<double, LabelId>;

std::vector<Suggestion> suggestions_of(const Answer& answer) {
  std::vector<Suggestion> suggestions;
  for (std::size_t k = 0; k < answer.labels.size(); ++k) {
    if (answer.numbers[k] > 0) suggestions.emplace_back(answer.numbers[k], answer.labels[k]);
  }
  return suggestions;
}

/// The inner nodes of `lowest` join the suggestions. One that is a label, too, is there with the
/// higher probability, that of a label at the node or below it.
void add_inner_nodes(const LabelGraph& hierarchy, const Answer& lowest,
                     std::vector<Suggestion>& suggestions) {
  for (const Suggestion& inner : suggestions_of(lowest)) {
    if (hierarchy.is_leaf(inner.second)) continue;
    std::erase_if(suggestions, [&](const Suggestion& s) { return s.second == inner.second; });
    suggestions.push_back(inner);
  }
}

/// Methods may rank labels by other numbers.
void most_probable_first(std::vector<Suggestion>& suggestions, int limit) {
  std::ranges::stable_sort(suggestions, std::greater<>(), &Suggestion::first);
  const auto most = static_cast<std::size_t>(limit);
  if (suggestions.size() > most) suggestions.resize(most);
}

/// For the places of a body's rows, of which there are no more than commas and one.
std::size_t bytes_of_places(std::string_view body) {
  const auto commas = static_cast<std::size_t>(std::count(body.begin(), body.end(), ','));
  return body.size() + kBytesPerPlace * (commas + 1);
}

/// A line of a stream without blanks around it and the CR of its end.
std::string_view trimmed_row(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return detail::trimmed(line);
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
  } catch (const OutOfTimeLimit&) {
    return error_response(504, kLate);
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
                 Log log, bool has_token, ServiceLimits limits)
    : models_(models),
      metrics_(metrics),
      version_(std::move(version)),
      gauges_(std::move(gauges)),
      log_(std::move(log)),
      has_token_(has_token),
      max_answer_bytes_(limits.answer_bytes),
      memory_(limits.memory_bytes) {}

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
  MemoryShare share(memory_);
  share.resize(bytes_of_places(request.body));
  const RequestBody body = rows_body(request);
  AnswerOptions options;
  ModelChoice choice;
  set_all(table_of(options, choice), request.query, body.options);
  const auto model = find(choice.model);
  options.check(model->parts());
  AnswerText text(memory_, max_answer_bytes_);
  text.append(concat(R"({"model":)", to_text(model->name()), R"(,"predictions":[)"));
  const std::span<const std::string_view> rows = body.rows;
  for (std::size_t begin = 0; begin < rows.size();) {
    require_time(deadline);
    const std::size_t count = block_size(rows.subspan(begin), labels_per_row(*model, options));
    std::string_view separator = begin == 0 ? "" : ",";
    for_answers(*model, options, rows.subspan(begin, count), "row",
                static_cast<std::int64_t>(begin) + 1, memory_, deadline,
                [&](std::string_view answer) {
                  text.append(separator);
                  text.append(answer);
                  separator = ",";
                });
    begin += count;
  }
  text.append("]}");
  metrics_.count_rows(model->name(), rows.size());
  return {.body = text.take_text(), .memory = text.take_share()};
}

Response Service::suggest(const Request& request, Deadline) const {
  require_type(request, "application/x-www-form-urlencoded");
  MemoryShare share(memory_);
  share.resize(kBytesPerFormByte * request.body.size());
  FormBody form = parse_form_body(request.body);
  require(form.text.has_value(), "body: it has no field 'text', but must have one");
  SuggestOptions options;
  ModelChoice choice;
  set_all(table_of(options, choice), request.query, form.options);
  const auto model = find(choice.model);
  require_texts(*model);
  AnswerOptions answered;
  answered.top = options.limit;
  answered.probabilities = true;
  answered.check(model->parts());
  const std::string row = to_text(std::move(*form.text));
  form.text.reset();
  share.resize(row.capacity());
  const std::string_view rows[] = {row};
  std::vector<Suggestion> suggestions =
      suggestions_of(held_answers(*model, answered, rows, "row", 1, memory_).answers.at(0));
  if (options.min_confidence >= 0) {
    answered.top = 0;
    answered.min_confidence = options.min_confidence;
    const HeldAnswers lowest = held_answers(*model, answered, rows, "row", 1, memory_);
    add_inner_nodes(model->parts().hierarchy, lowest.answers.at(0), suggestions);
  }
  most_probable_first(suggestions, options.limit);
  AnswerText text(memory_, max_answer_bytes_);
  text.append(R"({"results":[)");
  std::string_view separator;
  for (const auto& [probability, label] : suggestions) {
    text.append(separator);
    text.append(to_text(suggestion_json(model->parts(), label, probability)));
    separator = ",";
  }
  text.append("]}");
  metrics_.count_rows(model->name(), 1);
  return {.body = text.take_text(), .memory = text.take_share()};
}

Response Service::explain(const Request& request, Deadline deadline) const {
  MemoryShare share(memory_);
  share.resize(bytes_of_places(request.body));
  share.resize(share.bytes() + kBytesPerRowByte * request.body.size());
  const RequestBody body = rows_body(request);
  require(body.rows.size() == 1, "body: 'rows' has ", body.rows.size(),
          " rows, but only one can be explained");
  ExplainOptions options;
  ModelChoice choice;
  set_all(table_of(options, choice), request.query, body.options);
  const auto model = find(choice.model);
  if (model->sentences() != nullptr) {
    return explain_sentence(*model, body.rows[0], options, deadline);
  }
  const ModelParts& parts = model->parts();
  const CsrMatrix X = prepared(*model, body.rows, "row");
  const auto of_row = [](std::size_t) { return std::string("row:1"); };
  const LabelSets predicted =
      naming_rows(of_row, [&] { return parts.rows().predict(X, Executor::serial()); });
  std::vector<LabelId> explained(predicted[0].begin(), predicted[0].end());
  Json labels = Json::array();
  for (const LabelId label : explained) labels.push_back(parts.labels.name(label));
  if (!options.label.empty()) {
    const auto id = parts.labels.find(options.label);
    require<InvalidOption>(id.has_value(), "option label is '", options.label,
                           "', but must be a label of the model");
    naming_rows(of_row, [&] { require_explainable(parts, X, *id); });
    explained = {*id};
  }
  AnswerText text(memory_, max_answer_bytes_);
  text.append(concat(R"({"model":)", to_text(model->name()), R"(,"labels":)", to_text(labels),
                     R"(,"explanations":[)"));
  for (const LabelId label : explained) {
    require_time(deadline);
    if (label != explained.front()) text.append(",");
    text.append(to_text(explanation_json(
        parts, parts.explain(X.row(0), label, static_cast<std::size_t>(options.features)))));
  }
  text.append("]}");
  return {.body = text.take_text(), .memory = text.take_share()};
}

Response Service::explain_sentence(const ServedModel& model, std::string_view row,
                                   const ExplainOptions& options, Deadline deadline) const {
  const SentencePredictor& sentences = explained_sentences_of(model.parts());
  require_no_label(model.parts(), options);
  const HeldSentence held = held_sentence(model, row, "row", 1, memory_);
  RunControl control({}, seconds_until(deadline));
  const std::string lines = explanation_text(sentences.explain_sentence(
      {held.sentence, held.place}, 1, static_cast<std::size_t>(options.features), control));
  AnswerText text(memory_, max_answer_bytes_);
  text.append(to_text({{"model", model.name()}, {"lines", lines_of(lines)}}));
  return {.body = text.take_text(), .memory = text.take_share()};
}

Response Service::model(const Request& request, Deadline) const {
  ModelChoice choice;
  set_all(table_of(choice), request.query, {});
  const auto model = find(choice.model);
  Json facts = Json::array();
  for (const auto& [name, value] : model->facts()) {
    facts.push_back({{"name", name}, {"value", value}});
  }
  const std::optional<std::time_t> written = model->modification_time();
  return {200, to_text({{"model", model->name()},
                        {"models", models_.names()},
                        {"method", model->parts().method},
                        {"rows", form_of_rows(*model)},
                        // Annif, which asks for these two, knows projects without a model.
                        {"is_trained", true},
                        {"modification_time", written ? Json(utc_text(*written)) : Json()},
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
    : service_(service), max_line_bytes_(max_line_bytes), memory_(service.memory()) {
  ModelChoice choice;
  set_all(table_of(options_, choice), query, {});
  model_ = service_.find(choice.model);
  options_.check(model_->parts());
}

void PredictStream::take(std::string_view bytes) {
  memory_.resize(2 * (lines_.bytes() + bytes.size()));
  lines_.append(bytes);
  memory_.resize(lines_.bytes());
}

void PredictStream::refuse_long_line(std::int64_t number) const {
  throw StatusError(413, concat("line:", number, ": it has more than ", max_line_bytes_, " bytes"));
}

void PredictStream::answer(Deadline deadline, std::string& answers) {
  std::vector<std::string_view> rows;
  std::int64_t first = 0;
  const std::size_t labels = labels_per_row(*model_, options_);
  const auto answer_them = [&] {
    if (!rows.empty()) answer_block(rows, first, deadline, answers);
    rows.clear();
  };
  while (answers.size() < kAnswersAtOnce) {
    const auto line = lines_.next();
    if (!line) break;
    ++num_lines_;
    const std::string_view row = trimmed_row(*line);
    if (row.empty() || line->size() > max_line_bytes_) answer_them();
    if (line->size() > max_line_bytes_) refuse_long_line(num_lines_);
    if (row.empty()) continue;
    if (rows.empty()) first = num_lines_;
    rows.push_back(row);
    if (block_size(rows, labels) < rows.size() || rows.size() * labels >= kMaxLabelsOfBlock ||
        rows.size() == kMaxRowsOfBlock) {
      answer_them();
    }
  }
  answer_them();
  if (!lines_.has_line() && lines_.rest_size() > max_line_bytes_) refuse_long_line(num_lines_ + 1);
}

void PredictStream::answer_block(std::span<const std::string_view> rows, std::int64_t first,
                                 Deadline deadline, std::string& answers) {
  require_time(deadline);
  const std::size_t before = answers.size();
  try {
    append_answers(rows, first, deadline, answers);
  } catch (const InvalidInput&) {
    if (rows.size() == 1) throw;
    answers.resize(before);
    for (std::size_t i = 0; i < rows.size(); ++i) {  // up to the wrong one
      append_answers(rows.subspan(i, 1), first + static_cast<std::int64_t>(i), deadline, answers);
    }
  }
}

void PredictStream::append_answers(std::span<const std::string_view> rows, std::int64_t first,
                                   Deadline deadline, std::string& answers) const {
  for_answers(*model_, options_, rows, "line", first, service_.memory(), deadline,
              [&](std::string_view answer) {
                answers += answer;
                answers += '\n';
              });
  service_.metrics_.count_rows(model_->name(), rows.size());
}

}  // namespace margrove::serve
