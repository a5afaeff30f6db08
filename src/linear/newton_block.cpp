// Squared hinge and logistic for up to sixteen labels. With f_i = v.x_i
//
//   primal    P(v) = 1/2 |v|^2 + sum_i C_i l(y_i f_i)
//   gradient  g = v - sum_i a_i y_i x_i,                a_i = -C_i l'(y_i f_i)
//   Hessian   H = I + sum_i C_i l''(y_i f_i) x_i x_i'
//
// a is feasible in the dual, and by Fenchel's equality l(m) + l*(-a) = -a m the gap at (v, a) is
// exactly 1/2 |g|^2, at no further cost. Directions solve H d = -g by conjugate gradients
// preconditioned by H's diagonal, or by a Cholesky factor; steps are halved until Armijo's
// condition holds. Nocedal and Wright (2006), algorithms 7.1 and 5.3. All labels share each pass
// over the rows.
//
// A free intercept c (free_intercept.hpp) has no part in P's regulariser, but 1 in H, which
// regularises its steps. a is then not quite feasible. The gap is 1/2 |g|^2
// without the intercept, plus what making a feasible costs.

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "data/csr_operations.hpp"
#include "linear/block_losses.hpp"
#include "linear/block_solvers.hpp"
#include "linear/free_intercept.hpp"

namespace margrove::detail {
namespace {

constexpr double kResidual = 0.05;  // of the systems, in the norm of H's inverse diagonal
constexpr int kMaxProducts = 50;    // per system
constexpr std::size_t kMaxFactorised = 400;
constexpr double kBlockArmijo = 1e-4;
constexpr double kLeastCurvature = 1e-8;  // of a free intercept
constexpr double kRounding = 2e-7;        // of the float32 scores, relative to the objective

template <class Loss>
class BlockNewton {
 public:
  BlockNewton(const BlockProblem& problem, std::span<const LaneInput> inputs, BlockScratch& scratch,
              RunControl& control, std::span<LaneOutput> outputs)
      : problem_(problem),
        inputs_(inputs),
        scratch_(scratch),
        control_(control),
        outputs_(outputs),
        num_columns_(problem.X.num_columns()),
        slopes_(problem.X.num_rows()),
        curvatures_(problem.X.num_rows()),
        new_scores_(problem.X.num_rows()),
        new_weights_(num_columns_),
        gradient_(num_columns_) {
    if (is_free()) norms_ = norms_without(problem.squared_norms, problem.free_intercept);
    for (const float cost : problem.costs) num_costly_rows_ += cost > 0;
    scratch_.scores.resize(problem.X.num_rows());
    for (auto* part : {&system_.direction, &system_.product, &system_.residual, &system_.solution,
                       &system_.diagonal}) {
      part->assign(num_columns_, Lanes{});
    }
  }

  void run() {
    if (problem_.constant_column != 0) start_at_base_rates();
    if (is_free()) set_one_sided();
    score_rows(problem_.X, problem_.tail, scratch_.weights, scratch_.scores);
    primal_ =
        linearise(regularised(squared_norms(scratch_.weights), scratch_.weights), scratch_.scores);
    for (std::size_t l = 0; l < inputs_.size(); ++l) {
      if (done_[l]) outputs_[l].fit = {.primal = primal_[l], .dual = 0.0, .passes = 1};
    }
    lowered_.fill(true);
    for (;;) {
      compute_gradient();
      if (certify()) break;
      const int products = factorises() ? factorise_and_solve() : solve_directions();
      for (std::size_t l = 0; l < inputs_.size(); ++l) {
        if (!done_[l]) outputs_[l].fit.passes += products;
      }
      line_search();
    }
    if (problem_.drops_small_weights) drop_small_weights();
    store_weights();
    if constexpr (std::is_same_v<Loss, SquaredHingeLoss>) store_duals();
  }

 private:
  using Sums = std::array<double, kLanes>;

