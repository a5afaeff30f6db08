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
// no fill where few nodes have several parents. All leaves share the intercept's column, so that
// its residual is the largest part of the gap. Therefore each leaf's own intercept is optimised
// with all else fixed after every step.
//
// A free intercept c_l of each leaf (linear/free_intercept.hpp) is kept out of w: after every step
// the leaf's part of w in the column joins c_l, and z is set to zero there. The column remains in
// the system of the direction, where K^-1 regularises the step.
//
// D_il is the second derivative for y_il = -1, but tanh(m/2) / (2m) for y_il = +1, the curvature of
// a parabola above the loss. Margins of a leaf's own rows begin far below zero, where the second
// derivative is almost zero and steps would leave the region in which it is valid.
//
// Memory: one float32 and five BFloat16 per leaf and used column, one byte per row and leaf. w is
// needed only between the directions, and its two halves share the memory of zeta and p.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/closing_time.hpp"
#include "data/csr_operations.hpp"
#include "hierarchy/graph_operations.hpp"
#include "linear/block_losses.hpp"
#include "linear/free_intercept.hpp"
#include "linear/point_loss.hpp"
#include "linear/used_columns.hpp"
#include "margrove/errors.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/label_kernel.hpp"
#include "recursive/leaf_paths.hpp"
#include "recursive/newton_chunks.hpp"
#include "recursive/recursive.hpp"
#include "recursive/recursive_round.hpp"

namespace margrove {
namespace {

using namespace detail;

constexpr std::size_t kWidth = LabelKernel::kWidth;
constexpr double kResidual = 0.4;  // of the systems, in the preconditioner's norm
constexpr int kMostProducts = 50;  // per system
constexpr double kArmijo = 1e-4;
constexpr double kRounding = 2e-7;  // of the float32 scores, relative to the objective
constexpr int kInterceptSteps = 2;
constexpr double kMostShift = 8;  // of scores by a step, so that the quadratic model holds
constexpr int kMostHalvings = 25;

/// What both kinds of problems have.
struct Shared {
  const CsrView& X;
  const LabelSets& labels;
  std::span<const double> row_weights;
  const PartialLabels* partial;  // or null
  std::uint32_t num_nodes;
  bool free_intercept;
  std::vector<double> path_sums;  // by node, if the intercept is free
};

class JointNewton {
 public:
  JointNewton(const Shared& problem, NodePrecisionMatrix precision,
              const JointNewtonOptions& options, Executor& executor, RunControl& control)
      : options_(options),
        problem_(problem),
        executor_(executor),
        control_(control),
        closing_(control),
        used_(problem.X),
        X_(used_.view()),
        kernel_(std::move(precision)),
        positives_(
            rows_of_targets(problem.labels, kernel_.targets(), problem.num_nodes, "joint_newton")),
        num_chunks_((X_.num_columns() + kWidth - 1) / kWidth),
        num_blocks_(kernel_.num_rows() / kLanes),
        costs_(X_.num_rows(), static_cast<float>(options.C)),
        z_(num_chunks_ * kWidth * kernel_.num_rows(), 0.0F),
        curvatures_(num_blocks_ * X_.num_rows() * kLanes) {
    for (auto* part : {&rho_, &zeta_, &p_, &s_, &h_}) part->resize(z_.size());
    constant_ = constant_column(X_);
    intercepts_.resize(kernel_.num_rows());
    if (is_free()) prepare_free_intercepts();
    for (std::size_t i = 0; i < problem.row_weights.size(); ++i) {
      costs_[i] = static_cast<float>(options.C * problem.row_weights[i]);
    }
    const float largest = costs_.empty() ? 1.0F : *std::ranges::max_element(costs_);
    curvature_base_ = float8_base(0.25F * std::max(largest, 1e-30F));
    scratch_.resize(static_cast<std::size_t>(executor.size()));
    for (Scratch& scratch : scratch_) {
      scratch.label = kernel_.scratch();
      scratch.weights.resize(num_chunks_ * kWidth);
      scratch.gradient.resize(num_chunks_ * kWidth);
      scratch.system.direction.resize(num_chunks_ * kWidth);
      scratch.system.product.resize(num_chunks_ * kWidth);
      scratch.scores.resize(X_.num_rows());
      scratch.slopes.resize(X_.num_rows());
      scratch.curvatures.resize(X_.num_rows());
    }
  }

