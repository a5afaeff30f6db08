#pragma once
// One label of several: f(x, y) = <w_y, x>, task loss 0/1 or a table of losses.

#include <cstdint>
#include <span>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "margrove/errors.hpp"
#include "structured/enumeration.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// The weights of feature f for all labels start at f K. Every oracle call is O(labels).
class MultiClassModel {
 public:
  using Labelling = std::uint32_t;
  struct Workspace {};

  /// Refers to X. `losses` is K x K by rows of the true label, or empty for 0/1. Throws
  /// InvalidInput: sizes that do not match, labels out of range, a negative loss or one that is not
  /// 0 at the true label.
  MultiClassModel(const CsrView& X, std::vector<std::uint32_t> labels, std::uint32_t num_labels,
                  std::vector<double> losses = {});

  std::size_t num_examples() const { return labels_.size(); }
  std::size_t num_weights() const { return X_.num_columns() * std::size_t{num_labels_}; }
  EnumerationOracle<std::uint32_t> oracle(std::size_t i, ScaledWeights w, Workspace&) const;
  void difference(std::size_t i, std::uint32_t y, SparseVector& difference) const;
  std::uint32_t truth(std::size_t i) const { return labels_[i]; }

 private:
  CsrView X_;
  std::vector<std::uint32_t> labels_;
  std::uint32_t num_labels_;
  std::vector<double> losses_;
};

inline MultiClassModel::MultiClassModel(const CsrView& X, std::vector<std::uint32_t> labels,
                                        std::uint32_t num_labels, std::vector<double> losses)
    : X_(X), labels_(std::move(labels)), num_labels_(num_labels), losses_(std::move(losses)) {
  require(labels_.size() == X_.num_rows(), "multi-class model: there are ", labels_.size(),
          " labels, but ", X_.num_rows(), " rows; there must be one label per row");
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    require(labels_[i] < num_labels_, "multi-class model: labels[", i, "] is ", labels_[i],
            ", but must be < ", num_labels_);
  }
  const std::size_t K = num_labels_;
  if (losses_.empty()) return;
  require(losses_.size() == K * K, "multi-class model: the table of losses has ", losses_.size(),
          " entries, but must have ", K * K);
  for (std::size_t k = 0; k < K * K; ++k) {
    const bool own = k / K == k % K;
    require(own ? losses_[k] == 0.0 : losses_[k] >= 0.0, "multi-class model: losses[", k / K, "][",
            k % K, "] is ", losses_[k], ", but must be ", own ? "0" : ">= 0");
  }
}

inline EnumerationOracle<std::uint32_t> MultiClassModel::oracle(std::size_t i, ScaledWeights w,
                                                                Workspace&) const {
  const std::size_t K = num_labels_;
  std::vector<double> scores(K, 0.0);
  const SparseRow x = X_.row(i);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double value = w.scale * static_cast<double>(x.values[j]);
    const auto weights = w.values.subspan(x.columns[j] * K, K);
    for (std::size_t k = 0; k < K; ++k) scores[k] += value * static_cast<double>(weights[k]);
  }
  const std::uint32_t truth = labels_[i];
  std::vector<Candidate<std::uint32_t>> candidates(K);
  for (std::uint32_t k = 0; k < K; ++k) {
    const double loss = losses_.empty() ? (k == truth ? 0.0 : 1.0) : losses_[truth * K + k];
    candidates[k] = {k, scores[k] - scores[truth], loss};
  }
  return {std::move(candidates), truth};
}

inline void MultiClassModel::difference(std::size_t i, std::uint32_t y,
                                        SparseVector& difference) const {
  if (y == labels_[i]) return;
  const SparseRow x = X_.row(i);
  const std::uint64_t K = num_labels_;
  for (std::size_t j = 0; j < x.size(); ++j) {
    difference.add(x.columns[j] * K + y, x.values[j]);
    difference.add(x.columns[j] * K + labels_[i], -x.values[j]);
  }
}

}  // namespace margrove
