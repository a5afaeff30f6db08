#include "outputs/top_k/top_k.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "numerics/log_number.hpp"

namespace margrove {
namespace {

/// The labels with this value in `choice`, best first.
std::vector<std::size_t> ranked(std::span<const double> scores, const LabelChoice& choice,
                                std::uint8_t value) {
  std::vector<std::size_t> labels;
  for (std::size_t l = 0; l < choice.size(); ++l) {
    if (choice[l] == value) labels.push_back(l);
  }
  std::stable_sort(labels.begin(), labels.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return labels;
}

}  // namespace

LabelChoice best_choice(std::span<const double> scores, std::size_t k) {
  LabelChoice choice(scores.size(), 0);
  const auto order = ranked(scores, choice, 0);
  for (std::size_t j = 0; j < k; ++j) choice[order[j]] = 1;
  return choice;
}

EnumerationOracle<LabelChoice> choice_oracle(std::span<const double> scores,
                                             const LabelChoice& truth, Criteria criteria) {
  const auto inside = ranked(scores, truth, 1), outside = ranked(scores, truth, 0);
  const std::size_t k = inside.size();
  LabelChoice y = truth;
  double m = 0.0;
  std::vector<Candidate<LabelChoice>> sets;
  for (std::size_t j = 0; j <= std::min(k, outside.size()); ++j) {
    if (j > 0) {
      const std::size_t out = inside[k - j], in = outside[j - 1];
      y[out] = 0;
      y[in] = 1;
      m += scores[in] - scores[out];
    }
    const auto wrong = static_cast<double>(2 * j);
    if (criteria == Criteria::hamming) {
      sets.push_back({y, m, wrong});
    } else {
      sets.push_back({y, m + wrong, -static_cast<double>(2 * k), wrong});
    }
  }
  return {std::move(sets), 0};
}

// before[i, j]: log of the sum over the sets of j of the first i labels; behind[i, j]: of j of the
// labels i, i + 1, ...
double choice_marginals(std::span<const double> scores, std::size_t k,
                        std::vector<double>& probabilities) {
  const std::size_t n = scores.size(), width = k + 1;
  const auto fill = [&](const auto& score) {  // of the labels in any order
    std::vector<LogNumber> sums((n + 1) * width);
    sums[0].log = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const LogNumber own{score(i)};
      for (std::size_t j = 0; j < width; ++j) {
        LogNumber& sum = sums[(i + 1) * width + j];
        sum = sums[i * width + j];
        if (j > 0) sum += own * sums[i * width + j - 1];
      }
    }
    return sums;
  };
  const auto before = fill([&](std::size_t i) { return scores[i]; });
  const auto behind = fill([&](std::size_t i) { return scores[n - 1 - i]; });
  const double log_partition = before[n * width + k].log;
  probabilities.resize(n);
  std::vector<double> terms(k);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      terms[j] = before[i * width + j].log + behind[(n - 1 - i) * width + k - 1 - j].log;
    }
    probabilities[i] = std::min(1.0, std::exp(scores[i] + log_sum_exp(terms) - log_partition));
  }
  return log_partition;
}

}  // namespace margrove
