#include "serve/http_connection.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <ctime>
#include <limits>
#include <memory>
#include <string_view>

#include "margrove/errors.hpp"

namespace margrove::serve {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Head = http::request_parser<http::empty_body>;
using Reply = http::response<http::string_body>;

constexpr std::uint32_t kMaxHeadBytes = 16 * 1024;
// Bodies are counted while they are read. Boost 1.74 takes its own "no limit" for a limit of 0.
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kPartBytes = 64 * 1024;  // of a body that is read in parts
constexpr auto kLingerTime = std::chrono::seconds(2);

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

Clock::duration seconds(double count) {
  constexpr double kLongest = 1e8;  // three years
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(count, kLongest)));
}

/// As HTTP writes the present time.
std::string http_date() {
  std::array<char, 40> text{};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

/// Whether a header `Authorization: Bearer TOKEN` has the token, in a time that does not depend on
/// how much of it is right.
bool has_token(std::string_view authorization, std::string_view token) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  if (!beast::iequals({scheme.data(), scheme.size()}, {kScheme.data(), kScheme.size()})) {
    return false;
  }
  authorization.remove_prefix(kScheme.size());
  unsigned different = authorization.size() == token.size() ? 0 : 1;
  for (std::size_t k = 0; k < authorization.size() && !token.empty(); ++k) {
    different |= static_cast<unsigned char>(authorization[k]) ^
                 static_cast<unsigned char>(token[k % token.size()]);
  }
  return different == 0;
}

/// A stream that is answered.
struct Stream {
  Stream(PredictStream the_rows, Head& head)
      : rows(std::move(the_rows)), keeps_open(head.get().keep_alive()), parser(std::move(head)) {
    reply.set(http::field::server, "margrove");
    reply.set(http::field::date, http_date());
    reply.set(http::field::content_type, "application/x-ndjson");
    reply.keep_alive(keeps_open);
    reply.chunked(true);
  }
  PredictStream rows;
  bool keeps_open;
  http::request_parser<http::buffer_body> parser;
  http::response<http::empty_body> reply{http::status::ok, 11};
  http::response_serializer<http::empty_body> serializer{reply};  // of the head
  std::string part = std::string(kPartBytes, '\0');
  std::string answers;
  std::optional<Response> failure;
  error_code error;
  bool has_begun = false;  // the head was written
  bool is_done = false;    // the body was read
};

/// One connection. The coroutine that runs it owns it.
class HttpConnection final : public Connection,
                             public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(ServerState& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)), timer_(socket_.get_executor()) {}
  asio::awaitable<void> run();
  /// Answers 503 and closes the connection.
  asio::awaitable<void> refuse();
  void end_if_idle() override {
    if (is_idle_) cancel();
  }

 private:
  /// Cancels what the socket does at that time, and sets is_late_.
  void set_timer(Clock::time_point at);
  void cancel() {
    error_code ignored;
    static_cast<void>(socket_.cancel(ignored));
  }
  asio::awaitable<bool> read_head(Head& head);
  asio::awaitable<bool> answer_request(Head& head);
  asio::awaitable<std::optional<Response>> read_body(Head& head, std::string& body);
  asio::awaitable<bool> answer_stream(Head& head);
  asio::awaitable<std::size_t> read_part(Stream& stream);
  asio::awaitable<void> answer_part(Stream& stream, std::size_t size);
  asio::awaitable<void> write_answers(Stream& stream);
  asio::awaitable<bool> send(const Head& head, Response response, bool keeps_open);
  asio::awaitable<bool> send_continue(const Head& head);
  asio::awaitable<void> close();
  std::optional<Response> refusal(const Head& head) const;

  ServerState& server_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_{kMaxHeadBytes + kPartBytes};
  bool is_idle_ = false;
  bool is_late_ = false;
  Clock::time_point begin_;      // of the request
  std::string_view route_path_;  // of the request, for counts
};

// Requests ----------------------------------------------------------------------------------------

void HttpConnection::set_timer(Clock::time_point at) {
  is_late_ = false;
  timer_.expires_at(at);
  timer_.async_wait([self = weak_from_this()](const error_code& error) {
    const auto connection = self.lock();
    if (error || !connection || connection->timer_.expiry() > Clock::now()) return;
    connection->is_late_ = true;
    connection->cancel();
  });
}

