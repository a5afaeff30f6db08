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
// The hinge is smoothed: its corner becomes the parabola v^2 / (2 delta) for 0 <= v = 1 - m <=
// delta. a is feasible for the hinge itself, so that the gap of the smoothed problem, which is
// 1/2 (u - z)' K (u - z), plus sum C_i (v - v^2 / delta) over the parabolas is the gap of the true
// one. delta shrinks when the predicted decrease of a step is less than the second part. (The
// squared hinge has no second part.)
//
// The free intercept of a leaf (linear/free_intercept.hpp) is the last entry of its w, where z
// stays zero; directions are regularised there by K^-1.

#include "recursive/joint_dense.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/csr_operations.hpp"
#include "linear/block_losses.hpp"
#include "linear/free_intercept.hpp"
#include "linear/point_loss.hpp"
#include "linear/smoothed_hinge.hpp"
#include "linear/used_columns.hpp"
#include "margrove/errors.hpp"
#include "recursive/leaf_paths.hpp"
#include "recursive/recursive_round.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kMostColumns = 256;
constexpr float kFirstWidth = 2.0F;      // delta
constexpr float kShrink = 0.3F;          // of delta
constexpr double kNewtonShare = 0.1;     // of the smoothing's part of the gap: delta shrinks when
                                         // the last step's predicted decrease is less
constexpr double kFlat = 0.1;            // |slope| along the direction, of the first one
constexpr int kMostTrials = 12;          // of a line search
constexpr double kSmoothingShare = 0.6;  // of the tolerance: smoothing's part of the gap in the end
constexpr int kMostStalled = 3;          // steps that do not lower the objective
constexpr float kLeastCurvature = 1e-3F;  // of a row's cost, to count in a Hessian

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

/// Sums over rows of one block, at one place.
struct Values {
  double smooth = 0;     // losses
  double exact = 0;      // without smoothing
  double smoothing = 0;  // part of the gap
  double slope = 0;      // of the losses along the move
  Values& operator+=(const Values& other) {
    smooth += other.smooth;
    exact += other.exact;
    smoothing += other.smoothing;
    slope += other.slope;
    return *this;
  }
};

