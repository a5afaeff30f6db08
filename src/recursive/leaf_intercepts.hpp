#pragma once
// The leaves' intercepts in joint Newton's method (joint_newton.cpp): their weights of the last
// column, if it has the same value in all rows. All leaves share that column, so that its residual
// is the largest part of the gap. Therefore each leaf's own intercept is optimised with all else
// fixed after every step.
//
// A free intercept c_l of each leaf (linear/free_intercept.hpp) is kept out of w: after every step
// the leaf's part of w in the column joins c_l, and z is set to zero there. The column remains in
// the system of the direction, where K^-1 regularises the step.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "linear/free_intercept.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/label_kernel.hpp"

namespace margrove::detail {

/// The last column of some matrices of LabelKernel: the entry of leaf t is at t * kWidth.
struct InterceptColumn {
  LabelKernel::SplitChunk w;
  std::span<float> z;
  std::span<BFloat16> rho;  // u - z
};

/// Scores of a block of sixteen leaves, and the derivatives of the losses by them.
struct BlockRows {
  std::span<Lanes> scores;
  std::span<const Lanes> slopes;
  std::span<const Lanes> curvatures;
};

class LeafIntercepts {
 public:
  /// Refers to `costs`, `positives` (each leaf's rows of sign +1) and `kernel`. `free_path_sums`:
  /// K_l of each leaf if the intercepts are free; then throws InvalidInput if the last column of X
  /// is not constant.
  LeafIntercepts(const CsrView& X, std::span<const float> costs,
                 std::span<const std::vector<std::uint32_t>> positives, const LabelKernel& kernel,
                 std::optional<std::vector<double>> free_path_sums);

  bool is_free() const { return free_path_sums_.has_value(); }
  /// The value of the last column, or 0 if it is not the same in all rows.
  double constant() const { return constant_; }
  /// Whether settle() may be called.
  bool are_settled() const { return constant_ != 0 && (is_free() || kernel_.is_invertible()); }
  /// c_l of a free intercept, in the unit of a weight.
  double value(std::size_t t) const { return leaves_[t].value; }

  /// Starts a free intercept at the best constant score: `own` of the costs `total` are of rows of
  /// sign +1.
  void start(std::size_t t, double own, double total);

  // Of block b.

  /// Adds free intercepts to the scores. `weights`: the leaves' weights of the last column.
  void add_to_scores(std::size_t b, const Lanes& weights, std::span<Lanes> scores);
  /// A few Newton steps on each leaf's own intercept with all else fixed, of which the best point
  /// is taken, so that the objective does not increase. linearise() writes the derivatives at the
  /// scores and returns the losses; so are `losses` and the derivatives at the start. `z`: of the
  /// column. Returns the losses at the end.
  LaneSums settle(std::size_t b, const BlockRows& rows, std::span<const float> z, LaneSums losses,
                  const std::function<LaneSums()>& linearise);
  /// The dual variables of free intercepts.
  void find_sides(std::size_t b, const BlockRows& rows, const LaneSums& losses);
  /// `gradient`: of the losses by the weights of the last column.
  void set_gradient(std::size_t b, const WideLanes& gradient);

  // Of all blocks, after settle().

  /// Moves the weights of the last column: those of free intercepts become part of them, others
  /// shift, with the nodes above in closed form. Adds the change of the regulariser to
  /// `regulariser`.
  void move(const InterceptColumn& column, double& regulariser);
  /// What making the dual variables of free intercepts feasible costs.
  Balancing balancing() const;

 private:
  struct Leaf {
    double shift = 0.0;  // by settle()
    double u = 0.0;      // of the last column
    // Of a free intercept: its value without w; whether the leaf's rows have one sign, and the
    // shift that keeps it then; and its dual variables.
    double value = 0.0;
    bool one_sided = false;
    double fixed_shift = 0.0;
    DualSides sides;
  };

  std::span<Leaf> block(std::size_t b);
  double own_curvature(std::size_t t) const { return is_free() ? 0.0 : kernel_.own_curvature(t); }
  Lanes newton_steps(std::size_t b, const BlockRows& rows, std::span<const float> z);
  void absorb(const InterceptColumn& column, double& regulariser);

  std::span<const float> costs_;
  std::span<const std::vector<std::uint32_t>> positives_;
  const LabelKernel& kernel_;
  std::optional<std::vector<double>> free_path_sums_;
  double constant_;
  std::vector<float> norms_;  // |x_i| without the last column, if the intercepts are free
  std::vector<Leaf> leaves_;
};

}  // namespace margrove::detail
