// With z_l for each leaf, w = K z and K the label kernel (joint_newton.cpp),
//
//   primal     P(z) = 1/2 z' K z + sum_l sum_i C_i loss(y_il w_l.x_i)
//   gradient   K (z - u),  u_l = sum_i a_il y_il x_i,  a_il = -C_i loss'(y_il w_l.x_i)
//   direction  (K^-1 + H) delta = u - z,  delta = K zeta,  H_l = sum_i D_il x_i x_i'
//
// The direction minimises sum_n |delta_n - delta_parent(n)|^2 / (2 alpha_n) + sum_l (1/2 delta_l'
// H_l delta_l - delta_l.(u_l - z_l)) over all nodes. Leaves and then inner nodes are eliminated;
// each adds the matrix A B and the vector B b with B = (I + alpha A)^-1 to its parent. Coordinate
// steps would need hundreds of passes where the columns are correlated.
//
// The hinge is smoothed by a parabola of width delta (dense_losses.hpp), which adds to the gap.
// delta shrinks when the predicted decrease of a step is less than that part.
//
// The free intercept of a leaf (linear/free_intercept.hpp) is the last entry of its w, where z
// stays zero; directions are regularised there by K^-1.

#include "recursive/joint_dense.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/out_of_time.hpp"
#include "linear/free_intercept.hpp"
#include "recursive/dense_losses.hpp"
#include "recursive/recursive_round.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kMaxColumns = 256;
constexpr double kNewtonShare = 0.1;     // of the smoothing's part of the gap: delta shrinks when
                                         // the last step's predicted decrease is less
constexpr double kFlat = 0.1;            // |slope| along the direction, of the first one
constexpr int kMaxTrials = 12;           // of a line search
constexpr double kSmoothingShare = 0.6;  // of the tolerance: smoothing's part of the gap in the end
constexpr int kMaxStalled = 3;           // steps that do not lower the objective

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

class JointDense {
 public:
  JointDense(const AdditiveProblem& problem, const JointDualOptions& options, Executor& executor)
      : options_(options),
        problem_(problem),
        graph_(*problem.graph),
        executor_(executor),
        X_(problem.X),
        d_(static_cast<Eigen::Index>(X_.num_columns())),
        targets_(problem.targets.begin(), problem.targets.end()),
        nodes_(graph_.num_nodes()),
        losses_(problem, options, executor) {
    for (Node& node : nodes_) {
      node.z = node.w = node.rho = node.delta = node.zeta = Vector::Zero(d_);
    }
    for (const NodeId t : targets_) nodes_[t].below = true;
    const auto order = graph_.topological_order();
    for (auto n = order.rbegin(); n != order.rend(); ++n) {
      const NodeId p = parent(*n);
      if (p != kNone && nodes_[*n].below) nodes_[p].below = true;
    }
  }

  RecursiveFit run(RunControl& control) {
    RecursiveFit fit;
    bool has_moved = false;
    DenseLossSums values = losses_.linearise(0.0F);
    double last = std::numeric_limits<double>::infinity();  // smoothed objective at this width
    int stalled = 0;
    for (;;) {
      ++fit.passes;
      find_residuals();
      fit.primal = regulariser() + values.exact;
      fit.dual = fit.primal - 0.5 * squared_residual() - values.smoothing;
      if (is_free()) fit.dual -= gap_of_intercepts();
      if (is_last_round("joint Newton", options_, fit, control)) break;
      const double objective = regulariser() + values.smooth;
      stalled = objective < last ? 0 : stalled + 1;
      last = objective;
      const bool smoothing_counts =
          values.smoothing > kSmoothingShare * options_.tolerance * fit.primal;
      if (stalled == kMaxStalled && !smoothing_counts) break;  // because of rounding
      if (smoothing_counts &&
          (0.5 * decrement_ < kNewtonShare * values.smoothing || stalled == kMaxStalled)) {
        losses_.shrink();
        last = std::numeric_limits<double>::infinity();
        values = losses_.linearise(0.0F);
        find_residuals();
      }
      find_direction();
      values = line_search();
      has_moved = true;
    }
    if (!has_moved && is_cut_short(fit.stop)) fit.passes = 0;  // the weights are the first ones
    fit.weights = weights();
    return fit;
  }

