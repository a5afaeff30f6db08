#include "serve/metrics.hpp"

#include <algorithm>

#include "base/memory_limit.hpp"
#include "margrove/errors.hpp"

namespace margrove::serve {
namespace {

void begin(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

}  // namespace

void Metrics::count_request(std::string_view path, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(path), status}];
  Durations& durations = durations_[std::string(path)];
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++durations.counts[static_cast<std::size_t>(bound - kBounds.begin())];
  durations.sum += seconds;
}

void Metrics::count_rows(const std::string& model, std::size_t rows) {
  const std::lock_guard lock(mutex_);
  rows_[model] += static_cast<std::int64_t>(rows);
}

void Metrics::count_reload(const std::string& model, bool is_loaded) {
  const std::lock_guard lock(mutex_);
  ++reloads_[{model, is_loaded}];
}

// Names of models and paths need no escapes (parse_model_file(), routes).
std::string Metrics::text(std::string_view version, const Gauges& gauges) const {
  std::string text;
  const std::lock_guard lock(mutex_);
  begin(text, "margrove_info", "gauge", "The version of the program.");
  text += concat("margrove_info{version=\"", version, "\"} 1\n");
  begin(text, "margrove_requests_total", "counter", "Requests answered.");
  for (const auto& [key, count] : requests_) {
    text += concat("margrove_requests_total{path=\"", key.first, "\",code=\"", key.second, "\"} ",
                   count, "\n");
  }
  begin(text, "margrove_request_seconds", "histogram",
        "Time from the head of a request to its answer.");
  for (const auto& of_path : durations_) {
    const auto& path = of_path.first;  // clang captures no structured bindings with OpenMP
    const auto& durations = of_path.second;
    std::int64_t total = 0;
    const auto bucket = [&](std::size_t k, const std::string& bound) {
      total += durations.counts[k];
      text += concat("margrove_request_seconds_bucket{path=\"", path, "\",le=\"", bound, "\"} ",
                     total, "\n");
    };
    for (std::size_t k = 0; k < kBounds.size(); ++k) bucket(k, concat(kBounds[k]));
    bucket(kBounds.size(), "+Inf");
    text += concat("margrove_request_seconds_sum{path=\"", path, "\"} ", durations.sum, "\n");
    text += concat("margrove_request_seconds_count{path=\"", path, "\"} ", total, "\n");
  }
  begin(text, "margrove_rows_total", "counter", "Rows predicted.");
  for (const auto& [model, rows] : rows_) {
    text += concat("margrove_rows_total{model=\"", model, "\"} ", rows, "\n");
  }
  begin(text, "margrove_reloads_total", "counter", "Models loaded again.");
  for (const auto& [key, count] : reloads_) {
    text += concat("margrove_reloads_total{model=\"", key.first, "\",result=\"",
                   key.second ? "loaded" : "kept", "\"} ", count, "\n");
  }
  const auto gauge = [&](std::string_view name, std::string_view help, std::int64_t value) {
    begin(text, name, "gauge", help);
    text += concat(name, " ", value, "\n");
  };
  gauge("margrove_connections", "Open connections.", gauges.connections);
  gauge("margrove_requests_waiting", "Requests that wait for a thread.", gauges.requests_waiting);
  gauge("margrove_requests_running", "Requests that a thread works on.", gauges.requests_running);
  return text;
}

}  // namespace margrove::serve
