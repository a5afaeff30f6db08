#pragma once
// Multi-label fields over the local polytope instead of the label sets: the linear programming
// relaxation that the thesis trains with (Thesis, section 4.4). f and the task loss are extended
// linearly, so that a mixture of two labellings is a labelling.

#include <cstdint>
#include <span>

#include "outputs/field/pairwise_field.hpp"
#include "structured/oracle.hpp"

namespace margrove {

class RelaxedFieldOracle {
 public:
  using Labelling = FieldShares;

  RelaxedFieldOracle(FieldOracle field, FieldShares truth)
      : field_(std::move(field)), truth_(std::move(truth)) {}

  /// One maximum flow; it never branches.
  Candidate<FieldShares> argmax(double w_m, double w_g) const {
    return field_.relaxed_argmax(w_m, w_g);
  }
  Candidate<FieldShares> truth() const { return field_.evaluate(truth_); }
  Candidate<FieldShares> evaluate(const FieldShares& y) const { return field_.evaluate(y); }
  /// (1 - t) a + t b.
  FieldShares mix(const FieldShares& a, const FieldShares& b, double t) const;

 private:
  FieldOracle field_;
  FieldShares truth_;
};

/// The weights and examples of a FieldModel. A labelling takes 2 K (K + 1) bytes for K labels.
class RelaxedFieldModel {
 public:
  using Labelling = FieldShares;
  using Workspace = FieldWorkspace;

  /// Refers to `field`.
  explicit RelaxedFieldModel(const FieldModel& field) : field_(field) {}

  std::size_t num_examples() const { return field_.num_examples(); }
  std::size_t num_weights() const { return field_.num_weights(); }
  Criteria criteria() const { return field_.criteria(); }
  RelaxedFieldOracle oracle(std::size_t i, ScaledWeights w, FieldWorkspace& workspace) const;
  void difference(std::size_t i, const FieldShares& y, SparseVector& difference) const;
  FieldShares truth(std::size_t i) const;

  // See ImplicitDifferences.
  void margins(std::size_t i, std::span<const FieldShares> labellings, ScaledWeights w,
               FieldWorkspace& workspace, std::span<double> margins) const;
  void difference_products(std::size_t i, std::span<const FieldShares> labellings,
                           std::span<double> products) const;
  void add_differences(std::size_t i, std::span<const FieldShares> labellings,
                       std::span<const double> coefficients, FieldWorkspace& workspace,
                       std::span<float> w) const;

 private:
  const FieldModel& field_;
};

}  // namespace margrove
