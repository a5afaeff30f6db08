#pragma once
// What the connections of a server share.

#include <utility>  // before Boost 1.74, which lacks it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "serve/http_server.hpp"
#include "serve/request_head.hpp"
#include "serve/service.hpp"

namespace margrove::serve {

namespace asio = boost::asio;

/// An open connection.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Ends the connection if it waits for a request.
  virtual void end_if_idle() = 0;
};

/// Apart from the two pools, only the thread of the sockets uses it.
struct ServerState {
  const Service& service;
  Metrics& metrics;
  Activity& activity;
  const ServerOptions& options;
  const std::string& token;
  const AllowedSites& sites;
  std::size_t max_body_bytes;
  std::function<void()> end_if_done;  // to be called where the next two change
  std::set<Connection*> connections;
  std::int64_t reloads_running = 0;
  bool stopping = false;
  asio::thread_pool workers;
  asio::thread_pool loader{1};
};

/// Runs work(), which must not throw, on a thread of the pool.
template <class Result, class Work>
asio::awaitable<Result> on_pool(asio::thread_pool& pool, Work work) {
  auto task = [](Work run) -> asio::awaitable<Result> { co_return run(); };
  co_return co_await asio::co_spawn(pool.get_executor(), task(std::move(work)),
                                    asio::use_awaitable);
}

/// The same in the queue of requests; nothing if it is full.
template <class Work>
asio::awaitable<std::optional<Response>> in_turn(ServerState& server, Work work) {
  Activity& activity = server.activity;
  if (activity.requests_waiting >= server.options.queue_length) co_return std::nullopt;
  ++activity.requests_waiting;
  auto counted = [&activity, work = std::move(work)]() mutable {
    --activity.requests_waiting;
    ++activity.requests_running;
    Response response = work();
    --activity.requests_running;
    return response;
  };
  Response response = co_await on_pool<Response>(server.workers, std::move(counted));
  co_return response;
}

}  // namespace margrove::serve
