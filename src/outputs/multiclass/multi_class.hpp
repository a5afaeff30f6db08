#pragma once
// Multi-class classification: f(x, y) = <w_y, x>; the task loss is 0/1 or a cost matrix.

#include <cstdint>
#include <span>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "structured/enumeration.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// The weights of feature f for the K labels start at f K. Every oracle call is O(labels).
class MultiClassModel {
 public:
  using Labelling = std::uint32_t;
  struct Workspace {};

  /// Refers to X. `losses` is K x K with one row per true label, or empty for 0/1. Throws
  /// InvalidInput on sizes that do not match, on labels out of range, and on a loss that is
  /// negative or not 0 at the true label.
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
