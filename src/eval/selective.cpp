#include "eval/selective.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "margrove/errors.hpp"

namespace margrove {

namespace {

std::vector<std::size_t> most_confident_first(std::span<const double> confidences) {
  std::vector<std::size_t> order(confidences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return confidences[a] > confidences[b]; });
  return order;
}

}  // namespace

std::vector<double> risk_coverage(std::span<const double> confidences,
                                  const std::vector<bool>& right) {
  require(confidences.size() == right.size(), "risk_coverage: there are ", confidences.size(),
          " confidences and ", right.size(), " marks of right rows, but must be as many");
  for (std::size_t i = 0; i < confidences.size(); ++i) {
    require(!std::isnan(confidences[i]), "risk_coverage: confidence[", i,
            "] is nan, but must be a number");
  }
  const std::vector<std::size_t> order = most_confident_first(confidences);
  std::vector<double> risks;
  double errors = 0;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    double in_group = 0;
    for (; end < order.size() && confidences[order[end]] == confidences[order[begin]]; ++end) {
      in_group += right[order[end]] ? 0 : 1;
    }
    const double rate = in_group / static_cast<double>(end - begin);
    for (std::size_t k = begin; k < end; ++k) {
      const double so_far = errors + rate * static_cast<double>(k + 1 - begin);
      risks.push_back(so_far / static_cast<double>(k + 1));
    }
    errors += in_group;
    begin = end;
  }
  return risks;
}

double area_under(std::span<const double> risks) {
  if (risks.empty()) return 0;
  return std::accumulate(risks.begin(), risks.end(), 0.0) / static_cast<double>(risks.size());
}

std::vector<double> influence_on_area(std::span<const double> confidences,
                                      const std::vector<bool>& right) {
  const std::vector<double> risks = risk_coverage(confidences, right);
  const double area = area_under(risks);
  const std::vector<std::size_t> order = most_confident_first(confidences);
  std::vector<double> influence(order.size());
  double shares = 0, lost = 0;  // sums of 1 / k and risk_k / k over the places from a row's on
  for (std::size_t end = order.size(); end > 0;) {
    std::size_t begin = end;
    double own = 0, mean_shares = 0;  // sums over the places of a group that ties
    do {
      --begin;
      const auto k = static_cast<double>(begin + 1);
      shares += 1 / k;
      lost += risks[begin] / k;
      own += risks[begin] - lost;
      mean_shares += shares;
    } while (begin > 0 && confidences[order[begin - 1]] == confidences[order[end - 1]]);
    const auto size = static_cast<double>(end - begin);
    for (std::size_t k = begin; k < end; ++k) {
      const double error = right[order[k]] ? 0.0 : 1.0;
      influence[order[k]] = (own + error * mean_shares) / size - area;
    }
    end = begin;
  }
  return influence;
}

}  // namespace margrove
