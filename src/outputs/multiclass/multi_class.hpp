#pragma once
// One label of several: f(x, y) = <w_y, x>, task loss 0/1 or a table of losses.

#include <cstdint>
#include <span>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "structured/enumeration.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// Weights: feature f's labels side by side from f K on. Every oracle call O(labels).
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

}  // namespace margrove