  bool is_free() const { return problem_.free_intercept != 0; }

  /// Without the free intercept.
  LaneSums regularised(LaneSums squares, const std::vector<Lanes>& weights) const {
    for (std::size_t l = 0; l < kLanes && is_free(); ++l) {
      squares.at[l] -= double{weights.back().at[l]} * weights.back().at[l];
    }
    return squares;
  }

  /// Labels that no row or all rows carry are done: their free intercept takes the loss to zero.
  void set_one_sided() {
    for (std::size_t l = 0; l < inputs_.size(); ++l) {
      double own = 0;
      std::size_t count = 0;
      for (const std::uint32_t i : inputs_[l].positives) {
        own += problem_.costs[i];
        count += problem_.costs[i] > 0;
      }
      const bool has_others = count < num_costly_rows_;
      if (own > 0 && has_others) continue;
      done_[l] = true;
      for (Lanes& w : scratch_.weights) w.at[l] = 0.0F;
      const double score = (own > 0 ? -1 : 1) * one_sided_score(problem_.loss);
      scratch_.weights.back().at[l] = static_cast<float>(score / problem_.free_intercept);
    }
  }

  /// Starts from the best constant score without regularisation, as the intercept, where most rows
  /// of logistic problems have little curvature.
  void start_at_base_rates() {
    if constexpr (std::is_same_v<Loss, LogisticLoss>) {
      for (std::size_t l = 0; l < inputs_.size(); ++l) {
        double own = 0;
        for (const std::uint32_t i : inputs_[l].positives) own += problem_.costs[i];
        const double odds = (own + 0.5) / (std::max(0.0, problem_.total_cost - own) + 0.5);
        scratch_.weights.back().at[l] =
            static_cast<float>(std::log(odds) / problem_.constant_column);
      }
    }
  }

  /// Slopes and curvatures at the scores; returns the objectives.
  Sums linearise(const LaneSums& squared_weights, std::vector<Lanes>& scores) {
    losses_ = linearise_block<Loss>(
        inputs_.size(), [&](std::size_t l) { return inputs_[l].positives; }, problem_.costs,
        [](double score, double cost) { return cost * Loss::curvature(score); }, scores, slopes_,
        curvatures_);
    Sums objectives{};
    for (std::size_t l = 0; l < kLanes; ++l) {
      objectives[l] = 0.5 * squared_weights.at[l] + losses_.at[l];
    }
    return objectives;
  }

  void compute_gradient() {
    std::fill(gradient_.begin(), gradient_.end(), WideLanes{});
    Lanes ones;
    std::fill_n(ones.at, kLanes, 1.0F);
    std::fill(system_.diagonal.begin(), system_.diagonal.end(), ones);
    add_gradient(problem_.X, problem_.tail, slopes_, curvatures_, gradient_, system_.diagonal);
    const LaneSums squared_gradient = add_weights(scratch_.weights, gradient_);
    for (std::size_t l = 0; l < kLanes; ++l) gaps_[l] = 0.5 * squared_gradient.at[l];
    if (is_free()) correct_for_intercept();
  }

  /// The intercept's part of the gradient and of the gap.
  void correct_for_intercept() {
    std::array<DualSides, kLanes> sides;
    find_sides<Loss>([&](std::size_t l) { return inputs_[l].positives; }, problem_.costs, norms_,
                     losses_, scratch_.scores, slopes_, std::span(sides).first(inputs_.size()));
    for (std::size_t l = 0; l < inputs_.size(); ++l) {
      double& g = gradient_.back().at[l];
      gaps_[l] = std::max(0.0, gaps_[l] - 0.5 * g * g);
      g -= scratch_.weights.back().at[l];
      Balancing balancing;
      balancing.add(sides[l]);
      gaps_[l] += balancing.gap(std::sqrt(2 * gaps_[l]));
    }
  }