  RecursiveFit run() {
    RecursiveFit fit;
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
      if (fit.primal >= before) break;
    }
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

  bool is_free() const { return problem_.free_intercept; }

  void prepare_free_intercepts() {
    require(constant_ != 0 || X_.num_rows() == 0,
            "joint_newton: the last column is the free intercept, but it is not constant");
    norms_ = norms_without(squared_norms(X_), constant_);
  }

  // ---- chunks of columns ----

  template <class Number>
  std::span<Number> chunk(std::vector<Number>& values, std::size_t c) const {
    const std::size_t size = kWidth * kernel_.num_rows();
    return std::span(values).subspan(c * size, size);
  }

  LabelKernel::SplitChunk weights_chunk(std::size_t c) { return {chunk(zeta_, c), chunk(p_, c)}; }

  /// Sums task(chunk, scratch) over all chunks.
  template <class Task>
  double over_chunks(const Task& task) {
    return executor_.ordered_sum(num_chunks_, [&](std::size_t c, int worker) {
      return task(c, scratch_[static_cast<std::size_t>(worker)]);
    });
  }

  /// z += step s, w = K z.
  void move(float step) {
    regulariser_ =
        0.5 * over_chunks([&](std::size_t c, Scratch& scratch) {
          return kernel_.move(step, step == 0.0F ? std::span<const BFloat16>() : chunk(s_, c),
                              chunk(z_, c), weights_chunk(c), scratch.label);
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
      const std::size_t f = (X_.num_columns() - 1) % kWidth;
      for (std::size_t t = f; t < rho.size(); t += kWidth) rho[t] = BFloat16{};
      return kernel_.squared_norm(rho, scratch.label);
    });
    Balancing balancing;
    for (std::size_t t = 0; t < positives_.size(); ++t) {
      balancing.add(intercepts_[t].sides, problem_.path_sums[kernel_.targets()[t]]);
    }
    return 0.5 * squares + balancing.gap(std::sqrt(squares));
  }

  /// Starts near the best constant scores.
  void start_at_base_rates() {
    if (constant_ == 0) return;
    double total = 0;
    for (const float cost : costs_) total += cost;
    const std::size_t c = (X_.num_columns() - 1) / kWidth;
    const std::size_t f = (X_.num_columns() - 1) % kWidth;
    for (std::size_t t = 0; t < positives_.size(); ++t) {
      double own = 0.5;
      double all = total;
      for (const std::uint32_t i : positives_[t]) own += costs_[i];
      for_each_without_sign(t, [&](std::uint32_t i) { all -= costs_[i]; });
      if (is_free()) {
        start_free_intercept(intercepts_[t], own - 0.5, all);
        continue;
      }
      const double others = std::max(0.0, all - own) + 0.5;
      const double h = own * others / (own + others) * constant_ * constant_;
      chunk(h_, c)[t * kWidth + f] = narrow(static_cast<float>(h));
      chunk(rho_, c)[t * kWidth + f] =
          narrow(static_cast<float>(h * std::log(own / others) / constant_));
    }
    if (is_free()) return;
    // z = rho - h (K^-1 + h)^-1 rho
    Scratch& scratch = scratch_[0];
    kernel_.step(0.0F, chunk(zeta_, c), chunk(p_, c), chunk(rho_, c), chunk(s_, c), chunk(h_, c),
                 scratch.label);
    kernel_.move(1.0F, chunk(p_, c), chunk(z_, c), weights_chunk(c), scratch.label);
  }

  struct Intercept;
  void start_free_intercept(Intercept& leaf, double own, double total) const {
    const double least = 1e-9 * total;
    leaf.one_sided = own <= least || total - own <= least;
    const double score = leaf.one_sided ? (own > least ? -1 : 1) * one_sided_score(kLogistic)
                                        : std::log((own + 0.5) / (total - own + 0.5));
    leaf.value = score / constant_;
  }

  // ---- blocks of sixteen leaves ----

  /// Where the block's part of a chunk begins.
  std::size_t block_begin(std::size_t c, std::size_t b) const {
    return (c * kernel_.num_rows() + b * kLanes) * kWidth;
  }

