// How many weights one-vs-rest classifiers have, and how much memory their training takes.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "linear/block_solvers.hpp"
#include "linear/dual_descent.hpp"
#include "linear/one_vs_rest.hpp"
#include "linear/second_order.hpp"
#include "numerics/row_kernels.hpp"

namespace margrove {
namespace {

using namespace detail;

/// The values of the rows of each label.
std::vector<double> values_of_labels(const CsrView& X, const LabelSets& labels,
                                     std::uint32_t num_labels) {
  std::vector<double> values(num_labels, 0.0);
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId label : labels[i]) values[label] += static_cast<double>(X.row(i).size());
  }
  return values;
}

/// One label in the middle of each of so many equal parts of the labels with rows, in the order of
/// the values of their rows.
std::vector<std::uint32_t> sample_of(const std::vector<double>& values, std::size_t size) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t l = 0; l < values.size(); ++l) {
    if (values[l] > 0) order.push_back(l);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
  std::vector<std::uint32_t> sample;
  for (std::size_t k = 0; k < size && size <= order.size(); ++k) {
    sample.push_back(order[(2 * k + 1) * order.size() / (2 * size)]);
  }
  return sample;
}

/// The number of weights of each label in a sample of the labels; none where `control` ends the
/// training.
std::vector<double> trained_nonzeros(const CsrView& X, const LabelSets& labels,
                                     std::uint32_t num_labels,
                                     const std::vector<std::uint32_t>& sample,
                                     const OneVsRestOptions& options, RunControl& control) {
  constexpr std::uint32_t kWhole = 8 * kLanes;  // labels of which the first block is full
  std::vector<LabelId> places(std::ranges::max(sample) + 1, kWhole);
  for (std::size_t k = 0; k < sample.size(); ++k) places[sample[k]] = static_cast<LabelId>(k);
  LabelSets of_sample;
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    std::vector<LabelId> own;
    for (const LabelId label : labels[i]) {
      if (label < places.size() && places[label] != kWhole) own.push_back(places[label]);
    }
    of_sample.append(own);
  }
  RunControl quiet(control, nullptr);
  OneVsRestExtras extras;
  extras.num_labels_of_all = num_labels;
  const std::vector<LabelFit> fits =
      train_label_blocks(X, of_sample, kWhole, options, {0, 1}, Executor::serial(), quiet, extras);
  std::vector<double> nonzeros;
  for (std::size_t k = 0; k < sample.size() && quiet.proceed(); ++k) {
    nonzeros.push_back(static_cast<double>(fits[k].weights.features.size()));
  }
  return nonzeros;
}

}  // namespace

std::vector<double> expected_nonzeros(const CsrView& X, const LabelSets& labels,
                                      std::uint32_t num_labels, PointLossKind loss, double C) {
  const auto used = static_cast<double>(num_used_columns(X));
  if (prefers_newton(X, margrove::squared_norms(X), loss, C)) {
    return std::vector<double>(num_labels, used);
  }
  const bool is_squared = loss == PointLossKind::squared_hinge;
  const double spread = is_squared ? 2.5 : 4;           // support vectors per row of the label,
  const double other_supports = is_squared ? 140 : 64;  // and further ones per label
  // Squared hinge bounds no dual variable: the weaker the losses, the more rows share them.
  const double growth = is_squared ? std::sqrt(std::max(1.0, 1 / C)) : 1.0;
  std::vector<double> nonzeros = values_of_labels(X, labels, num_labels);
  const double others = other_supports * static_cast<double>(X.num_nonzeros()) /
                        std::max(1.0, static_cast<double>(X.num_rows()));
  for (double& own : nonzeros) {
    if (own > 0) own = std::min(used, growth * (spread * own + others));
  }
  return nonzeros;
}

