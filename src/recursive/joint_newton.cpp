// Logistic recursive regularisation of all targets at once by Newton's method (HR; its
// path-additive form is in docs/notation.md). Every target has a vector z_l; with the label kernel
// K, applied column by column, which in the additive form is the sum over the common ancestors of
// alpha_m,
//
//   primal     P(z) = 1/2 z' K z + sum_l sum_i C_i log(1 + exp(-y_il w_l.x_i)),   w = K z,
//              which is sum_m |v_m|^2 / (2 alpha_m) at v_m = alpha_m sum_{l in D(m)} z_l
//   gradient   K (z - u),  u_l = sum_i a_il y_il x_i,  a_il = C_i / (1 + exp(y_il w_l.x_i))
//   direction  (K^-1 + H) delta = u - z,  delta = K zeta,  H_l = sum_i D_il x_i x_i'
//
// a is feasible in the dual, and by Fenchel's equality the gap at (z, a) is exactly
// 1/2 (u - z)' K (u - z). Directions are found by conjugate gradients preconditioned by K^-1 +
// diag(H). Column by column that is a system on the label graph, solved by elimination, with almost
// no fill where few nodes have several parents. After every step each leaf's own intercept is
// optimised with all else fixed (leaf_intercepts.hpp).
//
// D_il is the second derivative for y_il = -1, but tanh(m/2) / (2m) for y_il = +1, the curvature of
// a parabola above the loss. Margins of a leaf's own rows begin far below zero, where the second
// derivative is almost zero and steps would leave the region in which it is valid.
//
// The softmax loss couples the leaves of a row (softmax_loss.hpp). With a_i = C_i (e_y(i) - p_i)
// the same formulas hold, the gap included, D_i is C_i (diag(p_i) - p_i p_i'), and intercepts are
// not optimised by themselves.
//
// Memory: one float32 and five BFloat16 per leaf and used column, one byte per row and leaf
// (DirectionOrWeights).

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>

#include "base/closing_time.hpp"
#include "base/out_of_time.hpp"
#include "hierarchy/graph_operations.hpp"
#include "linear/block_losses.hpp"
#include "linear/point_loss.hpp"
#include "linear/row_costs.hpp"
#include "linear/used_columns.hpp"
#include "margrove/errors.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/common_part.hpp"
#include "recursive/label_kernel.hpp"
#include "recursive/leaf_intercepts.hpp"
#include "recursive/leaf_paths.hpp"
#include "recursive/newton_chunks.hpp"
#include "recursive/recursive.hpp"
#include "recursive/recursive_round.hpp"
#include "recursive/softmax_loss.hpp"

namespace margrove {
namespace {

using namespace detail;

constexpr double kResidual = 0.4;  // of the systems, in the preconditioner's norm
constexpr int kMaxProducts = 50;   // per system
constexpr double kArmijo = 1e-4;
constexpr double kRounding = 2e-7;  // of the float32 scores, relative to the objective
constexpr int kMaxHalvings = 25;
constexpr float kMostCurvature = 1e6F;  // of the preconditioner, whose rounding grows with it

/// What both kinds of problems have.
struct NewtonProblem {
  const CsrView& X;
  const LabelSets& labels;
  std::span<const double> row_weights;
  const PartialLabels& partial;
  std::uint32_t num_nodes;
};

class JointNewton {
 public:
  JointNewton(const NewtonProblem& problem, NodePrecisionMatrix precision,
              std::optional<std::vector<double>> free_path_sums, const JointNewtonOptions& options,
              Executor& executor, RunControl& control)
      : options_(options),
        problem_(problem),
        executor_(executor),
        control_(control),
        closing_(control),
        used_(problem.X),
        X_(used_.view()),
        tail_(dense_tail(X_)),
        kernel_(std::move(precision)),
        positives_(
            rows_of_targets(problem.labels, kernel_.targets(), problem.num_nodes, "joint_newton")),
        chunk_size_(kChunkWidth * kernel_.num_rows()),
        num_chunks_((X_.num_columns() + kChunkWidth - 1) / kChunkWidth),
        num_blocks_(kernel_.num_rows() / kLanes),
        costs_(row_costs(options.C, problem.row_weights, X_.num_rows())),
        intercepts_(X_, costs_, positives_, kernel_, std::move(free_path_sums)),
        z_(num_chunks_ * chunk_size_, 0.0F),
        shared_(num_chunks_, chunk_size_),
        curvatures_(num_blocks_ * X_.num_rows() * kLanes) {
    for (auto* part : {&rho_, &s_, &h_}) part->resize(z_.size());
    const float largest = costs_.empty() ? 1.0F : *std::ranges::max_element(costs_);
    if (options.softmax) {
      softmax_.emplace(X_.num_rows(), num_blocks_);
      common_ = CommonPart::of(kernel_);
    }
    curvature_base_ = float8_base((softmax_ ? 1.0F : 0.25F) * std::max(largest, 1e-30F));
    scratch_.resize(static_cast<std::size_t>(executor.size()));
    for (Scratch& scratch : scratch_) {
      scratch.label = kernel_.scratch();
      scratch.weights.resize(num_chunks_ * kChunkWidth);
      scratch.gradient.resize(num_chunks_ * kChunkWidth);
      scratch.system.direction.resize(num_chunks_ * kChunkWidth);
      scratch.system.product.resize(num_chunks_ * kChunkWidth);
      scratch.scores.resize(X_.num_rows());
      scratch.slopes.resize(X_.num_rows());
      scratch.curvatures.resize(X_.num_rows());
    }
  }

