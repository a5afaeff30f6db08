#pragma once
// The names of the metrics of `margrove evaluate`, and which of them are wanted.

#include <string>
#include <string_view>
#include <vector>

namespace margrove {

/// Metrics that are computed together.
enum class MetricFamily { labels, hierarchy, ranking, node_scores, probabilities };
/// "Label sets" of labels.
std::string_view heading(MetricFamily family);

class MetricChoice {
 public:
  /// Names; one of them "all" for everything; none for the default. Throws InvalidOption for a
  /// name that is none.
  explicit MetricChoice(const std::vector<std::string>& names);

  bool is_default() const { return is_default_; }
  /// Those that were asked for by name.
  const std::vector<std::string>& named() const { return named_; }
  bool wants(std::string_view name) const;
  bool wants_any(MetricFamily family) const;
  /// The k of metrics at k, ascending: 1, 3, 5, 10 and those asked for by name.
  std::vector<std::size_t> ranks() const;

 private:
  bool is_default_ = false, wants_all_ = false;
  std::vector<std::string> named_;
};

/// What a model or data lack that do not allow a metric, as the end of a sentence.
std::string_view obstacle(std::string_view name);

}  // namespace margrove
