#include "serve/http_server.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/memory_limit.hpp"
#include "margrove/errors.hpp"
#include "serve/http_connection.hpp"

namespace margrove::serve {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

std::size_t number_of_threads(const ServerOptions& options) {
  return options.threads > 0 ? static_cast<std::size_t>(options.threads)
                             : std::max(1U, std::thread::hardware_concurrency());
}

class Server {
 public:
  Server(const Service& service, Metrics& metrics, Activity& activity, const ServerOptions& options,
         const std::string& token, const AllowedSites& sites,
         const std::function<void(const std::string&)>& log)
      : log_(log),
        state_{.service = service,
               .metrics = metrics,
               .activity = activity,
               .options = options,
               .token = token,
               .sites = sites,
               .max_body_bytes = static_cast<std::size_t>(std::min(options.max_body_mb, 1e9) * 1e6),
               .end_if_done = [this] { end_if_done(); },
               .connections = {},
               .workers{number_of_threads(options)}} {}
  void run();

 private:
  void listen();
  asio::awaitable<void> accept();
  asio::awaitable<void> handle_signals();
  asio::awaitable<void> reload_all();
  void stop();
  void end_if_done();

  const std::function<void(const std::string&)>& log_;
  ServerState state_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::signal_set signals_{context_};
};

void Server::listen() {
  error_code error;
  const auto address = asio::ip::make_address(state_.options.address, error);
  const tcp::endpoint endpoint(address, static_cast<std::uint16_t>(state_.options.port));
  if (!error) static_cast<void>(acceptor_.open(endpoint.protocol(), error));
  if (!error) static_cast<void>(acceptor_.set_option(tcp::acceptor::reuse_address(true), error));
  if (!error) static_cast<void>(acceptor_.bind(endpoint, error));
  if (!error) static_cast<void>(acceptor_.listen(tcp::acceptor::max_listen_connections, error));
  require<InvalidOption>(!error, "cannot listen on address ", state_.options.address, ", port ",
                         state_.options.port, ": ", error.message());
}

asio::awaitable<void> Server::accept() {
  while (!state_.stopping) {
    error_code error;
    tcp::socket socket =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (state_.stopping) break;
    if (error) {  // too many open files, or a client that has gone
      asio::steady_timer timer(context_, std::chrono::milliseconds(50));
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    static_cast<void>(socket.set_option(tcp::no_delay(true), error));
    const bool is_full = state_.activity.connections >= state_.options.max_connections;
    asio::co_spawn(context_,
                   is_full ? refuse_connection(state_, std::move(socket))
                           : serve_connection(state_, std::move(socket)),
                   asio::detached);
  }
}

asio::awaitable<void> Server::reload_all() {
  ++state_.reloads_running;
  co_await on_pool<std::vector<Reloaded>>(state_.loader,
                                          [this] { return state_.service.reload(); });
  --state_.reloads_running;
  end_if_done();
}

asio::awaitable<void> Server::handle_signals() {
  for (;;) {
    error_code error;
    const int signal =
        co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    if (signal == SIGHUP) {
      asio::co_spawn(context_, reload_all(), asio::detached);
    } else if (state_.stopping) {
      ::_exit(130);
    } else {
      stop();
    }
  }
}

void Server::stop() {
  state_.stopping = true;
  error_code ignored;
  static_cast<void>(acceptor_.close(ignored));
  for (Connection* connection : state_.connections) connection->end_if_idle();
  end_if_done();
}

void Server::end_if_done() {
  if (state_.stopping && state_.connections.empty() && state_.reloads_running == 0) context_.stop();
}

void Server::run() {
  listen();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) signals_.add(signal);
  const auto endpoint = acceptor_.local_endpoint();
  std::string address = endpoint.address().to_string();
  if (endpoint.address().is_v6()) address = concat("[", address, "]");
  log_(concat("serving on http://", address, ":", endpoint.port()));
  asio::co_spawn(context_, accept(), asio::detached);
  asio::co_spawn(context_, handle_signals(), asio::detached);
  context_.run();
  state_.workers.join();
  state_.loader.join();
  log_("stopped");
}

}  // namespace

ServiceLimits limits_of(const ServerOptions& options) {
  constexpr double kUnknown = 1e9, kLargest = 1e15;
  double bytes = 1e9 * options.memory_limit;
  if (bytes == 0) {
    const auto free = free_memory();
    bytes = free ? free->bytes / 2 : kUnknown;
  }
  return {
      .memory_bytes = static_cast<std::size_t>(std::min(bytes, kLargest)),
      .answer_bytes = static_cast<std::size_t>(std::min(1e6 * options.max_answer_mb, kLargest))};
}

bool is_loopback(const std::string& address) {
  error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  require<InvalidOption>(!error, "option address is '", address, "', but must be an IP address");
  return parsed.is_loopback();
}

void run_server(const Service& service, Metrics& metrics, Activity& activity,
                const ServerOptions& options, const std::string& token, const AllowedSites& sites,
                const std::function<void(const std::string&)>& log) {
  Server(service, metrics, activity, options, token, sites, log).run();
}

}  // namespace margrove::serve