  RecursiveFit run() {
    RecursiveFit fit;
    bool has_moved = false;
    start_at_base_rates();
    move(0.0F);
    fit.primal = linearise();
    for (;;) {
      ++fit.passes;
      fit.dual = is_cut_ ? fit.primal : fit.primal - gap();
      if (is_last_round("joint Newton", options_, fit, control_)) break;
      const double slope = solve_direction(fit.passes);
      if (!control_.proceed()) {  // the direction may be incomplete
        fit.stop = control_.stop_reason();
        break;
      }
      const double before = fit.primal;
      const double after = line_search(before, slope);
      if (is_cut_) {  // back where `before` and the dual are true
        fit.stop = control_.stop_reason();
        break;
      }
      fit.primal = after;
      has_moved = true;
      if (fit.primal >= before) break;
    }
    if (!has_moved && is_cut_short(fit.stop)) fit.passes = 0;  // the weights are the first ones
    fit.weights = weights();
    return fit;
  }

 private:
  struct Scratch {
    LabelKernel::Scratch label;
    std::vector<Lanes> weights;
    std::vector<WideLanes> gradient;
    BatchedNewtonSystem system;
    std::vector<Lanes> scores, slopes, curvatures;  // by row
  };

  bool is_free() const { return intercepts_.is_free(); }
  bool settles_intercepts() const { return !softmax_ && intercepts_.are_settled(); }

  // ---- chunks of columns ----

  template <class Number>
  std::span<Number> chunk(std::vector<Number>& values, std::size_t c) const {
    return std::span(values).subspan(c * chunk_size_, chunk_size_);
  }

  /// Sums task(chunk, scratch) over all chunks.
  template <class Task>
  double over_chunks(const Task& task) {
    return executor_.ordered_sum(num_chunks_, [&](std::size_t c, int worker) {
      return task(c, scratch_[static_cast<std::size_t>(worker)]);
    });
  }

  /// z += step s, w = K z.
  void move(float step) {
    regulariser_ = 0.5 * over_chunks([&](std::size_t c, Scratch& scratch) {
                     const std::span<float> z = chunk(z_, c);
                     const auto s = step == 0.0F ? std::span<const BFloat16>() : chunk(s_, c);
                     if (!common_) return kernel_.move(step, s, z, shared_.w(c), scratch.label);
                     for (std::size_t k = 0; k < s.size(); ++k) z[k] += step * wide(s[k]);
                     common_->remove(z);
                     return kernel_.move(0.0F, {}, z, shared_.w(c), scratch.label);
                   });
  }

  double gap() {
    if (is_free()) return gap_of_free_intercepts();
    return 0.5 * over_chunks([&](std::size_t c, Scratch& scratch) {
             return kernel_.squared_norm(chunk(rho_, c), scratch.label);
           });
  }

  /// 1/2 (u - z)' K (u - z) without the intercepts, and what making a feasible costs.
  double gap_of_free_intercepts() {
    const double squares = over_chunks([&](std::size_t c, Scratch& scratch) {
      if (c + 1 < num_chunks_) return kernel_.squared_norm(chunk(rho_, c), scratch.label);
      std::vector<BFloat16> rho(chunk(rho_, c).begin(), chunk(rho_, c).end());
      const std::size_t f = (X_.num_columns() - 1) % kChunkWidth;
      for (std::size_t t = f; t < rho.size(); t += kChunkWidth) rho[t] = BFloat16{};
      return kernel_.squared_norm(rho, scratch.label);
    });
    return 0.5 * squares + intercepts_.balancing().gap(std::sqrt(squares));
  }

