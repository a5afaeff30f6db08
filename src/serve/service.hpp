#pragma once
// What the server answers to a request: routes, their options and their answers as JSON. Nothing
// here knows of sockets or threads.

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "margrove/errors.hpp"
#include "model/answers.hpp"
#include "serve/line_buffer.hpp"
#include "serve/memory_budget.hpp"
#include "serve/metrics.hpp"
#include "serve/request_body.hpp"
#include "serve/served_models.hpp"

namespace margrove::serve {

using Deadline = std::chrono::steady_clock::time_point;

struct Request {
  std::string_view method;        // "POST"
  std::string_view path;          // "/predict"
  std::string_view query;         // what follows '?'
  std::string_view content_type;  // as the client wrote it
  std::string_view body;
};

struct Response {
  int status = 200;
  std::string body;
  std::string_view content_type = "application/json";
  std::string_view allow = {};  // the methods of the path, with status 405
  MemoryShare memory = {};      // that the body holds
};

/// An answer other than 200 and, for wrong input, 400.
class StatusError : public Error {
 public:
  StatusError(int status, const std::string& message, std::string_view allow = {})
      : Error(message), status_(status), allow_(allow) {}
  int status() const { return status_; }
  std::string_view allow() const { return allow_; }

 private:
  int status_;
  std::string_view allow_;
};

/// {"error": message}
Response error_response(int status, std::string_view message, std::string_view allow = {});
/// The answer to a request whose work threw: 400 for InvalidInput, the status of a StatusError, 503
/// where memory is short, otherwise 500.
Response error_response(const std::exception_ptr& error);

/// Which model a request is for.
struct ModelChoice {
  std::string model;
  static auto fields() {
    return std::tuple{
        field("model", &ModelChoice::model, detail::Choices{},
              "name of the model; default: the first one"),
    };
  }
};
/// Options of /model/suggest, which are called as those of Annif.
struct SuggestOptions {
  int limit = 10;
  double min_confidence = -1;  // not given
  static auto fields() {
    return std::tuple{
        field("limit", &SuggestOptions::limit, at_least(1),
              "give so many labels, the best ones, most probable first"),
        field("min_confidence", &SuggestOptions::min_confidence, between(0, 1),
              "give inner nodes, too: those with at least this probability, which is that of a "
              "label at the node or below it, and no child with as much"),
    };
  }
};
/// Options of /explain, whose answer is bounded.
struct ExplainOptions : margrove::ExplainOptions {
  static auto fields() { return margrove::ExplainOptions::fields(between(0, 1000)); }
};

/// Where a route's work is done: by the thread of the sockets, because it takes no time; by one of
/// the threads that predict; by the thread that loads models.
enum class Place : std::uint8_t { at_once, in_turn, loader };

class Service;
struct Route {
  std::string_view method, path, summary;
  Place place;
  bool needs_token;
  Response (Service::*answer)(const Request& request, Deadline deadline) const;
};
std::span<const Route> routes();

/// Bounds of the work for requests.
struct ServiceLimits {
  std::size_t memory_bytes = std::numeric_limits<std::size_t>::max();  // of all requests together
  std::size_t answer_bytes = 64'000'000;                               // of one answer
};

class Service {
 public:
  using ReadGauges = std::function<Gauges()>;
  /// Takes a line for people who run the server; may be called by several threads at once.
  using Log = std::function<void(const std::string& line)>;
  /// The models, the metrics and what the functions refer to must outlive the service. has_token:
  /// what the description says; the server itself asks for the token.
  Service(ServedModels& models, Metrics& metrics, std::string version, ReadGauges gauges, Log log,
          bool has_token = false, ServiceLimits limits = {});

  /// The route of a request; HEAD counts as GET. Throws StatusError 404 and 405.
  const Route& route_of(std::string_view method, std::string_view path) const;
  /// Never throws: errors are responses. Work on rows ends with status 504 after the deadline.
  Response answer(const Request& request, Deadline deadline) const;
  /// Loads all models again, or the one of this name; counts and logs it.
  std::vector<Reloaded> reload(std::string_view name = {}) const;

  /// Of the bodies, the work and the answers of all requests.
  MemoryBudget& memory() const { return memory_; }

  Response page(const Request& request, Deadline deadline) const;
  Response predict(const Request& request, Deadline deadline) const;
  Response explain(const Request& request, Deadline deadline) const;
  Response suggest(const Request& request, Deadline deadline) const;
  Response model(const Request& request, Deadline deadline) const;
  Response health(const Request& request, Deadline deadline) const;
  Response metrics(const Request& request, Deadline deadline) const;
  Response description(const Request& request, Deadline deadline) const;
  Response reload_models(const Request& request, Deadline deadline) const;

 private:
  friend class PredictStream;
  std::shared_ptr<const ServedModel> find(const std::string& name) const;
  Response explain_sentence(const ServedModel& model, std::string_view row,
                            const ExplainOptions& options, Deadline deadline) const;

  ServedModels& models_;
  Metrics& metrics_;
  std::string version_;
  ReadGauges gauges_;
  Log log_;
  bool has_token_;
  std::size_t max_answer_bytes_;
  mutable MemoryBudget memory_;
};

/// Whether a request is a stream: JSON lines to /predict.
bool is_stream(std::string_view method, std::string_view path, std::string_view content_type);

/// A body of JSON lines, of which each is a row. Answers are lines in the order of the rows; empty
/// lines are skipped. Memory and time are in proportion to a line, whatever the parts are.
class PredictStream {
 public:
  /// Options are those of /predict, in the query. Throws as Service::predict().
  PredictStream(const Service& service, std::string_view query, std::size_t max_line_bytes);
  /// Takes the next bytes of the body. Throws StatusError 413 and 503 as MemoryShare.
  void take(std::string_view bytes);
  /// After the last bytes: the last line may lack its end.
  void finish() { lines_.finish(); }
  /// Whether answer() has something to do.
  bool has_lines() { return lines_.has_line() || lines_.rest_size() > max_line_bytes_; }
  /// Whether a line has begun that has no end so far. Only where answer() has nothing to do.
  bool is_within_line() const { return lines_.rest_size() > 0; }
  /// Appends the answers to some of the rows that are whole; call it again while has_lines(). On a
  /// wrong row the answers to the rows before it are appended, and InvalidInput "line:..." is
  /// thrown; also StatusError 413 for a line that is too long and 504 after the deadline.
  void answer(Deadline deadline, std::string& answers);
  /// Bytes copied, moved and looked at to find the lines.
  std::uint64_t work() const { return lines_.work(); }

 private:
  void answer_block(std::span<const std::string_view> rows, std::int64_t first, Deadline deadline,
                    std::string& answers);
  void append_answers(std::span<const std::string_view> rows, std::int64_t first, Deadline deadline,
                      std::string& answers) const;
  [[noreturn]] void refuse_long_line(std::int64_t number) const;

  const Service& service_;
  std::shared_ptr<const ServedModel> model_;
  AnswerOptions options_;
  std::size_t max_line_bytes_;
  LineBuffer lines_;
  MemoryShare memory_;          // of lines_
  std::int64_t num_lines_ = 0;  // so far
};

}  // namespace margrove::serve