class JointDense {
 public:
  JointDense(const AdditiveProblem& problem, const JointDualOptions& options, Executor& executor)
      : options_(options),
        problem_(problem),
        graph_(*problem.graph),
        hinge_(options.loss == PointLossKind::hinge),
        executor_(executor),
        X_(problem.X),
        d_(static_cast<Eigen::Index>(X_.num_columns())),
        costs_(X_.num_rows(), static_cast<float>(options.C)),
        targets_(problem.targets.begin(), problem.targets.end()),
        nodes_(graph_.num_nodes()),
        blocks_((targets_.size() + kLanes - 1) / kLanes),
        positives_(targets_.size()) {
    for (std::size_t i = 0; i < problem.row_weights.size(); ++i) {
      costs_[i] = static_cast<float>(options.C * problem.row_weights[i]);
    }
    if (problem.free_intercept) {
      constant_ = constant_column(X_);
      require(constant_ != 0,
              "joint_dual: the last column is the free intercept, but it is not constant");
      norms_ = norms_without(squared_norms(X_), constant_);
      sides_.resize(targets_.size());
    }
    find_positives();
    for (Node& node : nodes_) {
      node.z = node.w = node.rho = node.delta = node.zeta = Vector::Zero(d_);
    }
    for (const NodeId t : targets_) nodes_[t].below = true;
    const auto order = graph_.topological_order();
    for (auto n = order.rbegin(); n != order.rend(); ++n) {
      const NodeId p = parent(*n);
      if (p != kNone && nodes_[*n].below) nodes_[p].below = true;
    }
    for (Block& block : blocks_) {
      for (auto* rows : {&block.scores, &block.moves, &block.slopes, &block.curvatures}) {
        rows->assign(X_.num_rows(), Lanes{});
      }
    }
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      for (const Positive& positive : positives_[t]) {
        blocks_[t / kLanes].scores[positive.row].at[t % kLanes] = kNoLossScore;
      }
      for_each_without_sign(
          t, [&](std::uint32_t i) { blocks_[t / kLanes].scores[i].at[t % kLanes] = kNoLossScore; });
    }
  }

  RecursiveFit run(RunControl& control) {
    RecursiveFit fit;
    Values values = linearise(0.0F);
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
      if (stalled == kMostStalled && !smoothing_counts) break;  // because of rounding
      if (smoothing_counts &&
          (0.5 * decrement_ < kNewtonShare * values.smoothing || stalled == kMostStalled)) {
        width_ *= kShrink;
        last = std::numeric_limits<double>::infinity();
        values = linearise(0.0F);
        find_residuals();
      }
      find_direction();
      values = line_search();
    }
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
  struct Block {
    std::vector<Lanes> scores, moves;  // rows of sign +1 and of none are hidden
    std::vector<Lanes> slopes, curvatures;
  };
  struct Positive {
    std::uint32_t row;
    float score;
    float move;
    float slope;  // derivative by the score
    float curvature;
  };

  NodeId parent(NodeId n) const {
    const auto parents = graph_.parents(n);
    return parents.empty() ? kNone : parents[0];
  }

  void find_positives() {
    const auto rows = rows_of_targets(*problem_.labels, targets_, graph_.num_nodes(), "joint_dual");
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      for (const std::uint32_t i : rows[t]) positives_[t].push_back({i, 0.0F, 0.0F, 0.0F, 0.0F});
    }
  }

  template <class Use>
  void for_each_without_sign(std::size_t t, const Use& use) const {
    if (problem_.partial != nullptr) problem_.partial->for_each_without_sign(targets_[t], use);
  }

  std::size_t lanes_of(std::size_t b) const {
    return std::min(kLanes, targets_.size() - b * kLanes);
  }

  bool is_free() const { return constant_ != 0; }

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
      balancing.add(sides_[t], path_sum(targets_[t]));
    }
    return balancing.gap(std::sqrt(squared_residual()));
  }

  /// The variables a of a block's targets, after linearise().
  void find_sides(std::size_t b, const std::vector<Lanes>& places, float length) {
    const Block& block = blocks_[b];
    for (std::size_t l = 0; l < lanes_of(b); ++l) {
      DualSides& sides = sides_[b * kLanes + l];
      sides = {};
      const auto add = [&](DualSide& side, std::uint32_t i, double a, double m) {
        side.duals += a;
        side.losses += hinge_ ? a * (1 - m) : costs_[i] * SquaredHingeLoss::value(m);
        side.norms += a * norms_[i];
      };
      for (std::uint32_t i = 0; i < X_.num_rows(); ++i) {
        const double a = block.slopes[i].at[l];
        if (a > 0) add(sides.negative, i, a, -double{places[i].at[l]});
      }
      for (const Positive& positive : positives_[b * kLanes + l]) {
        add(sides.positive, positive.row, -double{positive.slope},
            double{positive.score} + double{length} * positive.move);
      }
    }
  }

  // ---- losses ----

  /// Derivatives at scores + length moves.
  Values linearise(float length) {
    std::vector<Values> values(blocks_.size());
    executor_.for_each(blocks_.size(),
                       [&](std::size_t b, int) { values[b] = linearise_block(b, length); });
    Values sum;
    for (const Values& value : values) sum += value;
    return sum;
  }

  Values linearise_block(std::size_t b, float length) {
    Block& block = blocks_[b];
    const std::size_t n = X_.num_rows();
    std::vector<Lanes> places(n);
    move_scores(block.scores, block.moves, length, places);
    Values values;
    if (hinge_) {
      const HingeSums sums = smoothed_hinge(places, costs_, width_, block.slopes, block.curvatures);
      values = {sums.smooth, sums.exact, sums.smoothing, 0};
    } else {
      const LaneSums losses =
          linearise_squared_hinge(places, costs_, block.slopes, block.curvatures);
      for (std::size_t l = 0; l < lanes_of(b); ++l) values.smooth += losses.at[l];
    }
    // Lanes beyond the last target have all rows at score 0.
    for (std::size_t l = lanes_of(b); l < kLanes; ++l) clear_lane(block, l, values);
    values.slope = product(block.slopes, block.moves);
    for (std::size_t l = 0; l < lanes_of(b); ++l) {
      for (Positive& positive : positives_[b * kLanes + l]) {
        add_positive(positive, length, values);
      }
    }
    if (!hinge_) values.exact = values.smooth;
    if (is_free()) find_sides(b, places, length);
    return values;
  }

  void clear_lane(Block& block, std::size_t l, Values& values) const {
    const SmoothedHinge hinge = smoothed_hinge_at(1.0, width_);
    for (std::size_t i = 0; i < X_.num_rows(); ++i) {
      if (hinge_) {
        values.smooth -= costs_[i] * hinge.smooth;
        values.exact -= costs_[i] * hinge.exact;
        values.smoothing -= costs_[i] * hinge.smoothing;
      }
      block.slopes[i].at[l] = block.curvatures[i].at[l] = 0.0F;
    }
  }

  void add_positive(Positive& positive, float length, Values& values) const {
    const double cost = costs_[positive.row];
    const double m = positive.score + length * positive.move;
    double slope = 0;
    double curvature = 0;
    if (hinge_) {
      const SmoothedHinge hinge = smoothed_hinge_at(1.0 - m, width_);
      slope = -hinge.derivative;
      curvature = hinge.curvature;
      values.smooth += cost * hinge.smooth;
      values.exact += cost * hinge.exact;
      values.smoothing += cost * hinge.smoothing;
    } else {
      values.smooth += cost * SquaredHingeLoss::value(m);
      slope = SquaredHingeLoss::derivative(m);
      curvature = SquaredHingeLoss::curvature(m);
    }
    positive.slope = static_cast<float>(cost * slope);
    positive.curvature = static_cast<float>(cost * curvature);
    values.slope += double{positive.slope} * positive.move;
  }

  /// rho = u - z of the targets.
  void find_residuals() {
    executor_.for_each(blocks_.size(), [&](std::size_t b, int) {
      std::vector<WideLanes> gradient(X_.num_columns(), WideLanes{});
      std::vector<Lanes> diagonal(X_.num_columns(), Lanes{});
      add_gradient(X_, blocks_[b].slopes, blocks_[b].curvatures, gradient, diagonal);
      for (std::size_t l = 0; l < lanes_of(b); ++l) {
        const std::size_t t = b * kLanes + l;
        Node& node = nodes_[targets_[t]];
        for (Eigen::Index j = 0; j < d_; ++j) {
          node.rho[j] = -gradient[static_cast<std::size_t>(j)].at[l] - node.z[j];
        }
        for (const Positive& positive : positives_[t]) {
          node.rho -= double{positive.slope} * row(positive.row);
        }
      }
    });
  }

  Vector row(std::uint32_t i) const {
    return Eigen::Map<const Eigen::VectorXf>(X_.row(i).values.data(), d_).cast<double>();
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
      find_hessian(t);
      eliminate(nodes_[targets_[t]], problem_.alpha[targets_[t]]);
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

  void find_hessian(std::size_t t) {
    const Block& block = blocks_[t / kLanes];
    const std::size_t l = t % kLanes;
    std::vector<std::uint32_t> rows;
    std::vector<float> weights;
    const auto add = [&](std::uint32_t i, float curvature) {
      if (curvature <= kLeastCurvature * costs_[i]) return;
      rows.push_back(i);
      weights.push_back(curvature);
    };
    for (std::uint32_t i = 0; i < X_.num_rows(); ++i) {
      if (block.curvatures[i].at[l] > 0.0F) add(i, block.curvatures[i].at[l]);
    }
    for (const Positive& positive : positives_[t]) add(positive.row, positive.curvature);
    const std::size_t d = X_.num_columns();
    std::vector<float> H(d * d, 0.0F);
    add_outer_products(X_.values(), d, rows, weights, H);
    // H is row-major, its lower triangle is filled.
    const Eigen::Map<const Eigen::MatrixXf> upper(H.data(), d_, d_);
    Matrix& A = nodes_[targets_[t]].A;
    A = upper.cast<double>().triangularView<Eigen::Upper>();
    A.triangularView<Eigen::StrictlyLower>() = A.transpose();
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
  Values line_search() {
    score_moves();
    double first = 0;
    double square = 0;
    for (const NodeId t : targets_) {
      first += dot(nodes_[t].zeta, nodes_[t].w);
      square += dot(nodes_[t].zeta, nodes_[t].delta);
    }
    double begin = 0;
    double slope_at_begin = first + linearise(0.0F).slope;
    decrement_ = -slope_at_begin;
    const double flat = kFlat * std::abs(slope_at_begin);
    double end = 0;  // 0: not known yet
    double slope_at_end = 0;
    double length = 1;
    Values values;
    for (int trial = 0;; ++trial) {
      values = linearise(static_cast<float>(length));
      const double slope = first + length * square + values.slope;
      if (std::abs(slope) <= flat || trial == kMostTrials) break;
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

  void score_moves() {
    executor_.for_each(blocks_.size(), [&](std::size_t b, int) {
      std::vector<Lanes> weights(X_.num_columns(), Lanes{});
      for (std::size_t l = 0; l < lanes_of(b); ++l) {
        const Vector& move = nodes_[targets_[b * kLanes + l]].delta;
        for (std::size_t j = 0; j < weights.size(); ++j) {
          weights[j].at[l] = static_cast<float>(move[static_cast<Eigen::Index>(j)]);
        }
      }
      score_rows(X_, weights, {}, blocks_[b].moves);
      for (std::size_t l = 0; l < lanes_of(b); ++l) {
        for (Positive& positive : positives_[b * kLanes + l]) {
          positive.move = std::exchange(blocks_[b].moves[positive.row].at[l], 0.0F);
        }
        for_each_without_sign(b * kLanes + l,
                              [&](std::uint32_t i) { blocks_[b].moves[i].at[l] = 0.0F; });
      }
    });
  }

  void accept(float length) {
    executor_.for_each(blocks_.size(), [&](std::size_t b, int) {
      Block& block = blocks_[b];
      move_scores(block.scores, block.moves, length, block.scores);
      for (std::size_t l = 0; l < lanes_of(b); ++l) {
        for (Positive& positive : positives_[b * kLanes + l]) {
          positive.score += length * positive.move;
        }
      }
    });
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
  bool hinge_;
  Executor& executor_;
  CsrView X_;
  Eigen::Index d_;
  std::vector<float> costs_;
  std::vector<NodeId> targets_;
  std::vector<Node> nodes_;
  std::vector<Block> blocks_;
  std::vector<std::vector<Positive>> positives_;
  double constant_ = 0;           // value of the free intercept's column; 0: it is regularised
  std::vector<float> norms_;      // without the free intercept
  std::vector<DualSides> sides_;  // by target, if the intercept is free
  float width_ = kFirstWidth;
  double decrement_ = 1e300;  // twice the predicted decrease of the last step
};

}  // namespace

bool suits_joint_dense(const AdditiveProblem& problem) {
  const CsrView& X = problem.X;
  const std::size_t d = X.num_columns();
  if (d == 0 || d > kMostColumns || 16 * d > X.num_rows()) return false;
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