  /// Starts near the best constant scores.
  void start_at_base_rates() {
    const double constant = intercepts_.constant();
    if (constant == 0) return;
    double total = 0;
    for (const float cost : costs_) total += cost;
    const std::size_t c = (X_.num_columns() - 1) / kChunkWidth;
    const std::size_t f = (X_.num_columns() - 1) % kChunkWidth;
    for (std::size_t t = 0; t < positives_.size(); ++t) {
      double own = 0.5;
      double all = total;
      for (const std::uint32_t i : positives_[t]) own += costs_[i];
      problem_.partial.for_each_without_sign(kernel_.targets()[t],
                                             [&](std::uint32_t i) { all -= costs_[i]; });
      if (is_free()) {
        intercepts_.start(t, own - 0.5, all);
        continue;
      }
      const double others = std::max(0.0, all - own) + 0.5;
      const double h = own * others / (own + others) * constant * constant;
      chunk(h_, c)[t * kChunkWidth + f] = narrow(static_cast<float>(h));
      chunk(rho_, c)[t * kChunkWidth + f] =
          narrow(static_cast<float>(h * std::log(own / others) / constant));
    }
    if (is_free()) return;
    // z = rho - h (K^-1 + h)^-1 rho, which the step leaves in p
    step(0.0F, c, scratch_[0]);
    kernel_.move(1.0F, shared_.p(c), chunk(z_, c), shared_.w(c), scratch_[0].label);
  }

  // ---- blocks of sixteen leaves ----

  /// Where the block's part of a chunk begins.
  static std::size_t block_begin(std::size_t b) { return b * kLanes * kChunkWidth; }

  /// Sums task(block, scratch) over the blocks for which proceed() says that there is time.
  template <class Proceed, class Task>
  double over_blocks(const Proceed& proceed, const Task& task) {
    return executor_.ordered_sum(num_blocks_, [&](std::size_t b, int worker) {
      return proceed() ? task(b, scratch_[static_cast<std::size_t>(worker)]) : 0.0;
    });
  }

  /// Scores, losses, their derivatives, rho = u - z and the diagonal of H, after the intercepts
  /// have been optimised; returns the objective. Sets is_cut_ where there is no time for all
  /// blocks.
  double linearise() {
    const auto proceed = [&] {
      if (!closing_.proceed()) is_cut_ = true;
      return !is_cut_;
    };
    if (softmax_) {
      over_blocks(proceed, [&](std::size_t b, Scratch& scratch) {
        score_block(b, scratch);
        softmax_->add_scores(b, num_targets(b), scratch.scores);
        return 0.0;
      });
      if (is_cut_) return std::numeric_limits<double>::quiet_NaN();
      softmax_->sum_up(executor_);
    }
    const double losses = over_blocks(
        proceed, [&](std::size_t b, Scratch& scratch) { return linearise_block(b, scratch); });
    if (is_cut_) return std::numeric_limits<double>::quiet_NaN();
    if (settles_intercepts()) intercepts_.move(intercept_column(), regulariser_);
    return regulariser_ + losses;
  }

  InterceptColumn intercept_column() {
    const std::size_t c = (X_.num_columns() - 1) / kChunkWidth;
    const std::size_t f = (X_.num_columns() - 1) % kChunkWidth;
    return {{shared_.w(c).high.subspan(f), shared_.w(c).low.subspan(f)},
            chunk(z_, c).subspan(f),
            chunk(rho_, c).subspan(f)};
  }

  /// How many of a block's leaves are not padding.
  std::size_t num_targets(std::size_t b) const {
    return std::min(positives_.size() - b * kLanes, kLanes);
  }

  /// The rows of each leaf of a block.
  auto positives(std::size_t b) const {
    return [this, b](std::size_t l) -> std::span<const std::uint32_t> {
      return positives_[b * kLanes + l];
    };
  }

  void pack_curvatures(std::size_t b, std::span<const Lanes> curvatures) {
    pack(curvatures, curvature_base_, curvatures_.data() + b * X_.num_rows() * kLanes);
  }

