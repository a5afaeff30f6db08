#include "outputs/field/relaxed_field.hpp"

#include <array>

namespace margrove {
namespace {

// The changes of a pair's features (0,0), (0,1), (1,0), (1,1) when y_k, y_l and z_kl grow by k, l
// and z. `scale` is the value of the features.
std::array<double, 4> pair_features(double k, double l, double z, double scale) {
  return {scale * (z - k - l), scale * (l - z), scale * (k - z), scale * z};
}

// Calls visit(pair, growth of y_k, of y_l, of z_kl) for all pairs.
template <class Visit>
void for_each_pair(const FieldShares& grown, const Visit& visit) {
  const std::size_t K = grown.labels.size();
  for (std::size_t k = 0, pair = 0; k < K; ++k) {
    for (std::size_t l = k + 1; l < K; ++l, ++pair) {
      visit(pair, static_cast<double>(grown.labels[k]), static_cast<double>(grown.labels[l]),
            static_cast<double>(grown.pairs[pair]));
    }
  }
}

FieldShares minus(FieldShares y, const FieldShares& z) {
  for (std::size_t k = 0; k < y.labels.size(); ++k) y.labels[k] -= z.labels[k];
  for (std::size_t k = 0; k < y.pairs.size(); ++k) y.pairs[k] -= z.pairs[k];
  return y;
}

}  // namespace

FieldShares RelaxedFieldOracle::mix(const FieldShares& a, const FieldShares& b, double t) const {
  FieldShares y = a;
  const auto mixed = [t](float x, float z) {
    return static_cast<float>((1.0 - t) * static_cast<double>(x) + t * static_cast<double>(z));
  };
  for (std::size_t k = 0; k < y.labels.size(); ++k) y.labels[k] = mixed(a.labels[k], b.labels[k]);
  for (std::size_t k = 0; k < y.pairs.size(); ++k) y.pairs[k] = mixed(a.pairs[k], b.pairs[k]);
  return y;
}

FieldShares RelaxedFieldModel::truth(std::size_t i) const {
  const LabelVector& truth = field_.truth(i);
  FieldShares y;
  y.labels.assign(truth.begin(), truth.end());
  y.pairs.reserve(truth.size() * (truth.size() - 1) / 2);
  for (std::size_t k = 0; k < truth.size(); ++k) {
    for (std::size_t l = k + 1; l < truth.size(); ++l) {
      y.pairs.push_back(truth[k] && truth[l] ? 1.0F : 0.0F);
    }
  }
  return y;
}

RelaxedFieldOracle RelaxedFieldModel::oracle(std::size_t i, ScaledWeights w,
                                             FieldWorkspace& workspace) const {
  return {field_.oracle(i, w, workspace), truth(i)};
}

void RelaxedFieldModel::difference(std::size_t i, const FieldShares& y,
                                   SparseVector& difference) const {
  const std::size_t K = field_.num_labels();
  const FieldShares grown = minus(y, truth(i));
  const SparseRow x = field_.rows().row(i);
  for (std::size_t k = 0; k < K; ++k) {
    if (grown.labels[k] == 0.0F) continue;
    for (std::size_t j = 0; j < x.size(); ++j) {
      difference.add(x.columns[j] * K + k, grown.labels[k] * x.values[j]);
    }
  }
  const std::size_t first_pair = field_.rows().num_columns() * K;
  for_each_pair(grown, [&](std::size_t pair, double k, double l, double z) {
    const auto features = pair_features(k, l, z, field_.pair_scale());
    for (std::size_t f = 0; f < 4; ++f) {
      if (features[f] == 0.0) continue;
      difference.add(first_pair + 4 * pair + f, static_cast<float>(features[f]));
    }
  });
}

void RelaxedFieldModel::margins(std::size_t i, std::span<const FieldShares> labellings,
                                ScaledWeights w, FieldWorkspace& workspace,
                                std::span<double> margins) const {
  const FieldOracle scores = field_.oracle(i, w, workspace);
  for (std::size_t k = 0; k < labellings.size(); ++k) {
    const auto place = scores.evaluate(labellings[k]);
    margins[k] = place.m - place.constant;
  }
}

void RelaxedFieldModel::difference_products(std::size_t i, std::span<const FieldShares> labellings,
                                            std::span<double> products) const {
  const std::size_t size = labellings.size();
  const FieldShares truth = this->truth(i);
  std::vector<FieldShares> grown;
  std::vector<std::vector<std::array<double, 4>>> features(size);
  for (std::size_t j = 0; j < size; ++j) {
    grown.push_back(minus(labellings[j], truth));
    for_each_pair(grown[j], [&](std::size_t, double k, double l, double z) {
      features[j].push_back(pair_features(k, l, z, field_.pair_scale()));
    });
    for (std::size_t k = 0; k <= j; ++k) {
      double labels = 0.0, pairs = 0.0;
      for (std::size_t n = 0; n < truth.labels.size(); ++n) {
        labels += static_cast<double>(grown[j].labels[n]) * static_cast<double>(grown[k].labels[n]);
      }
      for (std::size_t n = 0; n < features[j].size(); ++n) {
        for (std::size_t f = 0; f < 4; ++f) pairs += features[j][n][f] * features[k][n][f];
      }
      products[j * size + k] = products[k * size + j] = field_.squared_norm(i) * labels + pairs;
    }
  }
}

// Sums the differences of all labellings first, because features are linear in them.
void RelaxedFieldModel::add_differences(std::size_t i, std::span<const FieldShares> labellings,
                                        std::span<const double> coefficients, FieldWorkspace&,
                                        std::span<float> w) const {
  const std::size_t K = field_.num_labels();
  const FieldShares truth = this->truth(i);
  std::vector<double> labels(K, 0.0), pairs(truth.pairs.size(), 0.0);
  for (std::size_t j = 0; j < labellings.size(); ++j) {
    const double c = coefficients[j];
    if (c == 0.0) continue;
    const FieldShares& y = labellings[j];
    for (std::size_t k = 0; k < K; ++k) {
      labels[k] += c * (static_cast<double>(y.labels[k]) - static_cast<double>(truth.labels[k]));
    }
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      pairs[k] += c * (static_cast<double>(y.pairs[k]) - static_cast<double>(truth.pairs[k]));
    }
  }
  const SparseRow x = field_.rows().row(i);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double value = static_cast<double>(x.values[j]);
    float* weights = &w[x.columns[j] * K];
    for (std::size_t k = 0; k < K; ++k) weights[k] += static_cast<float>(value * labels[k]);
  }
  std::size_t at = field_.rows().num_columns() * K;
  for (std::size_t k = 0, pair = 0; k < K; ++k) {
    for (std::size_t l = k + 1; l < K; ++l, ++pair, at += 4) {
      const auto features = pair_features(labels[k], labels[l], pairs[pair], field_.pair_scale());
      for (std::size_t f = 0; f < 4; ++f) w[at + f] += static_cast<float>(features[f]);
    }
  }
}

}  // namespace margrove