 private:
  static constexpr NodeId kNone = 0xffffffffU;
  struct Node {
    bool below = false;  // the node is a target or has one below
    Vector z;            // of a target
    Vector w;
    Vector rho;  // of a target: u - z; then the information b
    Vector delta;
    Vector zeta;  // of a target
    Matrix A;     // H of a target; precision of the nodes below otherwise
    Matrix B;
  };

  NodeId parent(NodeId n) const {
    const auto parents = graph_.parents(n);
    return parents.empty() ? kNone : parents[0];
  }

  bool is_free() const { return losses_.free_intercept() != 0; }

  /// How far the columns count in the regulariser.
  Eigen::Index num_regularised() const { return d_ - (is_free() ? 1 : 0); }
  double dot(const Vector& a, const Vector& b) const {
    return a.head(num_regularised()).dot(b.head(num_regularised()));
  }

  double path_sum(NodeId n) const {
    double sum = 0;
    for (; n != kNone; n = parent(n)) sum += problem_.alpha[n];
    return sum;
  }

  /// What making a feasible adds to the gap.
  double gap_of_intercepts() const {
    Balancing balancing;
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      balancing.add(losses_.sides()[t], path_sum(targets_[t]));
    }
    return balancing.gap(std::sqrt(squared_residual()));
  }

  /// rho = u - z of the targets.
  void find_residuals() {
    for (const NodeId t : targets_) nodes_[t].rho = -nodes_[t].z;
    losses_.add_combinations([&](std::size_t t) -> Vector& { return nodes_[targets_[t]].rho; });
  }

  /// rho' K rho = sum_m alpha_m |sum of rho below|^2.
  double squared_residual() const {
    std::vector<Vector> sums(nodes_.size());
    double value = 0;
    const auto order = graph_.topological_order();
    for (const NodeId t : targets_) sums[t] = nodes_[t].rho;
    for (auto n = order.rbegin(); n != order.rend(); ++n) {
      if (!nodes_[*n].below) continue;
      value += problem_.alpha[*n] * dot(sums[*n], sums[*n]);
      const NodeId p = parent(*n);
      if (p == kNone) continue;
      if (sums[p].size() == 0) {
        sums[p] = sums[*n];
      } else {
        sums[p] += sums[*n];
      }
    }
    return value;
  }

  double regulariser() const {
    double value = 0;
    for (const NodeId t : targets_) value += 0.5 * dot(nodes_[t].z, nodes_[t].w);
    return value;
  }

  // ---- directions ----

  void find_direction() {
    executor_.for_each(targets_.size(), [&](std::size_t t, int) {
      Node& node = nodes_[targets_[t]];
      node.A = losses_.hessian(t);
      eliminate(node, problem_.alpha[targets_[t]]);
    });
    for (NodeId n = 0; n < nodes_.size(); ++n) {
      if (graph_.children(n).empty() || !nodes_[n].below) continue;
      nodes_[n].A = Matrix::Zero(d_, d_);
      nodes_[n].rho.setZero();
    }
    const auto order = graph_.topological_order();
    for (auto n = order.rbegin(); n != order.rend(); ++n) {
      if (!nodes_[*n].below) continue;
      Node& node = nodes_[*n];
      if (!graph_.children(*n).empty()) eliminate(node, problem_.alpha[*n]);
      const NodeId p = parent(*n);
      if (p == kNone) continue;
      nodes_[p].A += node.A;
      nodes_[p].rho.noalias() += node.B * node.rho;
    }
    for (const NodeId n : order) {
      if (!nodes_[n].below) continue;
      Node& node = nodes_[n];
      const NodeId p = parent(n);
      const double alpha = problem_.alpha[n];
      Vector from = alpha * node.rho;
      if (p != kNone) from += nodes_[p].delta;
      node.delta.noalias() = node.B * from;
      if (!graph_.children(n).empty()) continue;
      node.zeta = node.delta / alpha;
      if (p != kNone) node.zeta -= nodes_[p].delta / alpha;
    }
  }

  /// B = (I + alpha A)^-1, A = A B.
  void eliminate(Node& node, double alpha) const {
    Matrix inverse = alpha * node.A;
    inverse.diagonal().array() += 1.0;
    node.B = inverse.llt().solve(Matrix::Identity(d_, d_));
    node.A = node.A * node.B;
    node.A = 0.5 * (node.A + node.A.transpose()).eval();
  }

  /// Moves to where the objective is nearly flat along the direction.
  DenseLossSums line_search() {
    losses_.set_moves([&](std::size_t t) -> const Vector& { return nodes_[targets_[t]].delta; });
    double first = 0;
    double square = 0;
    for (const NodeId t : targets_) {
      first += dot(nodes_[t].zeta, nodes_[t].w);
      square += dot(nodes_[t].zeta, nodes_[t].delta);
    }
    double begin = 0;
    double slope_at_begin = first + losses_.linearise(0.0F).slope;
    decrement_ = -slope_at_begin;
    const double flat = kFlat * std::abs(slope_at_begin);
    double end = 0;  // 0: not known yet
    double slope_at_end = 0;
    double length = 1;
    DenseLossSums values;
    for (int trial = 0;; ++trial) {
      values = losses_.linearise(static_cast<float>(length));
      const double slope = first + length * square + values.slope;
      if (std::abs(slope) <= flat || trial == kMaxTrials) break;
      if (slope < 0) {
        begin = length;
        slope_at_begin = slope;
        if (length >= 1 && end == 0) break;  // long enough
      } else {
        end = length;
        slope_at_end = slope;
      }
      const double secant =
          begin - slope_at_begin * (end - begin) / (slope_at_end - slope_at_begin);
      length = std::clamp(secant, begin + 0.1 * (end - begin), end - 0.1 * (end - begin));
    }
    accept(static_cast<float>(length));
    return values;
  }

  void accept(float length) {
    losses_.move(length);
    for (const NodeId t : targets_) {
      nodes_[t].w += length * nodes_[t].delta;
      nodes_[t].z.head(num_regularised()) += length * nodes_[t].zeta.head(num_regularised());
    }
  }

  /// v_m = alpha_m times the sum of z below.
  WeightMatrix weights() const {
    const std::size_t num_nodes = nodes_.size();
    WeightMatrix W = WeightMatrix::dense(X_.num_columns(), static_cast<std::uint32_t>(num_nodes));
    std::vector<Vector> sums(num_nodes, Vector::Zero(d_));
    for (const NodeId t : targets_) sums[t] = nodes_[t].z;
    const auto order = graph_.topological_order();
    for (auto n = order.rbegin(); n != order.rend(); ++n) {
      if (parent(*n) != kNone) sums[parent(*n)] += sums[*n];
    }
    for (std::size_t j = 0; j < X_.num_columns(); ++j) {
      float* out = W.dense_values().data() + j * num_nodes;
      for (std::size_t n = 0; n < num_nodes; ++n) {
        out[n] = static_cast<float>(problem_.alpha[n] * sums[n][static_cast<Eigen::Index>(j)]);
      }
    }
    for (const NodeId t : targets_) {
      if (!is_free()) break;
      float& intercept = W.dense_values()[(X_.num_columns() - 1) * num_nodes + t];
      intercept = static_cast<float>(nodes_[t].w[d_ - 1]);
    }
    return std::move(W).compacted();
  }

  const JointDualOptions& options_;
  const AdditiveProblem& problem_;
  const LabelGraph& graph_;
  Executor& executor_;
  CsrView X_;
  Eigen::Index d_;
  std::vector<NodeId> targets_;
  std::vector<Node> nodes_;
  DenseLosses losses_;
  double decrement_ = 1e300;  // twice the predicted decrease of the last step
};

}  // namespace

bool suits_joint_dense(const AdditiveProblem& problem) {
  const CsrView& X = problem.X;
  const std::size_t d = X.num_columns();
  if (d == 0 || d > kMaxColumns || 16 * d > X.num_rows()) return false;
  if (X.values().size() != X.num_rows() * d) return false;
  if (problem.graph->num_nodes() * d * d > 100'000'000) return false;
  for (NodeId n = 0; n < problem.graph->num_nodes(); ++n) {
    if (problem.graph->parents(n).size() > 1) return false;
  }
  return std::all_of(problem.targets.begin(), problem.targets.end(), [&](NodeId t) {
    return problem.graph->children(t).empty() && problem.alpha[t] > 0;
  });
}

RecursiveFit train_joint_dense(const AdditiveProblem& problem, const JointDualOptions& options,
                               Executor& executor, RunControl& control) {
  return JointDense(problem, options, executor).run(control);
}

}  // namespace margrove::detail