  void score_block(std::size_t b, Scratch& scratch) {
    const std::size_t at = block_begin(b);
    for (std::size_t c = 0; c < num_chunks_; ++c) {
      const LabelKernel::SplitChunk w = shared_.w(c);
      read_chunk(&w.high[at], &w.low[at], scratch.weights.data() + c * kChunkWidth);
    }
    score_rows(X_, tail_, scratch.weights, scratch.scores);
  }

  double linearise_block(std::size_t b, Scratch& scratch) {
    const std::size_t at = block_begin(b);
    score_block(b, scratch);
    const bool has_intercepts = settles_intercepts();
    if (has_intercepts && is_free()) {
      intercepts_.add_to_scores(b, scratch.weights[X_.num_columns() - 1], scratch.scores);
    }
    hide_rows_without_sign(b, scratch);
    const BlockRows rows{scratch.scores, scratch.slopes, scratch.curvatures};
    LaneSums losses = linearise_rows(b, scratch);
    if (has_intercepts) {
      losses = intercepts_.settle(b, rows, intercept_column().z, losses,
                                  [&] { return linearise_rows(b, scratch); });
    }
    if (is_free()) intercepts_.find_sides(b, rows, losses);
    if (!softmax_) pack_curvatures(b, scratch.curvatures);
    auto& diagonal = scratch.weights;  // no longer needed
    std::fill(diagonal.begin(), diagonal.end(), Lanes{});
    std::fill(scratch.gradient.begin(), scratch.gradient.end(), WideLanes{});
    add_gradient(X_, tail_, scratch.slopes, scratch.curvatures, scratch.gradient, diagonal);
    if (softmax_) {
      SoftmaxLoss::to_weights(num_targets(b), positives(b), costs_, scratch.curvatures,
                              scratch.slopes);
      pack_curvatures(b, scratch.slopes);
    }
    if (has_intercepts) intercepts_.set_gradient(b, scratch.gradient[X_.num_columns() - 1]);
    for (Lanes& lanes : diagonal) {
      for (float& h : lanes.at) h = std::min(h, kMostCurvature);
    }
    for (std::size_t c = 0; c < num_chunks_; ++c) {
      write_residual(scratch.gradient.data() + c * kChunkWidth, &chunk(z_, c)[at],
                     &chunk(rho_, c)[at]);
      write_chunk(diagonal.data() + c * kChunkWidth, &chunk(h_, c)[at]);
    }
    return std::accumulate(std::begin(losses.at), std::end(losses.at), 0.0);
  }

  /// No step of an intercept brings their scores near to where they would have a loss.
  void hide_rows_without_sign(std::size_t b, Scratch& scratch) const {
    for (std::size_t l = 0; l < num_targets(b); ++l) {
      problem_.partial.for_each_without_sign(
          kernel_.targets()[b * kLanes + l],
          [&](std::uint32_t i) { scratch.scores[i].at[l] = kNoLossScore; });
    }
  }

  /// Each leaf's loss.
  LaneSums linearise_rows(std::size_t b, Scratch& scratch) const {
    const std::size_t count = num_targets(b);
    const auto curvature = [](double score, double cost) {
      const double m = std::max(std::abs(score), 1e-3);
      return cost * std::tanh(0.5 * m) / (2 * m);
    };
    LaneSums losses = softmax_ ? softmax_->linearise(count, positives(b), costs_, scratch.scores,
                                                     scratch.slopes, scratch.curvatures)
                               : detail::linearise_block<LogisticLoss>(
                                     count, positives(b), costs_, curvature, scratch.scores,
                                     scratch.slopes, scratch.curvatures);
    for (std::size_t l = count; l < kLanes; ++l) {  // the padding
      losses.at[l] = 0;
      for (std::size_t i = 0; i < X_.num_rows(); ++i) {
        scratch.slopes[i].at[l] = scratch.curvatures[i].at[l] = 0.0F;
      }
    }
    return losses;
  }