  /// Scores, losses, their derivatives, rho = u - z and the diagonal of H, after the intercepts
  /// have been optimised; returns the objective. Sets is_cut_ where there is no time for all
  /// blocks.
  double linearise() {
    const double losses = executor_.ordered_sum(num_blocks_, [&](std::size_t b, int worker) {
      if (!closing_.proceed()) is_cut_ = true;
      if (is_cut_) return std::numeric_limits<double>::quiet_NaN();
      return linearise_block(b, scratch_[static_cast<std::size_t>(worker)]);
    });
    if (is_cut_) return losses;
    if (is_free()) {
      absorb_intercepts();
    } else if (settles_intercepts()) {
      move_intercepts();
    }
    return regulariser_ + losses;
  }

  bool settles_intercepts() const {
    return constant_ != 0 && (is_free() || kernel_.is_invertible());
  }

  double own_curvature(std::size_t t) const { return is_free() ? 0.0 : kernel_.own_curvature(t); }

  /// The leaves' weights of the intercept's column become part of their free intercepts.
  void absorb_intercepts() {
    if (X_.num_columns() == 0) return;
    const std::size_t c = (X_.num_columns() - 1) / kWidth;
    const std::size_t f = (X_.num_columns() - 1) % kWidth;
    const auto w_high = weights_chunk(c).high.subspan(f);
    const auto w_low = weights_chunk(c).low.subspan(f);
    const auto z = chunk(z_, c).subspan(f);
    const auto rho = chunk(rho_, c).subspan(f);
    for (std::size_t t = 0; t < positives_.size(); ++t) {
      Intercept& leaf = intercepts_[t];
      const double w = join(w_high[t * kWidth], w_low[t * kWidth]);
      regulariser_ -= 0.5 * z[t * kWidth] * w;
      leaf.value += w + leaf.shift;
      z[t * kWidth] = 0.0F;
      split(0.0F, w_high[t * kWidth], w_low[t * kWidth]);
      rho[t * kWidth] = narrow(static_cast<float>(leaf.u));
    }
  }

  /// All leaves' intercepts at their shifted values, with the nodes above in closed form.
  void move_intercepts() {
    const std::size_t c = (X_.num_columns() - 1) / kWidth;
    const std::size_t f = (X_.num_columns() - 1) % kWidth;
    const auto w_high = weights_chunk(c).high.subspan(f);
    const auto w_low = weights_chunk(c).low.subspan(f);
    const auto z = chunk(z_, c).subspan(f);
    const auto rho = chunk(rho_, c).subspan(f);
    std::vector<double> values(positives_.size());
    for (std::size_t t = 0; t < values.size(); ++t) {
      const double w = join(w_high[t * kWidth], w_low[t * kWidth]);
      values[t] = w + intercepts_[t].shift;
      regulariser_ -= 0.5 * z[t * kWidth] * w;
    }
    const std::vector<double> solved = kernel_.solve_column(values);
    for (std::size_t t = 0; t < values.size(); ++t) {
      split(static_cast<float>(values[t]), w_high[t * kWidth], w_low[t * kWidth]);
      z[t * kWidth] = static_cast<float>(solved[t]);
      regulariser_ += 0.5 * values[t] * solved[t];
      rho[t * kWidth] = narrow(static_cast<float>(intercepts_[t].u - solved[t]));
    }
  }