std::vector<double> measured_nonzeros(const CsrView& X, const LabelSets& labels,
                                      std::uint32_t num_labels, const OneVsRestOptions& options,
                                      RunControl& control) {
  constexpr std::uint32_t kManyLabels = 100 * kLanes;
  const std::size_t used = num_used_columns(X);
  std::vector<double> expected = expected_nonzeros(X, labels, num_labels, options.loss, options.C);
  const bool is_dense = prefers_newton(X, margrove::squared_norms(X), options.loss, options.C) &&
                        !drops_small_weights(options.loss, used, num_labels);
  if (num_labels < kManyLabels || is_dense) return expected;
  const std::vector<double> values = values_of_labels(X, labels, num_labels);
  const std::vector<std::uint32_t> sample = sample_of(values, kLanes);
  if (sample.empty()) return expected;
  const std::vector<double> found =
      trained_nonzeros(X, labels, num_labels, sample, options, control);
  if (found.size() < sample.size()) return expected;
  // Between two labels of the sample on the line through them, and beyond the last as expected.
  std::vector<double> nonzeros(num_labels, 0.0);
  for (std::uint32_t l = 0; l < num_labels; ++l) {
    if (values[l] == 0) continue;
    const auto next =
        std::upper_bound(sample.begin(), sample.end(), values[l],
                         [&](double value, std::uint32_t other) { return value < values[other]; });
    const auto k = static_cast<std::size_t>(next - sample.begin());
    if (k == 0) {
      nonzeros[l] = found[0];
    } else if (k < sample.size()) {
      const double low = values[sample[k - 1]], high = values[sample[k]];
      nonzeros[l] = found[k - 1] + (found[k] - found[k - 1]) * (values[l] - low) / (high - low);
    } else {
      nonzeros[l] =
          std::min(static_cast<double>(used), found[k - 1] * expected[l] / expected[sample[k - 1]]);
    }
  }
  return nonzeros;
}

MemoryEstimate one_vs_rest_memory(const CsrView& X, const LabelSets& labels,
                                  std::uint32_t num_labels, const OneVsRestOptions& options,
                                  int num_threads, std::span<const double> nonzeros_of_labels) {
  const auto rows = static_cast<double>(X.num_rows());
  const std::size_t used = num_used_columns(X);
  const auto columns = static_cast<double>(used);
  const double width = std::clamp((num_labels + 7.0) / 8.0, 1.0, static_cast<double>(kLanes));
  const double blocks = std::ceil(num_labels / width);
  const bool has_newton = prefers_newton(X, margrove::squared_norms(X), options.loss, options.C);
  const double nonzeros =
      std::accumulate(nonzeros_of_labels.begin(), nonzeros_of_labels.end(), 0.0);

  MemoryEstimate memory;
  memory.add("rows of the solver", 4.0 * static_cast<double>(X.num_nonzeros()) + 12 * rows +
                                       8.0 * static_cast<double>(X.num_columns()) +
                                       4.0 * static_cast<double>(labels.num_labels_total()));
  const bool has_sets = options.loss != PointLossKind::logistic;
  double row_bytes = has_newton ? 4.0 * sizeof(Lanes) : sizeof(Lanes) + 24.0;
  if (has_newton && has_sets) {
    // Descent from Newton's duals begins with all rows that have loss, at most all of them.
    row_bytes = std::max(row_bytes, sizeof(Lanes) + 24.0 + width * (12.0 + sizeof(DualRow)));
  }
  const double column_bytes = has_newton ? 9 * sizeof(Lanes) : sizeof(Lanes);
  // A label's working set is a few times its own rows.
  constexpr double kGrowth = 4;
  const double own = static_cast<double>(labels.num_labels_total()) / std::max(1U, num_labels);
  const double sets =
      has_sets ? width * static_cast<double>(sizeof(DualRow)) * std::min(rows, kGrowth * own) : 0.0;
  memory.add("scratch of the threads",
             std::min<double>(num_threads, blocks) *
                 (row_bytes * rows + (column_bytes + 8) * columns + sets));
  if (passes_before_second_order(X.num_rows(), used, X.num_nonzeros(), options.max_passes) > 0) {
    memory.add("second-order steps",
               std::min<double>(num_threads, blocks) * second_order_bytes(X.num_rows(), used));
  }
  const double dense = 4.0 * static_cast<double>(X.num_columns()) * num_labels;
  const bool is_dense = dense <= 8 * nonzeros;
  const auto parts = is_dense ? 1 : static_cast<double>(parts_of_weights(nonzeros));
  memory.add("weights of each label", 8 * nonzeros / parts);
  memory.add("model", std::min(dense, 8 * nonzeros) + 8.0 * static_cast<double>(X.num_columns()));
  return memory;
}

}  // namespace margrove