  /// p = H p; returns p' H p at the p before. Incomplete where the time has ended.
  double multiply() {
    const auto proceed = [&] { return control_.proceed(); };
    if (softmax_) {  // the means over a row's leaves of the scores of p
      over_blocks(proceed, [&](std::size_t b, Scratch& scratch) {
        read_direction(b, scratch);
        score_rows(X_, tail_, scratch.system.direction, scratch.scores);
        softmax_->add_changes(b, scratch.scores, scratch.curvatures);
        return 0.0;
      });
      softmax_->average(executor_);
    }
    const std::span<const float> means = softmax_ ? softmax_->means() : std::span<const float>();
    const double curved = over_blocks(proceed, [&](std::size_t b, Scratch& scratch) {
      read_direction(b, scratch);
      auto& product = scratch.system.product;
      std::fill(product.begin(), product.end(), Lanes{});
      const LaneSums sums =
          multiply_curvature(X_, tail_, scratch.curvatures, means, scratch.system);
      for (std::size_t c = 0; c < num_chunks_; ++c) {
        write_chunk(product.data() + c * kChunkWidth, &shared_.p(c)[block_begin(b)]);
      }
      return std::accumulate(std::begin(sums.at), std::end(sums.at), 0.0);
    });
    if (!common_) return curved;
    return curved + over_chunks([&](std::size_t c, Scratch&) {
             return common_->add_curvature(shared_.zeta(c), chunk(h_, c), shared_.p(c));
           });
  }

  /// p and D of a block.
  void read_direction(std::size_t b, Scratch& scratch) {
    for (std::size_t c = 0; c < num_chunks_; ++c) {
      read_chunk(&shared_.p(c)[block_begin(b)], scratch.system.direction.data() + c * kChunkWidth);
    }
    unpack(curvatures_.data() + b * X_.num_rows() * kLanes, curvature_base_, scratch.curvatures);
  }

  /// s = zeta of the direction; returns the directional derivative of P.
  double solve_direction(int& passes) {
    std::ranges::fill(s_, BFloat16{});
    shared_.start_direction();
    double residual = step(0.0F);
    const double first = residual;
    double slope = 0;
    float factor = 0;
    for (int k = 0; k < kMaxProducts; ++k) {
      const auto products = update_direction(factor);
      if (products.rho_p <= 0) break;
      const double curved = products.zeta_p + multiply();
      ++passes;
      const double length = products.rho_p / curved;
      slope -= length * products.rho_p;
      const double next = step(static_cast<float>(length));
      if (next <= kResidual * kResidual * first || !control_.proceed()) break;
      factor = static_cast<float>(next / residual);
      residual = next;
    }
    return slope;
  }

  double step(float length) {
    return over_chunks([&](std::size_t c, Scratch& scratch) { return step(length, c, scratch); });
  }

  double step(float length, std::size_t c, Scratch& scratch) {
    return kernel_.step(length, shared_.zeta(c), shared_.p(c), chunk(rho_, c), chunk(s_, c),
                        chunk(h_, c), scratch.label);
  }

  LabelKernel::Products update_direction(float factor) {
    std::vector<LabelKernel::Products> parts(num_chunks_);
    executor_.for_each(num_chunks_, [&](std::size_t c, int worker) {
      parts[c] =
          kernel_.update_direction(factor, shared_.p(c), chunk(rho_, c), shared_.zeta(c),
                                   shared_.p(c), scratch_[static_cast<std::size_t>(worker)].label);
    });
    LabelKernel::Products products;
    for (const auto& part : parts) {
      products.zeta_p += part.zeta_p;
      products.rho_p += part.rho_p;
    }
    return products;
  }

  /// Halves the step until Armijo's condition holds; leaves rho, h and the curvatures there. Takes
  /// the step back where there is no time for it.
  double line_search(double before, double slope) {
    move(1.0F);
    double objective = linearise();
    float length = 1.0F;
    for (int k = 0; k < kMaxHalvings && !is_cut_; ++k) {
      if (objective <= before * (1 + kRounding) + kArmijo * length * slope) return objective;
      length *= 0.5F;
      move(-length);
      objective = linearise();
    }
    move(-length);
    return is_cut_ ? before : linearise();
  }

  /// The nodes' vectors over the caller's columns, feature-major.
  WeightMatrix weights() {
    // An assignment of {} would keep the memory.
    for (auto* part : {&rho_, &s_, &h_}) std::vector<BFloat16>().swap(*part);
    shared_ = DirectionOrWeights(0, 0);
    std::vector<Float8>().swap(curvatures_);
    const std::size_t num_nodes = problem_.num_nodes;
    WeightMatrix W =
        WeightMatrix::dense(problem_.X.num_columns(), static_cast<std::uint32_t>(num_nodes));
    const auto values = W.dense_values();
    executor_.for_each(num_chunks_, [&](std::size_t c, int worker) {
      std::vector<float> parts(num_nodes * kChunkWidth, 0.0F);
      kernel_.node_parts(chunk(z_, c), parts, scratch_[static_cast<std::size_t>(worker)].label);
      for (std::size_t j = c * kChunkWidth;
           j < std::min<std::size_t>((c + 1) * kChunkWidth, X_.num_columns()); ++j) {
        float* row = values.data() + used_.original()[j] * num_nodes;
        for (std::size_t n = 0; n < num_nodes; ++n)
          row[n] = parts[n * kChunkWidth + j % kChunkWidth];
      }
    });
    std::vector<float>().swap(z_);
    for (std::size_t t = 0; t < positives_.size() && is_free() && X_.num_columns() > 0; ++t) {
      const std::size_t j = used_.original()[X_.num_columns() - 1];
      values[j * num_nodes + kernel_.targets()[t]] = static_cast<float>(intercepts_.value(t));
    }
    return std::move(W).compacted();
  }