  double linearise_block(std::size_t b, Scratch& scratch) {
    for (std::size_t c = 0; c < num_chunks_; ++c) {
      const std::size_t at = block_begin(c, b);
      read_chunk(zeta_.data() + at, p_.data() + at, scratch.weights.data() + c * kWidth);
    }
    score_rows(X_, scratch.weights, {}, scratch.scores);
    if (is_free()) add_free_intercepts(b, scratch);
    hide_rows_without_sign(b, scratch);
    LaneSums losses = linearise_rows(b, scratch);
    if (settles_intercepts()) losses = settle_intercepts(b, scratch, losses);
    if (is_free()) find_sides(b, scratch, losses);
    pack(scratch.curvatures, curvature_base_, curvatures_.data() + b * X_.num_rows() * kLanes);
    auto& diagonal = scratch.weights;  // no longer needed
    std::fill(diagonal.begin(), diagonal.end(), Lanes{});
    std::fill(scratch.gradient.begin(), scratch.gradient.end(), WideLanes{});
    add_gradient(X_, scratch.slopes, scratch.curvatures, scratch.gradient, diagonal);
    if (settles_intercepts()) {  // otherwise there may be no column at all
      for (std::size_t l = 0; l < kLanes; ++l) {
        intercepts_[b * kLanes + l].u = -scratch.gradient[X_.num_columns() - 1].at[l];
      }
    }
    for (std::size_t c = 0; c < num_chunks_; ++c) {
      const std::size_t at = block_begin(c, b);
      write_residual(scratch.gradient.data() + c * kWidth, z_.data() + at, rho_.data() + at);
      write_chunk(diagonal.data() + c * kWidth, h_.data() + at);
    }
    return std::accumulate(std::begin(losses.at), std::end(losses.at), 0.0);
  }

  template <class Use>
  void for_each_without_sign(std::size_t t, const Use& use) const {
    if (problem_.partial == nullptr) return;
    problem_.partial->for_each_without_sign(kernel_.targets()[t], use);
  }

  /// No step of an intercept brings their scores near to where they would have a loss.
  void hide_rows_without_sign(std::size_t b, Scratch& scratch) const {
    const std::size_t count = std::min(positives_.size() - b * kLanes, kLanes);
    for (std::size_t l = 0; l < count; ++l) {
      for_each_without_sign(b * kLanes + l,
                            [&](std::uint32_t i) { scratch.scores[i].at[l] = kNoLossScore; });
    }
  }

  void add_free_intercepts(std::size_t b, Scratch& scratch) {
    const std::size_t at = X_.num_columns() - 1;
    Lanes steps{};
    const std::size_t count = std::min(positives_.size() - b * kLanes, kLanes);
    for (std::size_t l = 0; l < count; ++l) {
      Intercept& leaf = intercepts_[b * kLanes + l];
      // One-sided leaves stay where they are.
      const double w = leaf.one_sided ? -double{scratch.weights[at].at[l]} : 0.0;
      leaf.fixed_shift = w;
      steps.at[l] = static_cast<float>(constant_ * (leaf.value + w));
    }
    add_to_all(steps, scratch.scores);
  }

  void find_sides(std::size_t b, const Scratch& scratch, const LaneSums& losses) {
    const std::size_t count = std::min(positives_.size() - b * kLanes, kLanes);
    std::array<DualSides, kLanes> sides;
    const auto positives = [&](std::size_t l) -> std::span<const std::uint32_t> {
      return positives_[b * kLanes + l];
    };
    detail::find_sides<LogisticLoss>(positives, costs_, norms_, losses, scratch.scores,
                                     scratch.slopes, std::span(sides).first(count));
    for (std::size_t l = 0; l < count; ++l) intercepts_[b * kLanes + l].sides = sides[l];
  }

