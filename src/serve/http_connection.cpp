#include "serve/http_connection.hpp"

#include <algorithm>
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
#include "serve/http_session.hpp"
#include "serve/request_head.hpp"
#include "serve/utc_time.hpp"

namespace margrove::serve {
namespace {

using Reply = http::response<http::string_body>;

// Bodies are counted while they are read. Boost 1.74 takes its own "no limit" for a limit of 0.
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

Response not_http(const error_code& error) {
  return error_response(400, concat("the request is not HTTP: ", error.message()));
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

}  // namespace

Clock::duration seconds(double count) {
  constexpr double kLongest = 1e8;  // three years
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(count, kLongest)));
}

void check_chunks(http::request_parser<http::buffer_body>& parser) {
  static auto check = [](std::uint64_t, beast::string_view extension, error_code& error) {
    if (!is_chunk_extension(view_of(extension))) error = http::error::bad_chunk_extension;
  };
  parser.on_chunk_header(check);
}

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
  std::optional<Response> failure = co_await read_head_bytes(error);
  if (!failure && !error) {
    co_await http::async_read_header(socket_, buffer_, head,
                                     asio::redirect_error(asio::use_awaitable, error));
    if (!error) co_return true;
    failure = not_http(error);
  }
  if (is_late_) failure = error_response(408, "the request did not arrive in time");
  if (failure) {
    set_timer(Clock::now() + kLingerTime);
    co_await send(head, std::move(*failure), false);
  }
  co_return false;
}

/// Reads until the buffer has a whole head. Returns the answer to one that is wrong: after it the
/// connection must be closed.
asio::awaitable<std::optional<Response>> HttpConnection::read_head_bytes(error_code& error) {
  const auto bytes = [&] {
    const auto data = buffer_.data();
    return std::string_view(static_cast<const char*>(data.data()), data.size());
  };
  HeadEnd end;
  while (!end.is_reached(bytes()) && bytes().size() <= kMaxHeadBytes) {
    const std::size_t size = co_await socket_.async_read_some(
        buffer_.prepare(4096), asio::redirect_error(asio::use_awaitable, error));
    buffer_.commit(size);
    if (error) co_return std::nullopt;
  }
  if (end.size() > kMaxHeadBytes) {
    co_return error_response(
        431, concat("the head of the request has more than ", kMaxHeadBytes, " bytes"));
  }
  try {
    check_head(bytes().substr(0, end.size()));
  } catch (...) {
    co_return error_response(std::current_exception());
  }
  co_return std::nullopt;
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
  if (server_.token.empty() || !server_.sites.empty()) {
    try {
      const auto value = [&](http::field name) {
        const auto found = request.find(name);
        return found == request.end() ? std::nullopt : std::optional(view_of(found->value()));
      };
      server_.sites.check(value(http::field::host), value(http::field::origin));
    } catch (...) {
      return error_response(std::current_exception());
    }
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
asio::awaitable<std::optional<Response>> HttpConnection::read_body(Head& head, std::string& body,
                                                                   MemoryShare& share) {
  http::request_parser<http::buffer_body> parser{std::move(head)};
  check_chunks(parser);
  std::string part(kPartBytes, '\0');
  std::optional<Response> failure;
  while (!parser.is_done() && !failure) {
    parser.get().body().data = part.data();
    parser.get().body().size = part.size();
    error_code error;
    co_await http::async_read_some(socket_, buffer_, parser,
                                   asio::redirect_error(asio::use_awaitable, error));
    if (error == http::error::need_buffer) error = {};
    const std::size_t size = part.size() - parser.get().body().size;
    try {
      share.resize(2 * (kPartBytes + body.size() + size));  // a text has up to twice its size
    } catch (...) {
      failure = error_response(std::current_exception());
      break;
    }
    body.append(part, 0, size);
    if (is_late_) {
      failure = error_response(408, "the request did not arrive in time");
    } else if (error) {
      failure = not_http(error);
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
  MemoryShare share(server_.service.memory());
  std::optional<Response> response = co_await read_body(head, body, share);
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
  body = {};
  share.resize(0);
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
  reply.set(http::field::date, http_date(std::time(nullptr)));
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

asio::awaitable<void> serve_connection(ServerState& server, tcp::socket socket) {
  const auto connection = std::make_shared<HttpConnection>(server, std::move(socket));
  co_await connection->run();
}

asio::awaitable<void> refuse_connection(ServerState& server, tcp::socket socket) {
  const auto connection = std::make_shared<HttpConnection>(server, std::move(socket));
  co_await connection->refuse();
}

}  // namespace margrove::serve
