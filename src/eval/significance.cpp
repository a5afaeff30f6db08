#include "margrove/significance.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "eval/paired_tests.hpp"
#include "margrove/errors.hpp"
#include "margrove/metrics.hpp"

namespace margrove {
namespace {

constexpr std::size_t kMaxExactRanks = 50;

bool contains(std::span<const LabelId> labels, LabelId label) {
  return std::binary_search(labels.begin(), labels.end(), label);
}

/// Of the decisions on which `first` and `second` differ in one row, counts those where `first` is
/// right.
std::int64_t count_right(std::span<const LabelId> truth, std::span<const LabelId> first,
                         std::span<const LabelId> second) {
  std::int64_t right = 0;
  for (const LabelId label : first) right += !contains(second, label) && contains(truth, label);
  for (const LabelId label : second) right += !contains(first, label) && !contains(truth, label);
  return right;
}

/// Twice the mean ranks of |differences|, which are whole numbers, and sum of t^3 - t over groups
/// of t ties.
struct Ranks {
  std::vector<std::int64_t> doubled;
  double tie_term = 0;
};

Ranks mean_ranks(const std::vector<double>& differences) {
  std::vector<std::size_t> order(differences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size_of = [&](std::size_t i) { return std::abs(differences[i]); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return size_of(a) < size_of(b); });
  Ranks ranks{std::vector<std::int64_t>(order.size())};
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && size_of(order[end]) == size_of(order[begin])) ++end;
    for (std::size_t k = begin; k < end; ++k) {
      ranks.doubled[order[k]] = static_cast<std::int64_t>(begin + 1 + end);
    }
    const auto ties = static_cast<double>(end - begin);
    ranks.tie_term += ties * ties * ties - ties;
    begin = end;
  }
  return ranks;
}

/// P(sum of the ranks with a positive sign <= sum), every sign + or - with probability 1/2.
double exact_lower_tail(const std::vector<std::int64_t>& doubled_ranks, std::int64_t doubled_sum) {
  const std::int64_t total =
      std::accumulate(doubled_ranks.begin(), doubled_ranks.end(), std::int64_t{0});
  std::vector<double> probability(static_cast<std::size_t>(total) + 1, 0.0);
  probability[0] = 1;
  for (const std::int64_t rank : doubled_ranks) {
    for (std::int64_t sum = total; sum >= 0; --sum) {
      const double with = sum >= rank ? probability[static_cast<std::size_t>(sum - rank)] : 0.0;
      auto& here = probability[static_cast<std::size_t>(sum)];
      here = 0.5 * (here + with);
    }
  }
  return std::accumulate(probability.begin(),
                         probability.begin() + static_cast<std::ptrdiff_t>(doubled_sum) + 1, 0.0);
}

}  // namespace

PairedTest sign_test(std::int64_t first_better, std::int64_t second_better) {
  require(first_better >= 0 && second_better >= 0, "sign_test: counts are ", first_better, " and ",
          second_better, ", but must be >= 0");
  const std::int64_t smaller = std::min(first_better, second_better);
  const std::int64_t pairs = first_better + second_better;
  PairedTest test{first_better, second_better, static_cast<double>(smaller), 1.0};
  if (first_better == second_better) return test;
  // P(B <= smaller), B ~ binomial(pairs, 1/2), summed downwards from its largest term.
  const auto n = static_cast<double>(pairs);
  auto k = static_cast<double>(smaller);
  double term = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) -
                         n * std::numbers::ln2);
  double tail = 0;
  for (; k >= 0 && term > tail * 1e-18; --k) {
    tail += term;
    term *= k / (n - k + 1);
  }
  test.p_value = std::min(1.0, 2 * tail);
  return test;
}

PairedTest micro_sign_test(const LabelSets& truth, const LabelSets& first,
                           const LabelSets& second) {
  require(first.num_rows() == truth.num_rows() && second.num_rows() == truth.num_rows(),
          "micro_sign_test: numbers of predicted rows are ", first.num_rows(), " and ",
          second.num_rows(), ", but must be ", truth.num_rows(), " as in the truth");
  std::int64_t first_better = 0, second_better = 0;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    first_better += count_right(truth[i], first[i], second[i]);
    second_better += count_right(truth[i], second[i], first[i]);
  }
  return sign_test(first_better, second_better);
}

PairedTest wilcoxon_signed_rank(std::span<const double> first, std::span<const double> second) {
  require(first.size() == second.size(), "wilcoxon_signed_rank: second has ", second.size(),
          " values, but must have ", first.size(), " as the first");
  PairedTest test;
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double difference = first[i] - second[i];
    require(std::isfinite(difference), "wilcoxon_signed_rank: difference[", i, "] is ", difference,
            ", but must be finite");
    test.first_better += difference > 0;
    test.second_better += difference < 0;
    if (difference != 0) differences.push_back(difference);
  }
  if (differences.empty()) return test;

  const Ranks ranks = mean_ranks(differences);
  std::int64_t positive = 0, total = 0;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    total += ranks.doubled[i];
    if (differences[i] > 0) positive += ranks.doubled[i];
  }
  const std::int64_t smaller = std::min(positive, total - positive);
  test.statistic = static_cast<double>(smaller) / 2;
  if (differences.size() <= kMaxExactRanks) {
    test.p_value = std::min(1.0, 2 * exact_lower_tail(ranks.doubled, smaller));
    return test;
  }
  const auto n = static_cast<double>(differences.size());
  const double mean = n * (n + 1) / 4;
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranks.tie_term / 48;
  test.p_value = std::erfc((mean - test.statistic) / std::sqrt(2 * variance));
  return test;
}

PairedTest macro_wilcoxon_test(const LabelSets& truth, const LabelSets& first,
                               const LabelSets& second) {
  const auto f1_of_labels = [&](const LabelSets& predicted) {
    std::vector<double> f1;
    for (const LabelScore& score : label_scores(truth, predicted, {})) f1.push_back(score.f1());
    return f1;
  };
  return wilcoxon_signed_rank(f1_of_labels(first), f1_of_labels(second));
}

}  // namespace margrove