  /// A few Newton steps on each leaf's own intercept with all else fixed; the best of their points
  /// is taken, which lowers the objective. The residual of the joint steps is largest there, as all
  /// leaves share the column.
  LaneSums settle_intercepts(std::size_t b, Scratch& scratch, LaneSums losses) {
    const std::size_t count = std::min(positives_.size() - b * kLanes, kLanes);
    const std::span leaves = std::span(intercepts_).subspan(b * kLanes, count);
    for (Intercept& leaf : leaves) leaf.shift = leaf.fixed_shift;
    struct Place {
      double shift, value;
    };
    std::array<Place, kLanes> best{};
    const auto value_at =
        [&](std::size_t l) {  // loss and regulariser of the leaf, up to a constant
          const double shift = leaves[l].shift;
          const double z = regulariser_slope(b * kLanes + l);
          return losses.at[l] + z * shift + 0.5 * own_curvature(b * kLanes + l) * shift * shift;
        };
    for (std::size_t l = 0; l < count; ++l) best[l] = {leaves[l].shift, value_at(l)};
    const auto shift_by = [&](const Lanes& steps) {
      add_to_all(steps, scratch.scores);
      losses = linearise_rows(b, scratch);
    };
    for (int k = 0; k < kInterceptSteps; ++k) {
      Lanes steps{};
      const LaneSums slopes = sum_lanes(scratch.slopes);
      const LaneSums curvatures = sum_lanes(scratch.curvatures);
      for (std::size_t l = 0; l < count; ++l) {
        if (leaves[l].one_sided) continue;
        const double curvature = own_curvature(b * kLanes + l);
        const double z = regulariser_slope(b * kLanes + l);
        const double gradient = z + curvature * leaves[l].shift + constant_ * slopes.at[l];
        const double newton =
            -gradient / std::max(curvature + constant_ * constant_ * curvatures.at[l], 1e-300);
        const double most = kMostShift / std::abs(constant_);
        const double step = std::clamp(newton, -most, most);
        leaves[l].shift += step;
        steps.at[l] = static_cast<float>(constant_ * step);
      }
      shift_by(steps);
      for (std::size_t l = 0; l < count; ++l) {
        const double value = value_at(l);
        if (value < best[l].value) best[l] = {leaves[l].shift, value};
      }
    }
    Lanes back{};
    bool any = false;
    for (std::size_t l = 0; l < count; ++l) {
      const double step = best[l].shift - leaves[l].shift;
      if (step == 0) continue;
      any = true;
      leaves[l].shift = best[l].shift;
      back.at[l] = static_cast<float>(constant_ * step);
    }
    if (any) shift_by(back);
    return losses;
  }

  /// z of a leaf's intercept.
  double regulariser_slope(std::size_t t) {
    if (is_free()) return 0.0;
    const std::size_t j = X_.num_columns() - 1;
    return chunk(z_, j / kWidth)[t * kWidth + j % kWidth];
  }

  /// Each leaf's loss.
  LaneSums linearise_rows(std::size_t b, Scratch& scratch) const {
    const std::size_t count = std::min(positives_.size() - b * kLanes, kLanes);
    const auto positives = [&](std::size_t l) -> std::span<const std::uint32_t> {
      return positives_[b * kLanes + l];
    };
    const auto curvature = [](double score, double cost) {
      const double m = std::max(std::abs(score), 1e-3);
      return cost * std::tanh(0.5 * m) / (2 * m);
    };
    LaneSums losses = detail::linearise_block<LogisticLoss>(
        count, positives, costs_, curvature, scratch.scores, scratch.slopes, scratch.curvatures);
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
    return executor_.ordered_sum(num_blocks_, [&](std::size_t b, int worker) {
      if (!control_.proceed()) return 0.0;
      Scratch& scratch = scratch_[static_cast<std::size_t>(worker)];
      for (std::size_t c = 0; c < num_chunks_; ++c) {
        read_chunk(p_.data() + block_begin(c, b), scratch.system.direction.data() + c * kWidth);
      }
      unpack(curvatures_.data() + b * X_.num_rows() * kLanes, curvature_base_, scratch.curvatures);
      auto& product = scratch.system.product;
      std::fill(product.begin(), product.end(), Lanes{});
      const LaneSums sums = multiply_curvature(X_, scratch.curvatures, scratch.system);
      for (std::size_t c = 0; c < num_chunks_; ++c) {
        write_chunk(product.data() + c * kWidth, p_.data() + block_begin(c, b));
      }
      return std::accumulate(std::begin(sums.at), std::end(sums.at), 0.0);
    });
  }

