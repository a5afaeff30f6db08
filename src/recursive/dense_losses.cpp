#include "recursive/dense_losses.hpp"

#include <algorithm>
#include <utility>

#include "data/csr_operations.hpp"
#include "linear/block_losses.hpp"
#include "linear/point_loss.hpp"
#include "linear/row_costs.hpp"
#include "linear/smoothed_hinge.hpp"
#include "linear/used_columns.hpp"
#include "recursive/leaf_paths.hpp"

namespace margrove::detail {
namespace {

constexpr float kFirstWidth = 2.0F;
constexpr float kShrink = 0.3F;
constexpr float kLeastCurvature = 1e-3F;  // of a row's cost, to count in a Hessian

}  // namespace

DenseLossSums& DenseLossSums::operator+=(const DenseLossSums& other) {
  smooth += other.smooth;
  exact += other.exact;
  smoothing += other.smoothing;
  slope += other.slope;
  return *this;
}

DenseLosses::DenseLosses(const AdditiveProblem& problem, const JointDualOptions& options,
                         Executor& executor)
    : problem_(problem),
      hinge_(options.loss == PointLossKind::hinge),
      executor_(executor),
      X_(problem.X),
      costs_(row_costs(options.C, problem.row_weights, X_.num_rows())),
      blocks_((problem.targets.size() + kLanes - 1) / kLanes),
      positives_(problem.targets.size()),
      width_(kFirstWidth) {
  if (problem.free_intercept) {
    constant_ = free_intercept_column(X_, "joint_dual");
    norms_ = norms_without(squared_norms(X_), constant_);
    sides_.resize(problem.targets.size());
  }
  for (Block& block : blocks_) {
    for (auto* rows : {&block.scores, &block.moves, &block.slopes, &block.curvatures}) {
      rows->assign(X_.num_rows(), Lanes{});
    }
  }
  const auto rows =
      rows_of_targets(*problem.labels, problem.targets, problem.graph->num_nodes(), "joint_dual");
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const auto hide = [&](std::uint32_t i) {
      blocks_[t / kLanes].scores[i].at[t % kLanes] = kNoLossScore;
    };
    for (const std::uint32_t i : rows[t]) {
      positives_[t].push_back({i, 0.0F, 0.0F, 0.0F, 0.0F});
      hide(i);
    }
    problem_.partial->for_each_without_sign(problem_.targets[t], hide);
  }
}

void DenseLosses::shrink() { width_ *= kShrink; }

std::size_t DenseLosses::lanes_of(std::size_t b) const {
  return std::min(kLanes, positives_.size() - b * kLanes);
}

DenseLossSums DenseLosses::linearise(float length) {
  std::vector<DenseLossSums> values(blocks_.size());
  executor_.for_each(blocks_.size(),
                     [&](std::size_t b, int) { values[b] = linearise_block(b, length); });
  DenseLossSums sum;
  for (const DenseLossSums& value : values) sum += value;
  return sum;
}

DenseLossSums DenseLosses::linearise_block(std::size_t b, float length) {
  Block& block = blocks_[b];
  const std::size_t n = X_.num_rows();
  std::vector<Lanes> places(n);
  move_scores(block.scores, block.moves, length, places);
  DenseLossSums values;
  if (hinge_) {
    const HingeSums sums = smoothed_hinge(places, costs_, width_, block.slopes, block.curvatures);
    values = {sums.smooth, sums.exact, sums.smoothing, 0};
  } else {
    const LaneSums losses = linearise_squared_hinge(places, costs_, block.slopes, block.curvatures);
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
  if (constant_ != 0) find_sides(b, places, length);
  return values;
}

void DenseLosses::clear_lane(Block& block, std::size_t l, DenseLossSums& values) const {
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

void DenseLosses::add_positive(Positive& positive, float length, DenseLossSums& values) const {
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

void DenseLosses::find_sides(std::size_t b, const std::vector<Lanes>& places, float length) {
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

void DenseLosses::add_combinations(
    const std::function<Eigen::VectorXd&(std::size_t t)>& vector) const {
  executor_.for_each(blocks_.size(), [&](std::size_t b, int) {
    std::vector<WideLanes> gradient(X_.num_columns(), WideLanes{});
    std::vector<Lanes> diagonal(X_.num_columns(), Lanes{});
    add_gradient(X_, X_.num_columns(), blocks_[b].slopes, blocks_[b].curvatures, gradient,
                 diagonal);
    for (std::size_t l = 0; l < lanes_of(b); ++l) {
      const std::size_t t = b * kLanes + l;
      Eigen::VectorXd& sum = vector(t);
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        sum[static_cast<Eigen::Index>(j)] -= gradient[j].at[l];
      }
      for (const Positive& positive : positives_[t]) {
        sum -= double{positive.slope} * row(positive.row);
      }
    }
  });
}

Eigen::VectorXd DenseLosses::row(std::uint32_t i) const {
  const auto d = static_cast<Eigen::Index>(X_.num_columns());
  return Eigen::Map<const Eigen::VectorXf>(X_.row(i).values.data(), d).cast<double>();
}

Eigen::MatrixXd DenseLosses::hessian(std::size_t t) const {
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
  const auto size = static_cast<Eigen::Index>(d);
  const Eigen::Map<const Eigen::MatrixXf> upper(H.data(), size, size);
  Eigen::MatrixXd full = upper.cast<double>().triangularView<Eigen::Upper>();
  full.triangularView<Eigen::StrictlyLower>() = full.transpose();
  return full;
}

void DenseLosses::set_moves(const std::function<const Eigen::VectorXd&(std::size_t t)>& direction) {
  executor_.for_each(blocks_.size(), [&](std::size_t b, int) {
    std::vector<Lanes> weights(X_.num_columns(), Lanes{});
    for (std::size_t l = 0; l < lanes_of(b); ++l) {
      const Eigen::VectorXd& weight = direction(b * kLanes + l);
      for (std::size_t j = 0; j < weights.size(); ++j) {
        weights[j].at[l] = static_cast<float>(weight[static_cast<Eigen::Index>(j)]);
      }
    }
    score_rows(X_, X_.num_columns(), weights, blocks_[b].moves);
    for (std::size_t l = 0; l < lanes_of(b); ++l) {
      for (Positive& positive : positives_[b * kLanes + l]) {
        positive.move = std::exchange(blocks_[b].moves[positive.row].at[l], 0.0F);
      }
      problem_.partial->for_each_without_sign(
          problem_.targets[b * kLanes + l],
          [&](std::uint32_t i) { blocks_[b].moves[i].at[l] = 0.0F; });
    }
  });
}

void DenseLosses::move(float length) {
  executor_.for_each(blocks_.size(), [&](std::size_t b, int) {
    Block& block = blocks_[b];
    move_scores(block.scores, block.moves, length, block.scores);
    for (std::size_t l = 0; l < lanes_of(b); ++l) {
      for (Positive& positive : positives_[b * kLanes + l]) {
        positive.score += length * positive.move;
      }
    }
  });
}

}  // namespace margrove::detail
