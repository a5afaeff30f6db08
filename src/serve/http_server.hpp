#pragma once
// HTTP/1.1 on a socket: one thread for all connections, some that predict, one that loads models.

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>

#include "margrove/options.hpp"
#include "serve/request_head.hpp"
#include "serve/service.hpp"

namespace margrove::serve {

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 8000;
  int threads = 0;
  double max_body_mb = 16;
  double max_answer_mb = 64;
  double memory_limit = 0;
  int queue_length = 256;
  double request_seconds = 30;
  double idle_seconds = 60;
  int max_connections = 1000;
  static auto fields() {
    using O = ServerOptions;
    return std::tuple{
        field("address", &O::address, detail::Choices{},
              "IP address to listen on; any other than a loopback one needs --token-file"),
        field("port", &O::port, between(0, 65535), "port; 0: a free one, which the log names"),
        field("threads", &O::threads, at_least(0),
              "number of requests that are worked on at once; 0: one per core"),
        field("max_body_mb", &O::max_body_mb, positive,
              "answer 413 to a body, or a line of a stream, of more than so many 10^6 bytes"),
        field("max_answer_mb", &O::max_answer_mb, positive,
              "answer 413 where the answer would have more than so many 10^6 bytes; a stream has "
              "any length"),
        field("memory_limit", &O::memory_limit, non_negative,
              "gigabytes (10^9 bytes) that the bodies, the work and the answers of all requests "
              "may take beside the models; beyond, answer 413 or 503; 0: half of what is free at "
              "the start"),
        field("queue_length", &O::queue_length, at_least(1),
              "answer 503 while so many requests wait for a thread"),
        field("request_seconds", &O::request_seconds, positive,
              "answer 504 to a request that takes longer, or 408 if it does not arrive in time; a "
              "stream may take so long for each part"),
        field("idle_seconds", &O::idle_seconds, positive,
              "close a connection without a request for so long"),
        field("max_connections", &O::max_connections, at_least(1),
              "answer 503 to further connections"),
    };
  }
};

/// The bounds that the options set.
ServiceLimits limits_of(const ServerOptions& options);

/// Whether an IP address is one of the machine itself. Throws InvalidOption for what is no address.
bool is_loopback(const std::string& address);

/// Counts of what the server does now, which any thread may read.
class Activity {
 public:
  Gauges gauges() const { return {connections, requests_waiting, requests_running}; }
  std::atomic<std::int64_t> connections{0}, requests_waiting{0}, requests_running{0};
};

/// Serves until SIGINT or SIGTERM: then no connection is accepted any more, and requests that have
/// begun are answered. A second signal ends the program at once. SIGHUP loads all models again.
/// `token`: what clients must send as `Authorization: Bearer TOKEN` to the routes that need it;
/// empty: none.
/// `sites`: who may ask without a token, and with one where it names any.
/// `log` gets one line when the server starts, loads models and stops. Throws InvalidOption if it
/// cannot listen.
void run_server(const Service& service, Metrics& metrics, Activity& activity,
                const ServerOptions& options, const std::string& token, const AllowedSites& sites,
                const std::function<void(const std::string&)>& log);

}  // namespace margrove::serve