asio::awaitable<void> HttpConnection::run() {
  server_.connections.insert(this);
  ++server_.activity.connections;
  bool goes_on = !server_.stopping;
  while (goes_on) {
    Head head;
    head.header_limit(kMaxHeadBytes);
    head.body_limit(kNoLimit);
    goes_on = co_await read_head(head);
    if (!goes_on) break;
    goes_on = co_await answer_request(head);
    goes_on = goes_on && !server_.stopping;
  }
  co_await close();
  --server_.activity.connections;
  server_.connections.erase(this);
  server_.end_if_done();
}

asio::awaitable<void> HttpConnection::refuse() {
  set_timer(Clock::now() + kLingerTime);
  Head head;
  begin_ = Clock::now();
  route_path_ = "other";
  co_await send(head, error_response(503, "too many connections"), false);
  co_await close();
}

/// False if the connection is to be closed; a head that is no HTTP is answered.
asio::awaitable<bool> HttpConnection::read_head(Head& head) {
  set_timer(Clock::now() + seconds(server_.options.idle_seconds));
  error_code error;
  is_idle_ = buffer_.size() == 0;
  if (is_idle_) {  // wait for the first bytes of a request
    const std::size_t size = co_await socket_.async_read_some(
        buffer_.prepare(4096), asio::redirect_error(asio::use_awaitable, error));
    is_idle_ = false;
    buffer_.commit(size);
    if (error) co_return false;
  }
  begin_ = Clock::now();
  route_path_ = "other";
  set_timer(begin_ + seconds(server_.options.request_seconds));
  co_await http::async_read_header(socket_, buffer_, head,
                                   asio::redirect_error(asio::use_awaitable, error));
  if (!error) co_return true;
  if (is_late_) {
    set_timer(Clock::now() + kLingerTime);
    co_await send(head, error_response(408, "the request did not arrive in time"), false);
  } else if (error == http::error::header_limit) {
    co_await send(head, error_response(431, "the head of the request is too large"), false);
  } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message) {
    co_await send(head, error_response(400, concat("the request is not HTTP: ", error.message())),
                  false);
  }
  co_return false;
}

/// The answer to a request whose body need not be read.
std::optional<Response> HttpConnection::refusal(const Head& head) const {
  const auto& request = head.get();
  const std::string_view target = view_of(request.target());
  const std::string_view path = target.substr(0, target.find('?'));
  const Route* route = nullptr;
  std::optional<Response> no_route;
  try {
    route = &server_.service.route_of(view_of(request.method_string()), path);
  } catch (...) {
    no_route = error_response(std::current_exception());
  }
  const bool needs_token = !server_.token.empty() && (route == nullptr || route->needs_token);
  if (needs_token && !has_token(view_of(request[http::field::authorization]), server_.token)) {
    return error_response(401, "the header Authorization: Bearer TOKEN is missing or wrong");
  }
  if (no_route) return no_route;
  if (!request[http::field::content_encoding].empty()) {
    return error_response(415, "the body has a content encoding, but must have none");
  }
  const auto length = head.content_length();
  if (length && *length > server_.max_body_bytes &&
      !is_stream(view_of(request.method_string()), path,
                 view_of(request[http::field::content_type]))) {
    return error_response(413, concat("the body has ", *length, " bytes, but may have at most ",
                                      server_.max_body_bytes));
  }
  return std::nullopt;
}

