#pragma once
// Multi-label fields: f(x, y) = sum_k y_k <w_k, x> + sum_{k<l} theta_kl(y_k, y_l) over all label
// sets y, the empty one included; theta does not depend on x. The maximisation is NP-hard. Roof
// duality gives a bound and decides some of the labels, branch and bound decides the others. The
// answer is exact unless branch and bound reaches its limit.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "outputs/field/roof_duality.hpp"
#include "structured/criteria.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// y_k for every label k, 0 or 1.
using LabelVector = std::vector<std::uint8_t>;

/// A point of the local polytope, which relaxes the label sets: y_k in [0, 1] of each label, then
/// z_kl of the pairs k < l by rows, the relaxed product of y_k and y_l, max(0, y_k + y_l - 1) <=
/// z_kl <= min(y_k, y_l).
struct FieldShares {
  std::vector<float> labels, pairs;
  bool operator==(const FieldShares&) const = default;
};
// As words of a checkpoint (structured/saved_sets.hpp).
void append_words(const FieldShares& y, std::vector<std::uint32_t>& words);
bool read_words(std::span<const std::uint32_t> words, FieldShares& y);

struct FieldWorkspace {
  std::vector<double> unary;         // K: f at y_k = 1 less f at y_k = 0, with all other labels 0
  std::vector<double> interactions;  // K x K, symmetric
  std::vector<double> scaled_unary, scaled_interactions;
  double constant = 0.0;                 // f of the empty set
  std::vector<double> table_m, table_g;  // of all label sets (bit k is label k), computed on demand
  std::vector<double> front;
  RoofDual dual;
};

struct FieldOptions {
  Criteria criteria = Criteria::hamming;
  std::int64_t max_nodes = 2000;   // of one branch-and-bound tree
  std::size_t max_tabulated = 16;  // largest number of labels for which all sets may be listed
  double pair_scale = 1.0;         // value of the features of pairs
};

class FieldOracle {
 public:
  using Labelling = LabelVector;
  using RelaxedLabelling = FieldShares;

  /// Refers to its arguments. If `truth` is empty, only decode() may be called.
  FieldOracle(FieldWorkspace& workspace, std::span<const std::uint8_t> truth,
              const FieldOptions& options);

  Candidate<LabelVector> argmax(double w_m, double w_g) const;
  Candidate<LabelVector> truth() const;
  Candidate<LabelVector> evaluate(const LabelVector& y) const;
  /// The criteria of y with label k flipped, for each k. O(K |y|).
  void neighbours(const LabelVector& y, std::vector<CandidateCriteria>& places) const;
  LabelVector neighbour(LabelVector y, std::size_t k) const;
  std::vector<Candidate<LabelVector>> k_best(double w_m, double w_g, int k) const;
  std::optional<Candidate<LabelVector>> argmax_without(double w_m, double w_g,
                                                       std::span<const LabelVector> banned) const;
  /// With up to options.max_tabulated labels, all label sets are listed once per oracle. With more,
  /// it is branch and bound on the Lagrangian of the two slope bounds.
  std::optional<Candidate<LabelVector>> constrained_argmax(double w_m, double w_g,
                                                           const SlopeBounds& bounds) const;
  /// True with Hamming loss and up to options.max_tabulated labels; uses the same list.
  bool has_loss_front() const {
    return options_.criteria == Criteria::hamming &&
           workspace_.unary.size() <= options_.max_tabulated;
  }
  bool has_cheap_front() const { return has_loss_front(); }
  std::span<const double> loss_front(std::uint32_t most) const;
  Candidate<LabelVector> at_loss(std::uint32_t g) const;
  /// The optimum of the linear programming relaxation; all entries are 0, 1/2 or 1. The weights may
  /// be negative.
  Candidate<FieldShares> relaxed_argmax(double w_m, double w_g) const;
  Candidate<FieldShares> evaluate(const FieldShares& y) const;
  LabelVector decode() const;
  /// f(x, y).
  double score(std::span<const std::uint8_t> y) const;

  /// False if a call reached max_nodes, so that its answer may not be the best.
  bool is_exact() const { return is_exact_; }

 private:
  struct Linear {  // of one criterion: constant + sum_k per_label[k] y_k
    double constant = 0.0;
    std::vector<double> per_label;
  };
  void solve(double w_m, double w_g, double w_constant = 0.0) const;
  LabelVector rounded() const;
  void tabulate() const;
  LabelVector listed(std::size_t set) const;
  std::optional<Candidate<LabelVector>> constrained_by_table(double w_m, double w_g,
                                                             const SlopeBounds& bounds) const;
  class ConstrainedSearch;
  template <class Better>
  void search(Wanted wanted, const Better& visit, const std::function<double()>& threshold) const;

  FieldWorkspace& workspace_;
  std::span<const std::uint8_t> truth_;
  Linear part_m_, part_g_;  // of m beside the score, of g
  FieldOptions options_;
  double truth_score_ = 0.0;
  mutable bool is_exact_ = true;
};

/// The weights of feature f for the K labels start at f K; theta_kl(0,0), (0,1), (1,0), (1,1) of
/// the pairs k < l follow by rows.
class FieldModel {
 public:
  using Labelling = LabelVector;
  using Workspace = FieldWorkspace;

  /// Refers to X. Throws InvalidInput on sizes that do not match and on a label out of range.
  FieldModel(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
             FieldOptions options = {});

  std::size_t num_examples() const { return truth_.size(); }
  std::size_t num_weights() const { return num_weights(X_.num_columns(), num_labels_); }
  static std::size_t num_weights(std::size_t num_features, std::size_t num_labels) {
    return num_features * num_labels + 2 * num_labels * (num_labels - 1);
  }
  FieldOracle oracle(std::size_t i, ScaledWeights w, FieldWorkspace& workspace) const;
  void difference(std::size_t i, const LabelVector& y, SparseVector& difference) const;
  const LabelVector& truth(std::size_t i) const { return truth_[i]; }
  std::uint32_t num_labels() const { return num_labels_; }
  const CsrView& rows() const { return X_; }
  double pair_scale() const { return options_.pair_scale; }
  Criteria criteria() const { return options_.criteria; }
  double squared_norm(std::size_t i) const { return squared_norms_[i]; }

  // See ImplicitDifferences. A label set far from the true one differs in nonzeros x K weights.
  void margins(std::size_t i, std::span<const LabelVector> labellings, ScaledWeights w,
               FieldWorkspace& workspace, std::span<double> margins) const;
  void difference_products(std::size_t i, std::span<const LabelVector> labellings,
                           std::span<double> products) const;
  void add_differences(std::size_t i, std::span<const LabelVector> labellings,
                       std::span<const double> coefficients, FieldWorkspace& workspace,
                       std::span<float> w) const;

 private:
  CsrView X_;
  std::uint32_t num_labels_;
  FieldOptions options_;
  std::vector<LabelVector> truth_;
  std::vector<double> squared_norms_;  // of the rows
};

/// Writes the scores of row x into the workspace. Columns >= num_features are skipped.
void score_field(const SparseRow& x, std::size_t num_features, std::uint32_t num_labels,
                 ScaledWeights w, FieldWorkspace& workspace, double pair_scale = 1.0);

}  // namespace margrove
