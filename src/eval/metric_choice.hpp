#pragma once
// The names of the metrics of `margrove evaluate`, and the choice among them.

#include <string>
#include <string_view>
#include <vector>

namespace margrove {

/// Metrics that are computed together: `nodes` and `hierarchy` from predicted sets as `labels`, the
/// others from scores.
enum class MetricFamily { labels, nodes, hierarchy, ranking, node_scores, probabilities };
/// The heading of a family, such as "Label sets".
std::string_view heading(MetricFamily family);

class MetricChoice {
 public:
  /// names: metrics; "all" for every one; empty for the default. Throws InvalidOption for an
  /// unknown name.
  explicit MetricChoice(const std::vector<std::string>& names);

  bool is_default() const { return is_default_; }
  /// The metrics that were requested by name.
  const std::vector<std::string>& named() const { return named_; }
  bool wants(std::string_view name) const;
  bool wants_any(MetricFamily family) const;
  /// The k of metrics at k, ascending: 1, 3, 5, 10 and those requested by name.
  std::vector<std::size_t> ranks() const;

 private:
  bool is_default_ = false, wants_all_ = false;
  std::vector<std::string> named_;
};

/// The names of all metrics; of those with a number some.
std::vector<std::string> metric_names();

/// The same of those by which searches choose: all that models without calibration have.
std::vector<std::string> search_metric_names();
/// Throws InvalidOption, listing the names, for others.
void require_search_metric(std::string_view name);

/// Whether a metric, which must be known, is computed from the scores of a model, so that predicted
/// sets do not suffice.
bool needs_scores(std::string_view name);

/// Whether the smaller value of a metric is the better one.
bool is_loss(std::string_view name);

/// Why a model or data do not allow a metric, as the end of a sentence.
std::string_view obstacle(std::string_view name);

}  // namespace margrove