asio::awaitable<bool> HttpConnection::send_continue(const Head& head) {
  if (!beast::iequals(head.get()[http::field::expect], "100-continue")) co_return true;
  error_code error;
  http::response<http::empty_body> reply{http::status::continue_, head.get().version()};
  co_await http::async_write(socket_, reply, asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

/// Reads the rest of the body. Returns the answer if that fails.
asio::awaitable<std::optional<Response>> HttpConnection::read_body(Head& head, std::string& body) {
  http::request_parser<http::buffer_body> parser{std::move(head)};
  std::string part(kPartBytes, '\0');
  std::optional<Response> failure;
  while (!parser.is_done() && !failure) {
    parser.get().body().data = part.data();
    parser.get().body().size = part.size();
    error_code error;
    co_await http::async_read_some(socket_, buffer_, parser,
                                   asio::redirect_error(asio::use_awaitable, error));
    if (error == http::error::need_buffer) error = {};
    body.append(part, 0, part.size() - parser.get().body().size);
    if (is_late_) {
      failure = error_response(408, "the request did not arrive in time");
    } else if (error) {
      failure = error_response(400, concat("the request is not HTTP: ", error.message()));
    } else if (body.size() > server_.max_body_bytes) {
      failure =
          error_response(413, concat("the body has more than ", server_.max_body_bytes, " bytes"));
    }
  }
  co_return failure;
}

/// False if the connection is to be closed.
asio::awaitable<bool> HttpConnection::answer_request(Head& head) {
  std::optional<Response> refused = refusal(head);
  if (refused) {
    const bool has_body = !head.is_done();
    co_return co_await send(head, std::move(*refused), !has_body);
  }
  const std::string target(view_of(head.get().target()));
  const std::string method(view_of(head.get().method_string()));
  const std::string type(view_of(head.get()[http::field::content_type]));
  const std::size_t mark = std::min(target.find('?'), target.size());
  Request request{.method = method,
                  .path = std::string_view(target).substr(0, mark),
                  .query = std::string_view(target).substr(std::min(mark + 1, target.size())),
                  .content_type = type,
                  .body = {}};
  const Route& route = server_.service.route_of(method, request.path);
  route_path_ = route.path;
  if (!co_await send_continue(head)) co_return false;
  if (is_stream(method, request.path, type)) co_return co_await answer_stream(head);

  // The head is moved from while the body is read.
  Head copy;
  copy.get().version(head.get().version());
  copy.get().method(head.get().method());
  copy.get().keep_alive(head.get().keep_alive());
  std::string body;
  std::optional<Response> response = co_await read_body(head, body);
  const bool is_read = !response;
  if (!response) {
    request.body = body;
    const Clock::time_point deadline = begin_ + seconds(server_.options.request_seconds);
    const auto work = [this, &request, deadline] {
      return server_.service.answer(request, deadline);
    };
    if (route.place == Place::at_once) {
      response = work();
    } else if (route.place == Place::loader) {
      ++server_.reloads_running;
      response = co_await on_pool<Response>(server_.loader, work);
      --server_.reloads_running;
    } else {
      response = co_await in_turn(server_, work);
    }
    if (!response) response = error_response(503, "too many requests wait");
  }
  // The answer has time of its own, however late it is.
  set_timer(
      std::max(begin_ + seconds(server_.options.request_seconds), Clock::now() + kLingerTime));
  co_return co_await send(copy, std::move(*response), is_read);
}

/// False if the connection is to be closed.
asio::awaitable<bool> HttpConnection::send(const Head& head, Response response, bool keeps_open) {
  keeps_open = keeps_open && head.get().keep_alive() && !server_.stopping;
  Reply reply;
  reply.version(head.get().version());
  reply.result(static_cast<unsigned>(response.status));
  reply.set(http::field::server, "margrove");
  reply.set(http::field::date, http_date());
  reply.set(http::field::content_type,
            beast::string_view(response.content_type.data(), response.content_type.size()));
  if (response.status == 401) reply.set(http::field::www_authenticate, "Bearer");
  if (response.status == 503) reply.set(http::field::retry_after, "1");
  if (!response.allow.empty()) {
    reply.set(http::field::allow, beast::string_view(response.allow.data(), response.allow.size()));
  }
  reply.keep_alive(keeps_open);
  reply.body() = std::move(response.body);
  reply.prepare_payload();
  http::response_serializer<http::string_body> serializer(reply);
  error_code error;
  if (head.get().method() == http::verb::head) {  // the same head, without the body
    co_await http::async_write_header(socket_, serializer,
                                      asio::redirect_error(asio::use_awaitable, error));
  } else {
    co_await http::async_write(socket_, serializer,
                               asio::redirect_error(asio::use_awaitable, error));
  }
  server_.metrics.count_request(route_path_, response.status,
                                std::chrono::duration<double>(Clock::now() - begin_).count());
  co_return keeps_open && !error;
}

/// Reads for a moment what the client still sends. Otherwise the system would discard the answer
/// together with it.
asio::awaitable<void> HttpConnection::close() {
  error_code error;
  static_cast<void>(socket_.shutdown(tcp::socket::shutdown_send, error));
  is_idle_ = true;  // a stop need not wait for it
  set_timer(Clock::now() + kLingerTime);
  std::string part(error ? 0 : kPartBytes, '\0');
  while (!error && !server_.stopping) {
    co_await socket_.async_read_some(asio::buffer(part),
                                     asio::redirect_error(asio::use_awaitable, error));
  }
  timer_.cancel();
  static_cast<void>(socket_.close(error));
}

// Streams -----------------------------------------------------------------------------------------

/// A body of JSON lines, answered part by part. False if the connection is to be closed.
asio::awaitable<bool> HttpConnection::answer_stream(Head& head) {
  const std::string target(view_of(head.get().target()));
  const std::size_t mark = std::min(target.find('?'), target.size());
  const bool is_new = head.get().version() >= 11;
  std::optional<Response> failure;
  std::optional<PredictStream> rows;
  try {
    rows.emplace(server_.service,
                 std::string_view(target).substr(std::min(mark + 1, target.size())),
                 server_.max_body_bytes);
  } catch (...) {
    failure = error_response(std::current_exception());
  }
  if (!is_new) failure = error_response(400, "a stream needs HTTP/1.1");
  if (failure) co_return co_await send(head, std::move(*failure), false);

  Stream stream(std::move(*rows), head);
  while (!stream.is_done && !stream.failure && !stream.error) {
    const std::size_t size = co_await read_part(stream);
    if (!stream.error) co_await answer_part(stream, size);
    const bool is_late_start = stream.failure && !stream.has_begun && stream.answers.empty();
    if (!stream.error && !is_late_start) co_await write_answers(stream);
  }
  if (stream.failure && !stream.has_begun) {
    Head copy;
    copy.get().version(11);
    set_timer(Clock::now() + kLingerTime);
    co_return co_await send(copy, std::move(*stream.failure), false);
  }
  if (!stream.error) {
    co_await asio::async_write(socket_, http::make_chunk_last(),
                               asio::redirect_error(asio::use_awaitable, stream.error));
  }
  server_.metrics.count_request(route_path_, stream.failure ? stream.failure->status : 200,
                                std::chrono::duration<double>(Clock::now() - begin_).count());
  co_return !stream.failure && !stream.error && stream.keeps_open;
}

/// Reads what has arrived; returns the number of bytes.
asio::awaitable<std::size_t> HttpConnection::read_part(Stream& stream) {
  if (stream.parser.is_done()) co_return 0;
  auto& body = stream.parser.get().body();
  body.data = stream.part.data();
  body.size = stream.part.size();
  set_timer(Clock::now() + seconds(server_.options.request_seconds));
  co_await http::async_read_some(socket_, buffer_, stream.parser,
                                 asio::redirect_error(asio::use_awaitable, stream.error));
  if (stream.error == http::error::need_buffer) stream.error = {};
  if (is_late_) stream.failure = error_response(408, "the stream did not go on in time");
  co_return stream.part.size() - body.size;
}

/// Sets the answers to the rows that are whole with these bytes.
asio::awaitable<void> HttpConnection::answer_part(Stream& stream, std::size_t size) {
  stream.is_done = stream.parser.is_done();
  stream.answers.clear();
  const std::string_view bytes = std::string_view(stream.part).substr(0, size);
  const Clock::duration limit = seconds(server_.options.request_seconds);
  const auto work = [&stream, bytes, limit] {
    const Deadline deadline = Clock::now() + limit;
    try {
      stream.rows.take(bytes, deadline, stream.answers);
      if (stream.is_done) stream.rows.finish(deadline, stream.answers);
    } catch (...) {
      return error_response(std::current_exception());
    }
    return Response();
  };
  std::optional<Response> outcome = co_await in_turn(server_, work);
  if (!outcome) outcome = error_response(503, "too many requests wait");
  if (outcome->status == 200 && server_.stopping && !stream.is_done) {
    outcome = error_response(503, "the server stops");
  }
  if (outcome->status != 200) stream.failure = std::move(outcome);
}

/// Writes the answers, and the failure as the last line if there is one.
asio::awaitable<void> HttpConnection::write_answers(Stream& stream) {
  if (stream.failure) stream.answers += stream.failure->body + "\n";
  set_timer(Clock::now() + seconds(server_.options.request_seconds));
  if (!stream.has_begun) {
    stream.has_begun = true;
    co_await http::async_write_header(socket_, stream.serializer,
                                      asio::redirect_error(asio::use_awaitable, stream.error));
  }
  if (!stream.error && !stream.answers.empty()) {
    co_await asio::async_write(socket_, http::make_chunk(asio::buffer(stream.answers)),
                               asio::redirect_error(asio::use_awaitable, stream.error));
  }
}

}  // namespace

asio::awaitable<void> serve_connection(ServerState& server, tcp::socket socket) {
  const auto connection = std::make_shared<HttpConnection>(server, std::move(socket));
  co_await connection->run();
}

asio::awaitable<void> refuse_connection(ServerState& server, tcp::socket socket) {
  const auto connection = std::make_shared<HttpConnection>(server, std::move(socket));
  co_await connection->refuse();
}

}  // namespace margrove::serve
