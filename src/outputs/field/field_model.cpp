// FieldModel: features, their products, and the scores that an oracle searches.

#include <algorithm>

#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "outputs/field/pairwise_field.hpp"

namespace margrove {

FieldModel::FieldModel(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                       FieldOptions options)
    : X_(X),
      num_labels_(num_labels),
      options_(options),
      squared_norms_(margrove::squared_norms(X)) {
  require(labels.num_rows() == X.num_rows(), "field model: there are ", labels.num_rows(),
          " label sets, but ", X.num_rows(), " rows; there must be one label set per row");
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    LabelVector y(num_labels, 0);
    for (const LabelId l : labels[i]) {
      require(l < num_labels, "field model: a label of row ", i, " is ", l, ", but must be < ",
              num_labels);
      y[l] = 1;
    }
    truth_.push_back(std::move(y));
  }
}

void score_field(const SparseRow& x, std::size_t num_features, std::uint32_t num_labels,
                 ScaledWeights w, FieldWorkspace& workspace, double pair_scale) {
  const std::size_t K = num_labels;
  workspace.table_m.clear();
  workspace.unary.assign(K, 0.0);
  for (std::size_t j = 0; j < x.size() && x.columns[j] < num_features; ++j) {
    const double value = w.scale * static_cast<double>(x.values[j]);
    const auto weights = w.values.subspan(x.columns[j] * K, K);
    for (std::size_t k = 0; k < K; ++k) {
      workspace.unary[k] += value * static_cast<double>(weights[k]);
    }
  }
  // theta(a, b) = t00 + a (t10 - t00) + b (t01 - t00) + a b (t11 - t10 - t01 + t00)
  workspace.interactions.assign(K * K, 0.0);
  workspace.constant = 0.0;
  const double scale = w.scale * pair_scale;
  std::size_t at = num_features * K;
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t l = k + 1; l < K; ++l, at += 4) {
      const double t00 = scale * static_cast<double>(w.values[at]);
      const double t01 = scale * static_cast<double>(w.values[at + 1]);
      const double t10 = scale * static_cast<double>(w.values[at + 2]);
      const double t11 = scale * static_cast<double>(w.values[at + 3]);
      workspace.constant += t00;
      workspace.unary[k] += t10 - t00;
      workspace.unary[l] += t01 - t00;
      workspace.interactions[k * K + l] = workspace.interactions[l * K + k] = t11 - t10 - t01 + t00;
    }
  }
}

FieldOracle FieldModel::oracle(std::size_t i, ScaledWeights w, FieldWorkspace& workspace) const {
  score_field(X_.row(i), X_.num_columns(), num_labels_, w, workspace, options_.pair_scale);
  return {workspace, truth_[i], options_};
}

void FieldModel::difference(std::size_t i, const LabelVector& y, SparseVector& difference) const {
  const std::uint64_t K = num_labels_;
  const LabelVector& truth = truth_[i];
  const SparseRow x = X_.row(i);
  for (std::size_t k = 0; k < K; ++k) {
    if (y[k] == truth[k]) continue;
    const float sign = y[k] ? 1.0F : -1.0F;
    for (std::size_t j = 0; j < x.size(); ++j) {
      difference.add(x.columns[j] * K + k, sign * x.values[j]);
    }
  }
  const auto pair = static_cast<float>(options_.pair_scale);
  std::uint64_t at = X_.num_columns() * K;
  for (std::size_t k = 0; k < K; ++k) {
    for (std::size_t l = k + 1; l < K; ++l, at += 4) {
      const auto now = static_cast<std::uint64_t>(2 * y[k] + y[l]);
      const auto before = static_cast<std::uint64_t>(2 * truth[k] + truth[l]);
      if (now == before) continue;
      difference.add(at + now, pair);
      difference.add(at + before, -pair);
    }
  }
}

void FieldModel::margins(std::size_t i, std::span<const LabelVector> labellings, ScaledWeights w,
                         FieldWorkspace& workspace, std::span<double> margins) const {
  const FieldOracle scores = oracle(i, w, workspace);
  for (std::size_t k = 0; k < labellings.size(); ++k) {
    const auto place = scores.evaluate(labellings[k]);
    margins[k] = place.m - place.constant;
  }
}

// <phi(x, y), phi(x, z)> = ||x||^2 |y n z| + pair_scale^2 times the number of pairs of labels with
// the same two values in y and z.
void FieldModel::difference_products(std::size_t i, std::span<const LabelVector> labellings,
                                     std::span<double> products) const {
  const std::size_t size = labellings.size();
  const double of_pair = options_.pair_scale * options_.pair_scale;
  const auto product = [&](const LabelVector& y, const LabelVector& z) {
    std::size_t both = 0, same = 0;
    for (std::size_t k = 0; k < num_labels_; ++k) {
      both += y[k] & z[k];
      same += y[k] == z[k];
    }
    return squared_norms_[i] * static_cast<double>(both) +
           0.5 * of_pair * static_cast<double>(same) * (static_cast<double>(same) - 1.0);
  };
  const LabelVector& truth = truth_[i];
  const double of_truth = product(truth, truth);
  std::vector<double> with_truth;
  for (const LabelVector& y : labellings) with_truth.push_back(product(y, truth));
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      products[j * size + k] = products[k * size + j] =
          product(labellings[j], labellings[k]) - with_truth[j] - with_truth[k] + of_truth;
    }
  }
}

void FieldModel::add_differences(std::size_t i, std::span<const LabelVector> labellings,
                                 std::span<const double> coefficients, FieldWorkspace& workspace,
                                 std::span<float> w) const {
  const std::size_t K = num_labels_, first_pair = X_.num_columns() * K;
  const LabelVector& truth = truth_[i];
  const auto of_pair = [&](std::size_t k, std::size_t l) {  // k < l
    return first_pair + 4 * (k * K - k * (k + 1) / 2 + l - k - 1);
  };
  std::vector<double>& total = workspace.unary;
  total.assign(K, 0.0);
  std::vector<std::size_t> changed;
  for (std::size_t j = 0; j < labellings.size(); ++j) {
    if (coefficients[j] == 0.0) continue;
    const LabelVector& y = labellings[j];
    const auto c = static_cast<float>(options_.pair_scale * coefficients[j]);
    for (std::size_t k = 0; k < K; ++k) {
      if (y[k] == truth[k]) continue;
      total[k] += y[k] ? coefficients[j] : -coefficients[j];
      for (std::size_t l = 0; l < K; ++l) {
        if (l == k || (l < k && y[l] != truth[l])) continue;  // a pair that was changed at l
        const std::size_t low = std::min(k, l), high = std::max(k, l), at = of_pair(low, high);
        w[at + 2 * y[low] + y[high]] += c;
        w[at + 2 * truth[low] + truth[high]] -= c;
      }
    }
  }
  for (std::size_t k = 0; k < K; ++k) {
    if (total[k] != 0.0) changed.push_back(k);
  }
  const SparseRow x = X_.row(i);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double value = static_cast<double>(x.values[j]);
    float* weights = &w[x.columns[j] * K];
    for (const std::size_t k : changed) weights[k] += static_cast<float>(value * total[k]);
  }
}

}  // namespace margrove