  const JointNewtonOptions& options_;
  NewtonProblem problem_;
  Executor& executor_;
  RunControl& control_;
  ClosingTime closing_;
  std::atomic<bool> is_cut_ = false;
  UsedColumns used_;
  CsrView X_;
  std::uint32_t tail_;  // of X_
  LabelKernel kernel_;
  std::vector<std::vector<std::uint32_t>> positives_;  // by target
  std::size_t chunk_size_, num_chunks_;
  std::size_t num_blocks_;
  std::vector<float> costs_;
  LeafIntercepts intercepts_;
  std::vector<float> z_;
  std::vector<BFloat16> rho_, s_, h_;
  DirectionOrWeights shared_;
  double regulariser_ = 0;
  std::vector<Float8> curvatures_;  // D: block, row, lane
  std::int32_t curvature_base_ = 0;
  std::optional<SoftmaxLoss> softmax_;
  std::optional<CommonPart> common_;  // of the softmax
  std::vector<Scratch> scratch_;
};

/// K_l of each target if the intercept is free.
template <class Problem>
std::optional<std::vector<double>> free_path_sums(const Problem& problem,
                                                  std::span<const NodeId> targets) {
  if constexpr (requires { problem.free_intercept; }) {
    if (!problem.free_intercept) return std::nullopt;
    std::vector<double> sums;
    const auto ancestors = ancestor_sets(*problem.graph, targets);
    for (const NodeId t : targets) {
      double& sum = sums.emplace_back(0.0);
      for (const NodeId m : ancestors[t]) sum += problem.alpha[m];
    }
    return sums;
  }
  return std::nullopt;
}

template <class Problem>
void check_softmax(const Problem& problem) {
  for (std::size_t i = 0; i < problem.labels->num_rows(); ++i) {
    require((*problem.labels)[i].size() == 1, "joint_newton: softmax needs one label in each row");
  }
  require(problem.partial->empty(), "joint_newton: softmax has no partial labels");
  if constexpr (requires { problem.free_intercept; }) {
    require(!problem.free_intercept, "joint_newton: softmax has no free intercepts");
  }
}

template <class Problem>
RecursiveFit train(const Problem& problem, std::uint32_t num_nodes,
                   const JointNewtonOptions& options, Executor& executor, RunControl& control) {
  validate(options);
  check_sizes(problem, "joint_newton");
  NodePrecisionMatrix precision = node_precision(problem);
  if (options.softmax) check_softmax(problem);
  auto path_sums = free_path_sums(problem, precision.targets);
  return JointNewton({problem.X, *problem.labels, problem.row_weights, *problem.partial, num_nodes},
                     std::move(precision), std::move(path_sums), options, executor, control)
      .run();
}

void check_weights(const AdditiveProblem& problem) {
  require(problem.alpha.size() == problem.graph->num_nodes(),
          "joint_newton: ", problem.alpha.size(), " node weights, but ", problem.graph->num_nodes(),
          " nodes");
}

}  // namespace

bool suits_joint_newton(const AdditiveProblem& problem) {
  check_weights(problem);
  return LabelKernel::is_suited(
      node_precision(problem, LabelKernel::most_terms(problem.graph->num_nodes())));
}

bool suits_joint_newton(const SimilarityProblem& problem) {
  return LabelKernel::is_suited(node_precision(problem));
}

RecursiveFit train_joint_newton(const AdditiveProblem& problem, const JointNewtonOptions& options,
                                Executor& executor, RunControl& control) {
  check_weights(problem);
  return train(problem, problem.graph->num_nodes(), options, executor, control);
}

RecursiveFit train_joint_newton(const SimilarityProblem& problem, const JointNewtonOptions& options,
                                Executor& executor, RunControl& control) {
  return train(problem, problem.graph->num_nodes, options, executor, control);
}

}  // namespace margrove
