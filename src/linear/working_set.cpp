// Hinge and squared hinge for up to sixteen labels. Each label is solved on a working set (its own
// rows and the negatives with loss) by dual coordinate descent. Then one pass scores all rows for
// all labels, which gives the exact primal value and the violated rows of each label.
//
// With the intercept near -1, nearly all negatives have no loss and never enter a working set. The
// cost of a label is then that of its hard rows and a sixteenth of a few passes. The dual variables
// outside the working set are zero, which is feasible, so that primal - dual bounds the error on
// all rows.
//
// A free intercept (free_intercept.hpp) is a shift of all scores, which the scoring of all rows
// sets to its best value. During descent the intercept's column moves it, regularised around that
// value; afterwards the dual variables are made feasible, which removes the column's part.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "base/random.hpp"
#include "linear/block_solvers.hpp"
#include "linear/dual_descent.hpp"
#include "linear/free_intercept.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kSmallestGrowth = 48;  // rows per round
constexpr std::size_t kSample = 1024;        // rows from which a quantile of the scores is read
constexpr double kFirstViolation = 0.3;
constexpr double kSharpening = 0.3;
constexpr double kSmallestViolation = 1e-13;

struct Lane {
  std::vector<DualRow> rows;  // the working set
  Random random{0};
  DualState inside;
  double intercept = 0.0;  // if it is free: part of all scores
  std::int64_t steps = 0;  // coordinates visited, and all rows for each scoring
  double violation_tolerance = kFirstViolation;
  bool done = false;
};

class WorkingSets {
 public:
  WorkingSets(const BlockProblem& problem, std::span<const LaneInput> inputs, BlockScratch& scratch,
              RunControl& control, std::span<LaneOutput> outputs)
      : problem_(problem),
        squared_(problem.loss == PointLossKind::squared_hinge),
        inputs_(inputs),
        scratch_(scratch),
        control_(control),
        outputs_(outputs),
        lanes_(inputs.size()),
        num_rows_(problem.X.num_rows()),
        pass_(std::max<std::int64_t>(1, static_cast<std::int64_t>(num_rows_))) {
    scratch_.weights.assign(problem.X.num_columns(), Lanes{});
    scratch_.scores.resize(num_rows_);
    scratch_.v.assign(problem.X.num_columns(), 0.0);
    scratch_.members.assign(num_rows_, 0);
  }

