#include "model/decision.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/keep_first.hpp"

namespace margrove {
namespace {

/// The lowest of the best labels, or the number of labels if none may be chosen.
LabelId best_label(std::span<const float> scores) {
  const auto best = std::max_element(scores.begin(), scores.end());
  const bool any = best != scores.end() && std::isfinite(*best);
  return static_cast<LabelId>(any ? best - scores.begin() : std::ssize(scores));
}

/// Every label above its threshold, and the best one in any case if `at_least_one`.
template <class Threshold>
void choose_above(std::span<const float> scores, const Threshold& threshold, bool at_least_one,
                  std::vector<LabelId>& labels) {
  labels.clear();
  const LabelId best = at_least_one ? best_label(scores) : static_cast<LabelId>(scores.size());
  for (LabelId l = 0; l < scores.size(); ++l) {
    if (scores[l] > threshold(l) || l == best) labels.push_back(l);
  }
}

}  // namespace

// argmax ------------------------------------------------------------------------------------------

void ArgmaxDecision::choose(const RowScores& scores, std::vector<LabelId>& labels) const {
  labels.clear();
  const LabelId best = best_label(scores.labels);
  if (best < scores.labels.size()) labels.push_back(best);
}

// threshold ---------------------------------------------------------------------------------------

void ThresholdDecision::choose(const RowScores& scores, std::vector<LabelId>& labels) const {
  const bool is_common = thresholds.size() == 1;
  choose_above(
      scores.labels, [&](LabelId l) { return thresholds[is_common ? 0 : l]; }, at_least_one,
      labels);
}

std::vector<Fact> ThresholdDecision::facts() const {
  return {{"threshold", thresholds.size() == 1 ? concat(thresholds.front()) : "one per label"}};
}

void ThresholdDecision::save(TensorMap& out, const std::string& prefix) const {
  out.put_truth(prefix + ".at_least_one", at_least_one);
  out.put<float>(prefix + ".thresholds", thresholds);
}

ThresholdDecision ThresholdDecision::load(const TensorMap& tensors, const std::string& prefix,
                                          std::uint32_t num_labels) {
  ThresholdDecision rule;
  rule.at_least_one = tensors.truth(prefix + ".at_least_one");
  rule.thresholds = tensors.get<float>(prefix + ".thresholds");
  tensors.check(rule.thresholds.size() == 1 || rule.thresholds.size() == num_labels, "tensor ",
                prefix, ".thresholds has ", rule.thresholds.size(), " entries, but must have 1 or ",
                num_labels);
  for (const float t : rule.thresholds) {
    tensors.check(!std::isnan(t), "tensor ", prefix, ".thresholds must hold numbers");
  }
  return rule;
}

// rcut --------------------------------------------------------------------------------------------

void RcutDecision::choose(const RowScores& scores, std::vector<LabelId>& labels) const {
  labels.clear();
  for (LabelId l = 0; l < scores.labels.size(); ++l) {
    if (std::isfinite(scores.labels[l])) labels.push_back(l);
  }
  keep_first(labels, count, [&](LabelId a, LabelId b) {
    return scores.labels[a] != scores.labels[b] ? scores.labels[a] > scores.labels[b] : a < b;
  });
  std::sort(labels.begin(), labels.end());
}

std::vector<Fact> RcutDecision::facts() const { return {{"labels per row", concat(count)}}; }

void RcutDecision::save(TensorMap& out, const std::string& prefix) const {
  out.put_text(prefix + ".count", concat(count));
}

RcutDecision RcutDecision::load(const TensorMap& tensors, const std::string& prefix,
                                std::uint32_t num_labels) {
  const std::uint64_t count = tensors.whole_number(prefix + ".count");
  tensors.check(count >= 1 && count <= num_labels, "metadata ", prefix, ".count is ", count,
                ", but must be in [1, ", num_labels, "]");
  return {static_cast<std::uint32_t>(count)};
}

// instance ----------------------------------------------------------------------------------------

double InstanceDecision::threshold(std::span<const float> descending) const {
  double sum = intercept;
  for (std::size_t r = 0; r < coefficients.size(); ++r) {
    sum += coefficients[r] * descending[std::min(r, descending.size() - 1)];
  }
  return sum;
}

void InstanceDecision::choose(const RowScores& scores, std::vector<LabelId>& labels) const {
  labels.clear();
  std::vector<float> best;
  for (const float score : scores.labels) {
    if (std::isfinite(score)) best.push_back(score);
  }
  if (best.empty()) return;
  keep_first(best, std::max<std::size_t>(coefficients.size(), 1), std::greater<>{});
  const double cut = threshold(best);
  choose_above(
      scores.labels, [&](LabelId) { return cut; }, at_least_one, labels);
}

std::vector<Fact> InstanceDecision::facts() const {
  return {{"scores behind a threshold", concat(coefficients.size())}};
}

void InstanceDecision::save(TensorMap& out, const std::string& prefix) const {
  out.put_truth(prefix + ".at_least_one", at_least_one);
  out.put_number(prefix + ".intercept", intercept);
  out.put<double>(prefix + ".coefficients", coefficients);
}

InstanceDecision InstanceDecision::load(const TensorMap& tensors, const std::string& prefix,
                                        std::uint32_t num_labels) {
  InstanceDecision rule;
  rule.at_least_one = tensors.truth(prefix + ".at_least_one");
  rule.intercept = tensors.number(prefix + ".intercept");
  rule.coefficients = tensors.get<double>(prefix + ".coefficients");
  tensors.check(rule.coefficients.size() <= num_labels, "tensor ", prefix, ".coefficients has ",
                rule.coefficients.size(), " entries, but must have at most ", num_labels);
  for (const double c : rule.coefficients) {
    tensors.check(std::isfinite(c), "tensor ", prefix, ".coefficients must hold finite numbers");
  }
  return rule;
}

// label-set ---------------------------------------------------------------------------------------

namespace {

void choose_label_set(std::string_view rule, const RowScores& scores, double offset,
                      std::vector<LabelId>& labels) {
  require(scores.label_sets != nullptr, "decision is ", rule,
          ", but must be one of label scores where there is no hierarchy");
  scores.label_sets->best(scores.nodes, offset, labels);
}

}  // namespace

void LabelSetDecision::choose(const RowScores& scores, std::vector<LabelId>& labels) const {
  choose_label_set(kName, scores, 0, labels);
}

// offset ------------------------------------------------------------------------------------------

void OffsetDecision::choose(const RowScores& scores, std::vector<LabelId>& labels) const {
  choose_label_set(kName, scores, offset, labels);
}

std::vector<Fact> OffsetDecision::facts() const { return {{"offset", concat(offset)}}; }

void OffsetDecision::save(TensorMap& out, const std::string& prefix) const {
  out.put_number(prefix + ".offset", offset);
}

OffsetDecision OffsetDecision::load(const TensorMap& tensors, const std::string& prefix,
                                    std::uint32_t) {
  return {tensors.number(prefix + ".offset")};
}

// Any of them -------------------------------------------------------------------------------------

namespace {

/// The first alternative from number `k` on whose name is `name`.
template <std::size_t k = 0>
Decision load_rule(const std::string& name, const TensorMap& tensors, const std::string& prefix,
                   std::uint32_t num_labels, std::vector<std::string> known = {}) {
  if constexpr (k == std::variant_size_v<Decision::Rule>) {
    std::string names;
    for (const std::string& other : known) names += (names.empty() ? "" : ", ") + other;
    tensors.fail(
        concat("metadata ", prefix, ".decision is '", name, "', but must be one of ", names));
  } else {
    using Candidate = std::variant_alternative_t<k, Decision::Rule>;
    if (name == Candidate::kName) return Candidate::load(tensors, prefix, num_labels);
    known.emplace_back(Candidate::kName);
    return load_rule<k + 1>(name, tensors, prefix, num_labels, std::move(known));
  }
}

}  // namespace

std::string_view Decision::name() const {
  return std::visit([](const auto& r) -> std::string_view { return r.kName; }, rule);
}

bool Decision::several_labels() const {
  return std::visit([](const auto& r) -> bool { return r.kSeveral; }, rule);
}

bool Decision::uses_node_scores() const {
  return std::visit([](const auto& r) -> bool { return r.kUsesNodeScores; }, rule);
}

double Decision::offset() const {
  const auto* chosen = std::get_if<OffsetDecision>(&rule);
  return chosen != nullptr ? chosen->offset : 0.0;
}

void Decision::choose(const RowScores& scores, std::vector<LabelId>& labels) const {
  std::visit([&](const auto& r) { r.choose(scores, labels); }, rule);
}

std::vector<Fact> Decision::facts() const {
  std::vector<Fact> facts{{"decision", std::string(name())}};
  for (Fact& fact : std::visit([](const auto& r) { return r.facts(); }, rule)) {
    facts.push_back(std::move(fact));
  }
  return facts;
}

void Decision::save(TensorMap& out, const std::string& prefix) const {
  out.put_text(prefix + ".decision", std::string(name()));
  std::visit([&](const auto& r) { r.save(out, prefix); }, rule);
}

Decision Decision::load(const TensorMap& tensors, const std::string& prefix,
                        std::uint32_t num_labels) {
  return load_rule(tensors.text(prefix + ".decision"), tensors, prefix, num_labels);
}

}  // namespace margrove
