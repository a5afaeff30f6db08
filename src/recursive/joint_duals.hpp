#pragma once
// The state of joint descent (joint_dual.cpp): the dual variables of all targets, and the weights
// of the inner nodes that follow from them. Independent of the loss.

#include <cstdint>
#include <span>
#include <vector>

#include "base/closing_time.hpp"
#include "base/random.hpp"
#include "linear/binary_solvers.hpp"
#include "linear/used_columns.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/leaf_paths.hpp"
#include "recursive/recursive.hpp"

namespace margrove::detail {

/// One dual variable that may be non-zero.
struct ActiveRow {
  std::uint32_t row;
  bool positive;
  double a;
  double signed_a() const { return positive ? a : -a; }
};

/// Columns next to each other that every row has: the dense tail of the caller's rows. They are the
/// last ones of common(), or of rare() where no column is common.
struct DenseRun {
  std::size_t begin = 0, size = 0;
};

/// Part of a row; its last run.size entries are those of the run.
struct RowPart {
  SparseRow x;
  DenseRun run;
};

/// w += step x
template <class Number>
void add_scaled(double step, const RowPart& part, Number* w) {
  const SparseRow& x = part.x;
  const std::size_t size = x.size() - part.run.size;
  for (std::size_t k = 0; k < size; ++k) {
    w[x.columns[k]] += static_cast<Number>(step * x.values[k]);
  }
  if (part.run.size == 0) return;
  dense_add_scaled(step, x.values.data() + size, w + part.run.begin, part.run.size);
}

/// sum_m |v_m|^2 / (2 alpha_m) at the weights in use, and at those that the dual variables give.
struct Regularisers {
  double primal = 0.0;
  double dual = 0.0;
};

class JointDuals {
 public:
  /// Throws as leaf_paths().
  explicit JointDuals(const AdditiveProblem& problem);

  const LeafPaths& paths() const { return paths_; }
  std::size_t num_targets() const { return paths_.targets.size(); }
  const CsrView& rows() const { return X_; }  // the used columns, common ones first
  std::size_t dim() const { return dim_; }
  RowPart rare(std::uint32_t row) const;
  RowPart common(std::uint32_t row) const;
  /// w.x_i; w has dim() numbers.
  double score(std::uint32_t row, const double* w) const;
  /// w += step x_i
  void add_row(double step, std::uint32_t row, double* w) const {
    add_scaled(step, common(row), w);
    add_scaled(step, rare(row), w);
  }

  std::vector<ActiveRow>& active(std::size_t t) { return active_[t]; }
  const std::vector<ActiveRow>& active(std::size_t t) const { return active_[t]; }

  /// v_m of the inner node in that slot: dim() numbers.
  const float* inner(std::uint32_t slot) const { return inner_.data() + slot * dim_; }
  /// v_m += step * x, and += step * sum of dense vectors. Calls for different slots may run at
  /// once.
  void add_to_inner(std::uint32_t slot, double step, const RowPart& part);
  void add_to_inner(std::uint32_t slot, double step, std::span<const float* const> dense);
  /// w += sign * v_m. O(columns in which v_m is not 0).
  void add_inner_to(std::uint32_t slot, double sign, double* w) const;

  /// Sets the first active rows of each leaf: its own, those of the nearest leaves, and a few
  /// random ones, which bring the shared intercept near its value.
  void seed_active_lists(Random& random);

  /// The common columns of the inner nodes, given the leaves' weights: each v_m in turn takes its
  /// closed form v_m / alpha_m = sum_{l in D(m)} r_l / alpha_l, where r_l = w_l - sum v is the
  /// leaf's own part. Common are those that more than half of the rows use.
  /// Ends between two nodes where there is no time left.
  void update_common(Executor& executor, ClosingTime& closing);

  /// Recomputes v_m from the dual variables, without the rounding errors of the steps; the common
  /// columns stay. Where there is no time left, the other v_m stay and the values are meaningless.
  Regularisers rebuild_inner_nodes(Executor& executor, ClosingTime& closing);

  /// Free intercepts (linear/free_intercept.hpp), which are part of the scores beside the weights.
  bool is_free() const { return constant_ != 0; }
  double& intercept(std::size_t t) { return intercepts_[t]; }
  /// Scales the dual variables of each target so that sum_i a_i y_i = 0; no weight of the
  /// intercept's column is left then.
  void make_feasible();

  /// w_l of up to kLanes consecutive targets, by feature; without the free intercepts.
  void fill_block(std::size_t first, std::size_t count, std::vector<Lanes>& block) const;

  /// v_m of every node over the original columns.
  WeightMatrix weights() const;

 private:
  /// The columns in which v_m may differ from 0. Nodes with few leaves below, which most nodes on
  /// paths are, have few such columns, and the list saves most of the cost of path sums.
  struct Occupied {
    std::vector<FeatureId> columns;   // unless full
    std::vector<std::uint64_t> bits;  // the same as a bit set; empty if full
    bool full = false;
  };

  void occupy(Occupied& occupied, FeatureId column);
  void find_occupied(std::uint32_t slot);
  void remove_unsigned_rows(std::size_t t, std::vector<std::uint32_t>& rows) const;
  std::vector<double> private_squares(Executor& executor) const;

  const AdditiveProblem& problem_;
  LeafPaths paths_;
  UsedColumns used_;
  CsrView X_;
  DenseRun run_;
  std::size_t dim_;
  std::vector<float> inner_;        // slots x dim_
  std::vector<Occupied> occupied_;  // by slot
  std::vector<std::vector<ActiveRow>> active_;
  double constant_ = 0;  // value of the free intercept's column; 0: it is regularised
  std::vector<double> intercepts_;
};

}  // namespace margrove::detail