  void run() {
    bool warm = !scratch_.prior_scores.empty();
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      lanes_[l].random = Random(problem_.seed, inputs_[l].label);
      if (problem_.free_intercept != 0) lanes_[l].intercept = -1.0;
      begin_with_positives(l);
      warm |= inputs_[l].start_duals != nullptr;
    }
    if (!warm) begin_with_similar_negatives();
    while (!all_done()) {
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        if (!lanes_[l].done) solve_inside(l);
      }
      score_rows(problem_.X, scratch_.weights, scratch_.prior_scores, scratch_.scores);
      if (problem_.free_intercept != 0) shift_intercepts();
      certify();
      if (!all_done()) grow();
    }
    for (std::size_t l = 0; l < lanes_.size(); ++l) finish(l);
  }

 private:
  bool all_done() const {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.done; });
  }

  void add(std::size_t l, std::uint32_t row, float sign, double a) {
    const double cost = problem_.costs[row];
    const auto bit = static_cast<std::uint16_t>(1U << l);
    if (cost <= 0 || (scratch_.members[row] & bit) != 0) return;
    scratch_.members[row] = static_cast<std::uint16_t>(scratch_.members[row] | bit);
    const double prior = scratch_.prior_scores.empty() ? lanes_[l].intercept
                                                       : double{scratch_.prior_scores[row].at[l]};
    lanes_[l].rows.push_back({row, sign, cost, prior, a});
  }

  void begin_with_positives(std::size_t l) {
    std::vector<double> start(inputs_[l].positives.size(), 0.0);
    const LabelDuals* duals = inputs_[l].start_duals;
    const auto positives = inputs_[l].positives;
    if (duals != nullptr) {
      for (std::size_t k = 0; k < duals->rows.size(); ++k) {
        const auto at = std::lower_bound(positives.begin(), positives.end(), duals->rows[k]);
        if (at != positives.end() && *at == duals->rows[k]) {
          start[at - positives.begin()] = duals->values[k];
        } else {
          add(l, duals->rows[k], -1.0F, duals->values[k]);
        }
      }
    }
    for (std::size_t k = 0; k < positives.size(); ++k) add(l, positives[k], 1.0F, start[k]);
  }

  /// Starts with the rows nearest to the sum of a label's own rows, which are likely to have loss.
  void begin_with_similar_negatives() {
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      for (const std::uint32_t i : inputs_[l].positives) {
        const SparseRow x = problem_.X.row(i);
        for (std::size_t k = 0; k < x.size(); ++k) {
          scratch_.weights[x.columns[k]].at[l] += x.values[k];
        }
      }
    }
    score_rows(problem_.X, scratch_.weights, {}, scratch_.scores);
    grow_above(-std::numeric_limits<float>::infinity());
    std::fill(scratch_.weights.begin(), scratch_.weights.end(), Lanes{});
  }

  void solve_inside(std::size_t l) {
    Lane& lane = lanes_[l];
    DualDescent descent(problem_.X, problem_.squared_norms, squared_, scratch_.v);
    descent.start(lane.rows);
    // The limit counts steps, not passes over a small set, which would end training before the
    // other rows have been scored.
    const std::int64_t left = problem_.max_passes * pass_ - lane.steps;
    descent.descend(lane.violation_tolerance, std::max<std::int64_t>(1, left), lane.random,
                    control_);
    if (problem_.free_intercept != 0) {
      descent.clear();
      make_feasible(lane);
      descent.start(lane.rows);
    }
    lane.inside = descent.evaluate();
    lane.steps += descent.steps();
    for (const DualRow& row : lane.rows) {
      for (const FeatureId j : problem_.X.row(row.row).columns) {
        scratch_.weights[j].at[l] = static_cast<float>(scratch_.v[j]);
      }
    }
    descent.clear();
    if (problem_.free_intercept != 0) set_intercept(l);
  }

  /// sum_i a_i y_i = 0
  static void make_feasible(Lane& lane) {
    double own = 0, others = 0;
    for (const DualRow& row : lane.rows) (row.sign > 0 ? own : others) += row.a;
    for (DualRow& row : lane.rows) {
      if (row.sign > 0 && own > others) row.a *= others / own;
      if (row.sign < 0 && others > own) row.a *= own / others;
    }
  }

  void set_intercept(std::size_t l) {
    scratch_.weights.back().at[l] =
        static_cast<float>(lanes_[l].intercept / problem_.free_intercept);
  }

  /// Each label's intercept at its best value with the other weights fixed; shifts the scores.
  void shift_intercepts() {
    Lanes shifts{};
    std::vector<std::int8_t> positive(num_rows_, 0);
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      Lane& lane = lanes_[l];
      if (lane.done) continue;
      for (const std::uint32_t i : inputs_[l].positives) positive[i] = 1;
      scored_.clear();
      for (std::size_t i = 0; i < num_rows_; ++i) {
        if (problem_.costs[i] <= 0) continue;
        scored_.push_back({scratch_.scores[i].at[l], problem_.costs[i], positive[i] != 0});
      }
      for (const std::uint32_t i : inputs_[l].positives) positive[i] = 0;
      if (scored_.empty()) continue;
      const double shift = best_shift(problem_.loss, scored_);
      shifts.at[l] = static_cast<float>(shift);
      lane.intercept += shift;
      set_intercept(l);
      lane.inside.primal = lane.inside.half_norm;
      for (DualRow& row : lane.rows) {
        row.prior_score += shift;
        const double score = scratch_.scores[row.row].at[l] + shift;
        lane.inside.primal += row.cost * value(row.sign * score);
      }
    }
    add_to_all(shifts, scratch_.scores);
  }

  /// Primal values over all rows from the scores, and which labels are done.
  void certify() {
    Lanes thresholds;
    for (std::size_t l = 0; l < kLanes; ++l) {
      const bool open = l < lanes_.size() && !lanes_[l].done;
      thresholds.at[l] = open ? -1.0F : std::numeric_limits<float>::infinity();
    }
    rows_above(scratch_.scores, thresholds, scratch_.rows);
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (lanes_[l].done) continue;
      certify(l, loss_outside(l));
    }
  }

  void certify(std::size_t l, double loss_outside) {
    Lane& lane = lanes_[l];
    BinaryFit& fit = outputs_[l].fit;
    lane.steps += pass_;
    fit.passes = static_cast<int>((lane.steps + pass_ - 1) / pass_);
    fit.primal = lane.inside.primal + loss_outside;
    fit.dual = lane.inside.dual;
    const double gap = fit.primal - fit.dual;
    // At the smallest tolerance the coordinates no longer move, because of rounding.
    const bool stuck = lane.violation_tolerance < kSmallestViolation;
    lane.done = stuck || gap <= problem_.tolerance * fit.primal;
    if (lane.done) return;
    const double gap_inside = lane.inside.primal - lane.inside.dual;
    if (gap_inside > 0.3 * gap) lane.violation_tolerance *= kSharpening;
    if (fit.passes >= problem_.max_passes || !control_.proceed()) {
      lane.done = true;
      fit.stop =
          control_.stop_reason() != Stop::converged ? control_.stop_reason() : Stop::pass_limit;
    }
  }

  /// Over the rows found by rows_above() that are not in the working set; all are negatives.
  double loss_outside(std::size_t l) const {
    double loss = 0;
    for (const std::uint32_t i : scratch_.rows) {
      if ((scratch_.members[i] >> l & 1U) != 0) continue;
      loss += problem_.costs[i] * value(-double{scratch_.scores[i].at[l]});
    }
    return loss;
  }
  double value(double margin) const {
    return squared_ ? SquaredHingeLoss::value(margin) : HingeLoss::value(margin);
  }

  void grow() { grow_above(-1.0F); }

  /// Adds to each label's working set the rows with the largest scores above `lowest`.
  void grow_above(float lowest) {
    Lanes thresholds;
    std::array<std::size_t, kLanes> growth{};
    for (std::size_t l = 0; l < kLanes; ++l) {
      thresholds.at[l] = std::numeric_limits<float>::infinity();
      if (l >= lanes_.size() || lanes_[l].done) continue;
      growth[l] = std::max(kSmallestGrowth, lanes_[l].rows.size());
      thresholds.at[l] = std::max(lowest, score_exceeded_by(growth[l] + lanes_[l].rows.size(), l));
    }
    rows_above(scratch_.scores, thresholds, scratch_.rows);
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (lanes_[l].done) continue;
      add_highest(l, growth[l], thresholds.at[l]);
    }
  }

  /// About the score that `count` rows exceed, read from evenly spaced rows.
  float score_exceeded_by(std::size_t count, std::size_t l) {
    if (num_rows_ <= kSample || 2 * count >= num_rows_) {
      return -std::numeric_limits<float>::infinity();
    }
    sample_.clear();
    const std::size_t stride = num_rows_ / kSample;
    for (std::size_t i = stride / 2; i < num_rows_; i += stride) {
      sample_.push_back(scratch_.scores[i].at[l]);
    }
    const std::size_t rank = std::min(sample_.size() - 1, 4 + 2 * count / stride);
    std::nth_element(sample_.begin(), sample_.begin() + rank, sample_.end(), std::greater<>());
    // Rows without any feature of the label have equal scores; such rows count as above.
    return std::nextafter(sample_[rank], -std::numeric_limits<float>::infinity());
  }

  void add_highest(std::size_t l, std::size_t count, float threshold) {
    const auto bit = static_cast<std::uint16_t>(1U << l);
    candidates_.clear();
    for (const std::uint32_t i : scratch_.rows) {
      const float f = scratch_.scores[i].at[l];
      if (f > threshold && (scratch_.members[i] & bit) == 0) candidates_.push_back({f, i});
    }
    if (candidates_.size() > count) {
      std::nth_element(candidates_.begin(), candidates_.begin() + count, candidates_.end(),
                       [](const auto& a, const auto& b) {
                         return a.score != b.score ? a.score > b.score : a.row < b.row;
                       });
      candidates_.resize(count);
    }
    for (const auto& candidate : candidates_) add(l, candidate.row, -1.0F, 0.0);
  }

  void finish(std::size_t l) {
    LaneOutput& output = outputs_[l];
    Lane& lane = lanes_[l];
    std::sort(lane.rows.begin(), lane.rows.end(),
              [](const DualRow& a, const DualRow& b) { return a.row < b.row; });
    std::vector<FeatureId>& features = output.weights.features;
    for (const DualRow& row : lane.rows) {
      if (row.a <= 0) continue;
      output.duals.rows.push_back(row.row);
      output.duals.values.push_back(row.a);
      const auto columns = problem_.X.row(row.row).columns;
      features.insert(features.end(), columns.begin(), columns.end());
    }
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
    if (problem_.free_intercept != 0 &&
        (features.empty() || features.back() + 1 != problem_.X.num_columns())) {
      features.push_back(problem_.X.num_columns() - 1);
    }
    std::erase_if(features, [&](FeatureId j) { return scratch_.weights[j].at[l] == 0.0F; });
    for (const FeatureId j : features) {
      output.weights.values.push_back(scratch_.weights[j].at[l]);
    }
  }

  struct Candidate {
    float score;
    std::uint32_t row;
  };

  const BlockProblem& problem_;
  bool squared_;
  std::span<const LaneInput> inputs_;
  BlockScratch& scratch_;
  RunControl& control_;
  std::span<LaneOutput> outputs_;
  std::vector<Lane> lanes_;
  std::size_t num_rows_;
  std::int64_t pass_;  // steps of a pass over all rows
  std::vector<float> sample_;
  std::vector<ScoredRow> scored_;
  std::vector<Candidate> candidates_;
};

}  // namespace

void solve_working_sets(const BlockProblem& problem, std::span<const LaneInput> inputs,
                        BlockScratch& scratch, RunControl& control, std::span<LaneOutput> outputs) {
  WorkingSets(problem, inputs, scratch, control, outputs).run();
}

}  // namespace margrove::detail