  /// Writes the certificates; true when no label is left to improve.
  bool certify() {
    const bool proceed = control_.proceed();
    bool all = true;
    for (std::size_t l = 0; l < inputs_.size(); ++l) {
      if (done_[l]) continue;
      BinaryFit& fit = outputs_[l].fit;
      ++fit.passes;
      fit.primal = primal_[l];
      fit.dual = primal_[l] - gaps_[l];
      // Rounding limits further progress when neither the objective nor the gradient shrinks.
      stuck_[l] |= !lowered_[l] && gaps_[l] > 0.5 * last_gaps_[l];
      last_gaps_[l] = gaps_[l];
      done_[l] = stuck_[l] || gaps_[l] <= problem_.tolerance * primal_[l];
      if (!done_[l] && (!proceed || fit.passes >= problem_.max_passes)) {
        done_[l] = true;
        fit.stop = proceed ? Stop::pass_limit : control_.stop_reason();
      }
      all &= done_[l];
    }
    return all;
  }

  /// With few columns, all of them full, and few rows of positive curvature, building H takes less
  /// time than products with it.
  bool factorises() const {
    return std::is_same_v<Loss, SquaredHingeLoss> && num_columns_ <= kMaxFactorised &&
           problem_.X.values().size() == problem_.X.num_rows() * num_columns_;
  }

  /// system_.solution = -H^-1 g for the labels that are not done, zero for the others.
  int factorise_and_solve() {
    std::fill(system_.solution.begin(), system_.solution.end(), Lanes{});
    const auto d = static_cast<Eigen::Index>(num_columns_);
    std::vector<std::uint32_t> rows;
    std::vector<float> weights;
    std::vector<float> H(num_columns_ * num_columns_);
    Eigen::VectorXd g(d);
    for (std::size_t l = 0; l < inputs_.size(); ++l) {
      if (done_[l]) continue;
      rows.clear();
      weights.clear();
      for (std::uint32_t i = 0; i < curvatures_.size(); ++i) {
        if (curvatures_[i].at[l] == 0.0F) continue;
        rows.push_back(i);
        weights.push_back(curvatures_[i].at[l]);
      }
      std::fill(H.begin(), H.end(), 0.0F);
      add_outer_products(problem_.X.values(), num_columns_, rows, weights, H);
      // H is row-major.
      Eigen::MatrixXd hessian =
          Eigen::Map<const Eigen::MatrixXf>(H.data(), d, d).transpose().template cast<double>();
      hessian.diagonal().array() += 1.0;
      if (is_free()) hessian(d - 1, d - 1) -= 1.0 - kLeastCurvature;
      for (std::size_t j = 0; j < num_columns_; ++j) g[j] = gradient_[j].at[l];
      const Eigen::VectorXd step = hessian.llt().solve(-g);
      if (!step.allFinite()) {
        stuck_[l] = true;
        continue;
      }
      for (std::size_t j = 0; j < num_columns_; ++j) {
        system_.solution[j].at[l] = static_cast<float>(step[j]);
      }
    }
    return 1;
  }

