// Streams of JSON lines.

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "margrove/errors.hpp"
#include "serve/http_session.hpp"

namespace margrove::serve {

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
    co_await read_part(stream);
    do {
      stream.answers.clear();
      if (!stream.error && !stream.failure && stream.rows.has_lines()) co_await answer_part(stream);
      const bool is_late_start = stream.failure && !stream.has_begun && stream.answers.empty();
      if (!stream.error && !is_late_start) co_await write_answers(stream);
    } while (!stream.error && !stream.failure && stream.rows.has_lines());
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

/// Takes what has arrived. A line must end in the time of a part, too.
asio::awaitable<void> HttpConnection::read_part(Stream& stream) {
  const Clock::time_point now = Clock::now();
  if (!stream.rows.is_within_line()) stream.line_begin.reset();
  std::size_t size = 0;
  if (!stream.parser.is_done()) {
    auto& body = stream.parser.get().body();
    body.data = stream.part.data();
    body.size = stream.part.size();
    set_timer(stream.line_begin.value_or(now) + seconds(server_.options.request_seconds));
    co_await http::async_read_some(socket_, buffer_, stream.parser,
                                   asio::redirect_error(asio::use_awaitable, stream.error));
    if (stream.error == http::error::need_buffer) stream.error = {};
    size = stream.part.size() - body.size;
  }
  const std::string_view bytes = std::string_view(stream.part).substr(0, size);
  if (!stream.line_begin || bytes.find('\n') != std::string_view::npos) {
    stream.line_begin = Clock::now();
  }
  stream.is_done = stream.parser.is_done();
  if (is_late_ || *stream.line_begin + seconds(server_.options.request_seconds) < Clock::now()) {
    stream.error = {};
    stream.failure = error_response(408, "the stream, or a line of it, did not go on in time");
    co_return;
  }
  try {
    stream.rows.take(bytes);
    if (stream.is_done) stream.rows.finish();
  } catch (...) {
    stream.failure = error_response(std::current_exception());
  }
}

/// Sets the answers to some of the rows that are whole.
asio::awaitable<void> HttpConnection::answer_part(Stream& stream) {
  const Clock::duration limit = seconds(server_.options.request_seconds);
  const auto work = [&stream, limit] {
    try {
      stream.rows.answer(Clock::now() + limit, stream.answers);
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

}  // namespace margrove::serve