  /// s = zeta of the direction; returns the directional derivative of P.
  double solve_direction(int& passes) {
    for (auto* part : {&s_, &zeta_, &p_}) std::fill(part->begin(), part->end(), BFloat16{});
    double residual = step(0.0F);
    const double first = residual;
    double slope = 0;
    float factor = 0;
    for (int k = 0; k < kMostProducts; ++k) {
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
    return over_chunks([&](std::size_t c, Scratch& scratch) {
      return kernel_.step(length, chunk(zeta_, c), chunk(p_, c), chunk(rho_, c), chunk(s_, c),
                          chunk(h_, c), scratch.label);
    });
  }

  LabelKernel::Products update_direction(float factor) {
    std::vector<LabelKernel::Products> parts(num_chunks_);
    executor_.for_each(num_chunks_, [&](std::size_t c, int worker) {
      parts[c] =
          kernel_.update_direction(factor, chunk(p_, c), chunk(rho_, c), chunk(zeta_, c),
                                   chunk(p_, c), scratch_[static_cast<std::size_t>(worker)].label);
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
    for (int k = 0; k < kMostHalvings && !is_cut_; ++k) {
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
    for (auto* part : {&rho_, &zeta_, &p_, &s_, &h_}) std::vector<BFloat16>().swap(*part);
    std::vector<Float8>().swap(curvatures_);
    const std::size_t num_nodes = problem_.num_nodes;
    WeightMatrix W =
        WeightMatrix::dense(problem_.X.num_columns(), static_cast<std::uint32_t>(num_nodes));
    const auto values = W.dense_values();
    executor_.for_each(num_chunks_, [&](std::size_t c, int worker) {
      std::vector<float> parts(num_nodes * kWidth, 0.0F);
      kernel_.node_parts(chunk(z_, c), parts, scratch_[static_cast<std::size_t>(worker)].label);
      for (std::size_t j = c * kWidth;
           j < std::min<std::size_t>((c + 1) * kWidth, X_.num_columns()); ++j) {
        float* row = values.data() + used_.original()[j] * num_nodes;
        for (std::size_t n = 0; n < num_nodes; ++n) row[n] = parts[n * kWidth + j % kWidth];
      }
    });
    std::vector<float>().swap(z_);
    for (std::size_t t = 0; t < positives_.size() && is_free() && X_.num_columns() > 0; ++t) {
      const std::size_t j = used_.original()[X_.num_columns() - 1];
      values[j * num_nodes + kernel_.targets()[t]] = static_cast<float>(intercepts_[t].value);
    }
    return std::move(W).compacted();
  }

  const JointNewtonOptions& options_;
  Shared problem_;
  Executor& executor_;
  RunControl& control_;
  ClosingTime closing_;
  std::atomic<bool> is_cut_ = false;
  UsedColumns used_;
  CsrView X_;
  LabelKernel kernel_;
  std::vector<std::vector<std::uint32_t>> positives_;  // by target
  std::size_t num_chunks_;
  std::size_t num_blocks_;
  double constant_ = 0;  // value of the last column, if the same in all rows
  /// Of the last column: how far each leaf's weight is moved in linearise(), and its u.
  struct Intercept {
    double shift = 0.0;
    double u = 0.0;
    // Of a free intercept: its value without w, in w's unit; whether the leaf's rows have one sign,
    // and the shift that keeps it then; and its dual variables.
    double value = 0.0;
    bool one_sided = false;
    double fixed_shift = 0.0;
    DualSides sides;
  };
  static constexpr PointLossKind kLogistic = PointLossKind::logistic;
  std::vector<float> norms_;  // without the free intercept
  std::vector<Intercept> intercepts_;
  std::vector<float> costs_;
  std::vector<float> z_;
  std::vector<BFloat16> rho_, zeta_, p_, s_, h_;
  double regulariser_ = 0;
  std::vector<Float8> curvatures_;  // D: block, row, lane
  std::int32_t curvature_base_ = 0;
  std::vector<Scratch> scratch_;
};

bool has_free_intercept(const AdditiveProblem& problem) { return problem.free_intercept; }
bool has_free_intercept(const SimilarityProblem&) { return false; }

/// K_l of each target, by node.
std::vector<double> path_sums(const AdditiveProblem& problem) {
  std::vector<double> sums(problem.graph->num_nodes(), 0.0);
  const auto ancestors = ancestor_sets(*problem.graph, problem.targets);
  for (const NodeId t : problem.targets) {
    for (const NodeId m : ancestors[t]) sums[t] += problem.alpha[m];
  }
  return sums;
}
std::vector<double> path_sums(const SimilarityProblem&) { return {}; }

template <class Problem>
RecursiveFit train(const Problem& problem, std::uint32_t num_nodes,
                   const JointNewtonOptions& options, Executor& executor, RunControl& control) {
  validate(options);
  check_sizes(problem, "joint_newton");
  const bool is_free = has_free_intercept(problem);
  return JointNewton({problem.X, *problem.labels, problem.row_weights, problem.partial, num_nodes,
                      is_free, is_free ? path_sums(problem) : std::vector<double>()},
                     node_precision(problem), options, executor, control)
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