  /// system_.solution ~ -H^-1 g for the labels that are not done, zero for the others.
  int solve_directions() {
    Lanes mask{};
    for (std::size_t l = 0; l < inputs_.size(); ++l) mask.at[l] = done_[l] ? 0.0F : 1.0F;
    for (std::size_t j = 0; j < num_columns_; ++j) {
      system_.solution[j] = system_.direction[j] = Lanes{};
      for (std::size_t l = 0; l < kLanes; ++l) {
        system_.residual[j].at[l] = -mask.at[l] * static_cast<float>(gradient_[j].at[l]);
      }
    }
    Sums first{};
    LaneSums squared_direction = update_direction(Lanes{}, system_);
    LaneSums rz = step_along(Lanes{}, system_);
    for (std::size_t l = 0; l < kLanes; ++l) first[l] = rz.at[l];
    int products = 0;
    for (; products < kMaxProducts; ++products) {
      const auto open = [&](std::size_t l) {
        return rz.at[l] > kResidual * kResidual * first[l] && rz.at[l] > 0;
      };
      bool any = false;
      for (std::size_t l = 0; l < kLanes; ++l) any |= open(l);
      if (!any) break;
      const LaneSums curved =
          multiply_curvature(problem_.X, problem_.tail, curvatures_, {}, system_);
      Lanes lengths{};
      for (std::size_t l = 0; l < kLanes; ++l) {
        if (!open(l)) continue;
        lengths.at[l] = static_cast<float>(rz.at[l] / (squared_direction.at[l] + curved.at[l]));
      }
      const LaneSums rz_next = step_along(lengths, system_);
      Lanes factors{};
      for (std::size_t l = 0; l < kLanes; ++l) {
        if (lengths.at[l] == 0.0F) continue;
        factors.at[l] = static_cast<float>(rz_next.at[l] / rz.at[l]);
        rz.at[l] = rz_next.at[l];
      }
      squared_direction = update_direction(factors, system_);
    }
    return products;
  }

  void line_search() {
    const LaneSums slope = slope_along(gradient_, system_);
    Lanes lengths;
    std::fill_n(lengths.at, kLanes, 1.0F);
    for (int halvings = 0;; ++halvings) {
      const LaneSums squared_weights = move_along(scratch_.weights, lengths, system_, new_weights_);
      score_rows(problem_.X, problem_.tail, new_weights_, new_scores_);
      const Sums objectives = linearise(regularised(squared_weights, new_weights_), new_scores_);
      bool accepted = true;
      for (std::size_t l = 0; l < inputs_.size(); ++l) {
        if (done_[l] || stuck_[l]) continue;
        const double bound =
            primal_[l] * (1 + kRounding) + kBlockArmijo * lengths.at[l] * slope.at[l];
        if (objectives[l] <= bound) continue;
        accepted = false;
        lengths.at[l] = halvings < 25 ? 0.5F * lengths.at[l] : 0.0F;
        stuck_[l] = halvings >= 25;
      }
      if (accepted) {
        for (std::size_t l = 0; l < inputs_.size(); ++l) lowered_[l] = objectives[l] < primal_[l];
        primal_ = objectives;
        break;
      }
    }
    std::swap(scratch_.weights, new_weights_);
    std::swap(scratch_.scores, new_scores_);
  }

  /// Takes the smallest weights to zero where the gap stays within the tolerance. Without those of
  /// a set S, the objective rises by about 1/2 |w_S|^2 and by what the rows feel of it, which only
  /// the new objective shows: a label for which it has risen too far tries half as much.
  void drop_small_weights() {
    constexpr int kMaxTrials = 4;
    Sums room{}, most{};
    for (std::size_t l = 0; l < inputs_.size(); ++l) {
      if (outputs_[l].fit.stop != Stop::converged) continue;
      most[l] = std::max(0.0, problem_.tolerance * primal_[l] - gaps_[l]);
      room[l] = 0.5 * most[l];
    }
    for (int trial = 0; trial < kMaxTrials; ++trial) {
      new_weights_ = scratch_.weights;
      for (std::size_t l = 0; l < inputs_.size(); ++l) {
        if (room[l] <= 0) continue;
        const float least = least_weight_kept(l, room[l]);
        for (std::size_t j = 0; j + 1 < num_columns_; ++j) {
          if (std::abs(new_weights_[j].at[l]) < least) new_weights_[j].at[l] = 0.0F;
        }
      }
      score_rows(problem_.X, problem_.tail, new_weights_, new_scores_);
      const Sums objectives =
          linearise(regularised(squared_norms(new_weights_), new_weights_), new_scores_);
      for (std::size_t l = 0; l < inputs_.size(); ++l) {
        if (room[l] <= 0) continue;
        if (!(objectives[l] <= primal_[l] + most[l])) {
          room[l] *= 0.5;
          continue;
        }
        for (std::size_t j = 0; j < num_columns_; ++j) {
          scratch_.weights[j].at[l] = new_weights_[j].at[l];
        }
        outputs_[l].fit.primal = objectives[l];
        room[l] = 0;
      }
      if (std::ranges::all_of(room, [](double each) { return each <= 0; })) return;
    }
  }

