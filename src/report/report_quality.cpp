// Convergence, calibration and coverage, and networks of kernels.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "eval/selective.hpp"
#include "kernel/network_drawing.hpp"
#include "model/kernel_predictor.hpp"
#include "model/log_odds.hpp"
#include "report/report_parts.hpp"

namespace margrove::detail {
namespace {

constexpr int kReliabilityBins = 10;
constexpr std::size_t kMaxCoveragePoints = 200;

/// NaN becomes null, because JSON has no NaN.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json calibration_json(const ModelParts& model, const Confidences& confidences) {
  const auto bins = reliability(confidences.confidence, confidences.right, kReliabilityBins);
  Json list = Json::array();
  for (const ReliabilityBin& bin : bins) {
    list.push_back(
        {{"count", bin.count}, {"confidence", bin.confidence}, {"accuracy", bin.accuracy}});
  }
  return {{"temperature", model.temperature()},
          {"fitted_rows", model.calibration ? model.calibration->num_rows : 0},
          {"error", expected_calibration_error(bins)},
          {"bins", std::move(list)}};
}

Json coverage_json(std::span<const double> confidence, const std::vector<bool>& right) {
  const std::vector<double> risks = risk_coverage(confidence, right);
  Json curve = Json::array();
  const std::size_t num_points = std::min(risks.size(), kMaxCoveragePoints);
  for (std::size_t k = 1; k <= num_points; ++k) {
    const std::size_t covered = k * risks.size() / num_points;
    curve.push_back(
        {static_cast<double>(covered) / static_cast<double>(risks.size()), 1 - risks[covered - 1]});
  }
  return {{"area_under_risk", area_under(risks)}, {"curve", std::move(curve)}};
}

}  // namespace

Json convergence_json(const FitReport& report) {
  Json curve = Json::array();
  for (const auto& [pass, primal, dual] : report.curve) {
    curve.push_back({pass, number_or_null(primal), number_or_null(dual)});
  }
  return {{"stop", to_string(report.stop)},
          {"passes", report.passes},
          {"objective", number_or_null(report.primal)},
          {"dual", number_or_null(report.dual)},
          {"relative_gap", number_or_null(report.relative_gap)},
          {"curve", std::move(curve)}};
}

Json confidence_json(const ReportInputs& inputs, Executor& executor) {
  if (!inputs.model.rows().gives_one_label()) {
    return {{"calibration", nullptr}, {"coverage", nullptr}};
  }
  const Confidences confidences = confidences_of(inputs.model, inputs.rows, executor);
  return {{"calibration", gives_probabilities(inputs.model)
                              ? calibration_json(inputs.model, confidences)
                              : Json(nullptr)},
          {"coverage", coverage_json(confidences.confidence, confidences.right)}};
}

Json coverage_of_other(const ReportInputs& inputs) {
  const OtherPredictions& other = *inputs.other;
  if (other.confidence.empty()) return nullptr;
  std::vector<bool> right;
  for (std::size_t i = 0; i < inputs.rows.truth.num_rows(); ++i) {
    right.push_back(std::ranges::equal(inputs.rows.truth[i], other.labels[i]));
  }
  return coverage_json(other.confidence, right);
}

Json network_json(const ModelParts& model) {
  const KernelPredictor* kernels = model.predictor->kernels();
  if (kernels == nullptr) return nullptr;
  const SumProductNetwork& network = kernels->network();
  Json nodes = Json::array();
  for (const auto& node : network.nodes()) {
    Json each{{"name", node.kind == SumProductNetwork::Kind::kernel
                           ? kernel_caption(network.kernels()[node.index])
                           : node.name},
              {"children", node.children}};
    if (node.kind == SumProductNetwork::Kind::product) each["weight"] = kernels->beta()[node.index];
    nodes.push_back(std::move(each));
  }
  return {{"nodes", std::move(nodes)}, {"root", network.root()}};
}

}  // namespace margrove::detail
