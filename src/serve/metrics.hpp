#pragma once
// Counters of a server, in the text format of Prometheus.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace margrove::serve {

/// What the server is doing now.
struct Gauges {
  std::int64_t connections = 0;
  std::int64_t requests_waiting = 0;
  std::int64_t requests_running = 0;
};

/// Counters. Safe to use from many threads.
class Metrics {
 public:
  /// `path` is a route, or "other".
  void count_request(std::string_view path, int status, double seconds);
  void count_rows(const std::string& model, std::size_t rows);
  void count_reload(const std::string& model, bool is_loaded);
  std::string text(std::string_view version, const Gauges& gauges) const;

 private:
  static constexpr std::array kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                      0.25,  0.5,    1.0,   2.5,  5.0,   10.0};
  struct Durations {
    std::array<std::int64_t, kBounds.size() + 1> counts{};
    double sum = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> requests_;  // by path and status
  std::map<std::string, Durations> durations_;                    // by path
  std::map<std::string, std::int64_t> rows_;                      // by model
  std::map<std::pair<std::string, bool>, std::int64_t> reloads_;  // by model and success
};

}  // namespace margrove::serve