  /// All weights of the label but the last, the intercept's, whose absolute values are less than
  /// this have half a squared norm of at most `room`.
  float least_weight_kept(std::size_t l, double room) const {
    constexpr int kBits = 16;  // of a value that are left out, so that few sums are enough
    std::vector<double> squares(std::size_t{1} << (32 - 1 - kBits), 0.0);
    for (std::size_t j = 0; j + 1 < num_columns_; ++j) {
      const float w = std::abs(scratch_.weights[j].at[l]);
      squares[std::bit_cast<std::uint32_t>(w) >> kBits] += 0.5 * w * w;
    }
    std::uint32_t bin = 0;
    for (; bin < squares.size() && squares[bin] <= room; ++bin) room -= squares[bin];
    return std::bit_cast<float>(bin << kBits);
  }

  void store_weights() {
    std::array<std::size_t, kLanes> size{};
    for (const Lanes& w : scratch_.weights) {
      for (std::size_t l = 0; l < kLanes; ++l) size[l] += w.at[l] != 0.0F;
    }
    for (std::size_t l = 0; l < inputs_.size(); ++l) {
      outputs_[l].weights.features.reserve(size[l]);
      outputs_[l].weights.values.reserve(size[l]);
    }
    for (FeatureId j = 0; j < num_columns_; ++j) {
      for (std::size_t l = 0; l < inputs_.size(); ++l) {
        const float w = scratch_.weights[j].at[l];
        if (w == 0.0F) continue;
        outputs_[l].weights.features.push_back(j);
        outputs_[l].weights.values.push_back(w);
      }
    }
  }

  /// a_i = -C_i l'(y_i f_i), which the certificate is of.
  void store_duals() {
    for (std::uint32_t i = 0; i < slopes_.size(); ++i) {
      for (std::size_t l = 0; l < inputs_.size(); ++l) {
        const float a = std::abs(slopes_[i].at[l]);
        if (a == 0.0F) continue;
        outputs_[l].duals.rows.push_back(i);
        outputs_[l].duals.values.push_back(a);
      }
    }
  }

  const BlockProblem& problem_;
  std::span<const LaneInput> inputs_;
  BlockScratch& scratch_;
  RunControl& control_;
  std::span<LaneOutput> outputs_;
  std::size_t num_columns_;
  std::vector<float> norms_;  // if the intercept is free
  std::size_t num_costly_rows_ = 0;
  LaneSums losses_;
  std::vector<Lanes> slopes_;
  std::vector<Lanes> curvatures_;
  std::vector<Lanes> new_scores_;
  std::vector<Lanes> new_weights_;
  std::vector<WideLanes> gradient_;
  BatchedNewtonSystem system_;
  Sums primal_{};
  Sums gaps_{};
  std::array<bool, kLanes> done_{};
  std::array<bool, kLanes> stuck_{};
  std::array<bool, kLanes> lowered_{};
  Sums last_gaps_{};
};

}  // namespace

void solve_newton(const BlockProblem& problem, std::span<const LaneInput> inputs,
                  BlockScratch& scratch, RunControl& control, std::span<LaneOutput> outputs) {
  if (problem.loss == PointLossKind::logistic) {
    BlockNewton<LogisticLoss>(problem, inputs, scratch, control, outputs).run();
  } else {
    BlockNewton<SquaredHingeLoss>(problem, inputs, scratch, control, outputs).run();
  }
}

}  // namespace margrove::detail
