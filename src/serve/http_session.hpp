#pragma once
// One connection: its requests (http_connection.cpp) and streams (http_stream.cpp).

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/server_state.hpp"
#include "serve/utc_time.hpp"

namespace margrove::serve {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Head = http::request_parser<http::empty_body>;

constexpr std::uint32_t kMaxHeadBytes = 16 * 1024;
constexpr std::size_t kPartBytes = 64 * 1024;  // of a body that is read in parts
constexpr auto kLingerTime = std::chrono::seconds(2);

inline std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

Clock::duration seconds(double count);
/// Lets the parser of a body refuse what is_chunk_extension() does not take.
void check_chunks(http::request_parser<http::buffer_body>& parser);
/// A stream that is answered.
struct Stream {
  Stream(PredictStream the_rows, Head& head)
      : rows(std::move(the_rows)), keeps_open(head.get().keep_alive()), parser(std::move(head)) {
    check_chunks(parser);
    reply.set(http::field::server, "margrove");
    reply.set(http::field::date, http_date(std::time(nullptr)));
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
  bool has_begun = false;                       // the head was written
  bool is_done = false;                         // the body was read
  std::optional<Clock::time_point> line_begin;  // of a line that has no end so far
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
  asio::awaitable<std::optional<Response>> read_head_bytes(error_code& error);
  asio::awaitable<bool> answer_request(Head& head);
  asio::awaitable<std::optional<Response>> read_body(Head& head, std::string& body,
                                                     MemoryShare& share);
  asio::awaitable<bool> answer_stream(Head& head);
  asio::awaitable<void> read_part(Stream& stream);
  asio::awaitable<void> answer_part(Stream& stream);
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

}  // namespace margrove::serve
