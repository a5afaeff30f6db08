#include "eval/metric_choice.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/number_text.hpp"
#include "margrove/errors.hpp"
#include "margrove/options.hpp"

namespace margrove {
namespace {

/// A metric, or the metrics "name_k" for all k.
struct KnownMetric {
  std::string_view name;
  MetricFamily family;
  bool is_numbered = false;
  std::string_view obstacle = {};
  bool is_loss = false;  // less is better
  bool needs_calibration = false;
};

constexpr std::string_view kFewLabels = "the model has fewer labels";
constexpr std::string_view kNoCounts =
    "propensities need the training rows (option train) and a model with at least so many labels";
constexpr std::string_view kNotCalibrated =
    "the model has no calibrated probabilities of one label per row";

constexpr std::array kMetrics{
    KnownMetric{"accuracy", MetricFamily::labels},
    KnownMetric{"jaccard", MetricFamily::labels},
    KnownMetric{"instance_f1", MetricFamily::labels},
    KnownMetric{"micro_f1", MetricFamily::labels},
    KnownMetric{"macro_f1", MetricFamily::labels},
    KnownMetric{.name = "hamming_loss", .family = MetricFamily::labels, .is_loss = true},
    KnownMetric{"hierarchical_precision", MetricFamily::nodes},
    KnownMetric{"hierarchical_recall", MetricFamily::nodes},
    KnownMetric{"hierarchical_f1", MetricFamily::nodes},
    KnownMetric{"hierarchical_f1_macro", MetricFamily::nodes},
    KnownMetric{"hierarchical_f1_instance", MetricFamily::hierarchy},
    KnownMetric{"lca_f1", MetricFamily::hierarchy},
    KnownMetric{.name = "tree_distance", .family = MetricFamily::hierarchy, .is_loss = true},
    KnownMetric{"accuracy_level_", MetricFamily::hierarchy, true,
                "no row has a label at this level"},
    KnownMetric{"precision_at_", MetricFamily::ranking, true, kFewLabels},
    KnownMetric{"recall_at_", MetricFamily::ranking, true, kFewLabels},
    KnownMetric{"f1_at_", MetricFamily::ranking, true, kFewLabels},
    KnownMetric{"ndcg_at_", MetricFamily::ranking, true, kFewLabels},
    KnownMetric{"psp_at_", MetricFamily::ranking, true, kNoCounts},
    KnownMetric{"r_precision", MetricFamily::ranking},
    KnownMetric{.name = "coverage_error", .family = MetricFamily::ranking, .is_loss = true},
    KnownMetric{"au_prc", MetricFamily::node_scores},
    KnownMetric{"au_prc_macro", MetricFamily::node_scores},
    KnownMetric{"au_prc_weighted", MetricFamily::node_scores},
    KnownMetric{"f_max", MetricFamily::node_scores},
    KnownMetric{"log_loss", MetricFamily::probabilities, false, kNotCalibrated, true, true},
    KnownMetric{"brier", MetricFamily::probabilities, false, kNotCalibrated, true, true},
    KnownMetric{"ece", MetricFamily::probabilities, false, kNotCalibrated, true, true},
    KnownMetric{"risk_coverage_area", MetricFamily::probabilities, false,
                "the model gives label sets", true},
};

/// The number at the end of a numbered metric's name.
std::optional<std::size_t> number_of(std::string_view name, const KnownMetric& metric) {
  if (!metric.is_numbered || !name.starts_with(metric.name)) return std::nullopt;
  const auto number = read_number<std::size_t>(name.substr(metric.name.size()));
  return number == std::size_t{0} ? std::nullopt : number;
}

const KnownMetric* find(std::string_view name) {
  const auto found = std::ranges::find_if(kMetrics, [&](const KnownMetric& metric) {
    return metric.is_numbered ? number_of(name, metric).has_value() : metric.name == name;
  });
  return found == kMetrics.end() ? nullptr : &*found;
}

bool is_any(const KnownMetric&) { return true; }
bool is_of_searches(const KnownMetric& metric) { return !metric.needs_calibration; }

/// `known` and those metrics of the registry that `includes` accepts, with K for numbers.
template <class Includes>
std::string listed(std::vector<std::string> known, const Includes& includes) {
  for (const KnownMetric& metric : kMetrics) {
    if (includes(metric)) known.push_back(concat(metric.name, metric.is_numbered ? "K" : ""));
  }
  return detail::join(known, ", ");
}

/// The same by names, of those with a number some.
template <class Includes>
std::vector<std::string> names_of(const Includes& includes) {
  std::vector<std::string> names;
  for (const KnownMetric& metric : kMetrics) {
    if (!includes(metric)) continue;
    if (!metric.is_numbered) names.emplace_back(metric.name);
    if (!metric.is_numbered) continue;
    for (const int number : {1, 3, 5, 10}) {
      const bool is_level = metric.family == MetricFamily::hierarchy;
      if (!is_level || number == 1) names.push_back(concat(metric.name, number));
    }
  }
  return names;
}

}  // namespace

std::string_view heading(MetricFamily family) {
  switch (family) {
    case MetricFamily::labels:
      return "Label sets";
    case MetricFamily::nodes:
    case MetricFamily::hierarchy:
      return "Hierarchy";
    case MetricFamily::ranking:
      return "Ranking of labels";
    case MetricFamily::node_scores:
      return "Scores of nodes";
    case MetricFamily::probabilities:
      return "Confidence";
  }
  return "";
}

MetricChoice::MetricChoice(const std::vector<std::string>& names) : is_default_(names.empty()) {
  for (const std::string& name : names) {
    if (name == "all") {
      wants_all_ = true;
      continue;
    }
    require<InvalidOption>(find(name) != nullptr, "metric is '", name, "', but must be one of ",
                           listed({"all"}, is_any));
    named_.push_back(name);
  }
}

bool MetricChoice::wants(std::string_view name) const {
  return is_default_ || wants_all_ || std::ranges::find(named_, name) != named_.end();
}

bool MetricChoice::wants_any(MetricFamily family) const {
  return is_default_ || wants_all_ || std::ranges::any_of(named_, [&](const std::string& name) {
           return find(name)->family == family;
         });
}

std::vector<std::size_t> MetricChoice::ranks() const {
  std::set<std::size_t> ranks{1, 3, 5, 10};
  for (const std::string& name : named_) {
    const KnownMetric& metric = *find(name);
    if (metric.family != MetricFamily::ranking) continue;
    if (const auto k = number_of(name, metric)) ranks.insert(*k);
  }
  return {ranks.begin(), ranks.end()};
}

std::vector<std::string> metric_names() { return names_of(is_any); }

std::vector<std::string> search_metric_names() { return names_of(is_of_searches); }

void require_search_metric(std::string_view name) {
  const KnownMetric* metric = find(name);
  require<InvalidOption>(metric != nullptr && is_of_searches(*metric), "metric is '", name,
                         "', but must be one of ", listed({}, is_of_searches));
}

bool needs_scores(std::string_view name) {
  const MetricFamily family = find(name)->family;
  return family != MetricFamily::labels && family != MetricFamily::nodes &&
         family != MetricFamily::hierarchy;
}

bool is_loss(std::string_view name) {
  const KnownMetric* metric = find(name);
  return metric != nullptr && metric->is_loss;
}

std::string_view obstacle(std::string_view name) { return find(name)->obstacle; }

}  // namespace margrove
