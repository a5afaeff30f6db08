// Hinge and squared hinge for up to sixteen labels. Each label is solved on a working set (its own
// rows and negatives with loss) by dual coordinate descent. Working sets grow from candidate rows
// that the labels share: at first the rows most similar to those of a label, later also rows with
// loss. When all labels have converged on the candidates, one pass scores all rows for all labels,
// which gives the exact primal values and the candidates that are missing.
//
// With the intercept below -1, nearly all negatives have no loss and are never candidates. The cost
// of a label is then that of its hard rows and a sixteenth of a few passes. The dual variables
// outside the working set are zero, which is feasible, so that primal - dual bounds the error on
// all rows.
//
// A free intercept (free_intercept.hpp) is a shift of all scores, which the scoring of all rows
// sets to its best value; there are no candidates then. During descent the intercept's column moves
// it, regularised around that value; afterwards the dual variables are made feasible, which removes
// the column's part.

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "base/random.hpp"
#include "linear/block_solvers.hpp"
#include "linear/dual_descent.hpp"
#include "linear/free_intercept.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kSmallestGrowth = 48;    // rows per round
constexpr std::size_t kSample = 4096;          // rows from which quantiles of scores are read
constexpr std::size_t kMinCandidates = 1000;   // per label,
constexpr std::size_t kCandidatesPerRow = 32;  // and per row of the label, if that is more
constexpr double kMaxCandidates = 0.4;         // of all rows; more save nothing
constexpr double kCandidateTolerance = 0.5;    // of the tolerance: for gaps on the candidates
constexpr double kFarLoss = 4;  // of the tolerance: loss outside that ends no training
constexpr double kFirstViolation = 0.3;
constexpr double kTightening = 0.3;
constexpr double kSmallestViolation = 1e-13;

struct Candidate {
  float score;
  std::uint32_t row;
};

struct Lane {
  std::vector<DualRow> rows;     // the working set
  std::vector<Candidate> above;  // other rows that the last scoring found above its threshold
  Random random{0};
  DualState inside;
  double intercept = 0.0;  // if it is free: part of all scores
  std::int64_t steps = 0;  // coordinates visited and rows scored
  double violation_tolerance = kFirstViolation;
  bool converged = false;  // on the candidates, or nothing moves
  bool is_exact = false;   // the last scoring of all rows has found all rows with loss
  bool done = false;
};

Lanes all_lanes(float value) {
  Lanes lanes;
  std::fill_n(lanes.at, kLanes, value);
  return lanes;
}
constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr float kHighest = std::numeric_limits<float>::infinity();

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
    scratch_.members.assign(num_rows_, 0);
    for (std::uint32_t i = 0; i < num_rows_; ++i) {
      if (problem.costs[i] > 0) costly_.push_back(i);
    }
    const std::size_t stride = std::max<std::size_t>(1, costly_.size() / kSample);
    for (std::size_t k = stride / 2; k < costly_.size(); k += stride) {
      sample_.push_back(costly_[k]);
    }
  }

  void run() {
    bool warm = false;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      lanes_[l].random = Random(problem_.seed, inputs_[l].label);
      if (problem_.free_intercept != 0) lanes_[l].intercept = -1.0;
      begin_with_positives(l);
      warm |= inputs_[l].start_duals != nullptr;
    }
    if (!warm) begin_with_similar_negatives();
    while (!all_done()) {
      solve_on_candidates();
      score_all();
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        if (!lanes_[l].done) certify(l);
      }
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        if (!lanes_[l].done) grow(l);
      }
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
    lanes_[l].rows.push_back({row, sign, cost, lanes_[l].intercept, a});
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
    score_sample();
    Lanes thresholds = all_lanes(kHighest);
    for (std::size_t l = 0; l < lanes_.size(); ++l) thresholds.at[l] = candidate_threshold(l);
    score(costly_, thresholds);
    add_candidates();
    for (std::size_t l = 0; l < lanes_.size(); ++l) grow(l);
    std::fill(scratch_.weights.begin(), scratch_.weights.end(), Lanes{});
  }

  /// Solves the labels and lets their working sets grow from the candidates until all have
  /// converged on these. Without candidates they are solved once.
  void solve_on_candidates() {
    for (Lane& lane : lanes_) lane.converged = lane.done;
    while (true) {
      Lanes thresholds = all_lanes(kHighest);
      bool all_converged = true;
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        if (lanes_[l].converged) continue;
        solve_inside(l);
        thresholds.at[l] = -1.0F;
        all_converged = false;
      }
      if (all_converged || candidates_.empty() || !control_.proceed()) return;
      score(candidates_, thresholds);
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        if (!lanes_[l].converged) grow_unless_converged(l);
      }
    }
  }

  void grow_unless_converged(std::size_t l) {
    Lane& lane = lanes_[l];
    lane.steps += std::ssize(candidates_);
    const double primal = lane.inside.primal + loss_outside(lane);
    const double gap = primal - lane.inside.dual;
    lane.converged = gap <= kCandidateTolerance * problem_.tolerance * primal || is_stuck(lane) ||
                     passes(lane) >= problem_.max_passes;
    if (lane.converged) return;
    tighten(lane, gap);
    grow(l);
  }

  void solve_inside(std::size_t l) {
    Lane& lane = lanes_[l];
    CompactRows& compact = scratch_.compact;
    compact.assign(problem_.X, problem_.tail, lane.rows);
    inside_ = lane.rows;
    norms_.clear();
    for (std::uint32_t k = 0; compact.is_copy() && k < inside_.size(); ++k) {
      norms_.push_back(problem_.squared_norms[inside_[k].row]);
      inside_[k].row = k;
    }
    const std::span<const double> norms = compact.is_copy() ? norms_ : problem_.squared_norms;
    std::vector<double>& v = scratch_.v;
    v.assign(compact.columns().size(), 0.0);
    DualDescent descent(compact.view(), problem_.tail, norms, squared_, v);
    descent.start(inside_);
    // The limit counts steps, not passes over a small set, which would end training before the
    // other rows have been scored.
    const std::int64_t left = problem_.max_passes * pass_ - lane.steps;
    descent.descend(lane.violation_tolerance, std::max<std::int64_t>(1, left), lane.random,
                    control_);
    if (problem_.free_intercept != 0) {
      descent.clear();
      make_feasible(inside_);
      descent.start(inside_);
    }
    lane.inside = descent.evaluate();
    lane.steps += descent.steps();
    for (std::size_t k = 0; k < inside_.size(); ++k) lane.rows[k].a = inside_[k].a;
    for (std::size_t j = 0; j < v.size(); ++j) {
      scratch_.weights[compact.columns()[j]].at[l] = static_cast<float>(v[j]);
    }
    if (problem_.free_intercept != 0) set_intercept(l);
  }

  /// sum_i a_i y_i = 0
  static void make_feasible(std::span<DualRow> rows) {
    double own = 0, others = 0;
    for (const DualRow& row : rows) (row.sign > 0 ? own : others) += row.a;
    for (DualRow& row : rows) {
      if (row.sign > 0 && own > others) row.a *= others / own;
      if (row.sign < 0 && others > own) row.a *= own / others;
    }
  }

  void set_intercept(std::size_t l) {
    scratch_.weights.back().at[l] =
        static_cast<float>(lanes_[l].intercept / problem_.free_intercept);
  }

  /// Finds the rows above the thresholds, by label; those of its working set are left out.
  void score(std::span<const std::uint32_t> rows, const Lanes& thresholds) {
    score_rows_above(problem_.X, problem_.tail, scratch_.weights, rows, thresholds, scratch_.above);
    divide(thresholds);
  }

  void divide(const Lanes& thresholds) {
    for (Lane& lane : lanes_) lane.above.clear();
    for (std::size_t k = 0; k < scratch_.above.rows.size(); ++k) {
      const std::uint32_t i = scratch_.above.rows[k];
      const float* const scores = scratch_.above.scores[k].at;
      for (std::size_t l = 0; l < lanes_.size(); ++l) {
        if (scores[l] > thresholds.at[l] && (scratch_.members[i] >> l & 1U) == 0) {
          lanes_[l].above.push_back({scores[l], i});
        }
      }
    }
  }

  /// Scores all rows with costs. Where a sample tells that the loss outside a working set is far
  /// too high, only the rows with the highest scores are found, otherwise all rows with loss. They
  /// become candidates.
  void score_all() {
    Lanes thresholds = all_lanes(kHighest);
    const bool is_last = !control_.proceed();
    if (problem_.free_intercept == 0) score_sample();
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      Lane& lane = lanes_[l];
      if (lane.done) continue;
      lane.steps += pass_;
      lane.is_exact = is_last || problem_.free_intercept != 0 ||
                      passes(lane) >= problem_.max_passes || is_stuck(lane) ||
                      !is_far_from_tolerance(l);
      thresholds.at[l] = lane.is_exact ? -1.0F : std::max(-1.0F, candidate_threshold(l));
    }
    if (problem_.free_intercept != 0) {
      score_rows_above(problem_.X, problem_.tail, scratch_.weights, costly_, all_lanes(kLowest),
                       scratch_.above);
      shift_intercepts();
      divide(thresholds);
    } else {
      score(costly_, thresholds);
      add_candidates();
    }
  }

  void score_sample() {
    score_rows_above(problem_.X, problem_.tail, scratch_.weights, sample_, all_lanes(kLowest),
                     scratch_.above);
    sampled_ = scratch_.above.scores;
  }

  /// About the score that as many rows exceed as a label contributes to the candidates.
  float candidate_threshold(std::size_t l) {
    const std::size_t count =
        std::max(kMinCandidates, kCandidatesPerRow * inputs_[l].positives.size()) +
        lanes_[l].rows.size();
    if (sampled_.size() < kSample || 2 * count >= costly_.size()) return kLowest;
    quantiles_.clear();
    for (const Lanes& scores : sampled_) quantiles_.push_back(scores.at[l]);
    const std::size_t rank = count * sampled_.size() / costly_.size() + 4;
    const auto at = quantiles_.begin() + std::min(sampled_.size() - 1, rank);
    std::nth_element(quantiles_.begin(), at, quantiles_.end(), std::greater<>());
    // Rows without any feature of the label have equal scores; such rows count as above.
    return std::nextafter(*at, -kHighest);
  }

  /// Whether the loss of the sampled rows is far above what the tolerance admits.
  bool is_far_from_tolerance(std::size_t l) const {
    if (sampled_.size() < kSample) return false;
    double loss = 0;
    for (std::size_t k = 0; k < sampled_.size(); ++k) {
      if ((scratch_.members[sample_[k]] >> l & 1U) != 0) continue;
      loss += problem_.costs[sample_[k]] * value(-double{sampled_[k].at[l]});
    }
    const double share = static_cast<double>(costly_.size()) / static_cast<double>(sample_.size());
    return loss * share > kFarLoss * problem_.tolerance * lanes_[l].inside.primal;
  }

  /// The rows found by the last scoring become candidates.
  void add_candidates() {
    std::vector<std::uint32_t> joined;
    std::set_union(candidates_.begin(), candidates_.end(), scratch_.above.rows.begin(),
                   scratch_.above.rows.end(), std::back_inserter(joined));
    const double most = kMaxCandidates * static_cast<double>(costly_.size());
    if (static_cast<double>(joined.size()) > most) joined.clear();
    candidates_ = std::move(joined);
  }

  /// Each label's intercept at its best value with the other weights fixed; shifts the scores of
  /// all rows.
  void shift_intercepts() {
    Lanes shifts{};
    std::vector<std::int8_t> positive(num_rows_, 0);
    const RowScores& all = scratch_.above;
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      Lane& lane = lanes_[l];
      if (lane.done || all.rows.empty()) continue;
      for (const std::uint32_t i : inputs_[l].positives) positive[i] = 1;
      scored_.clear();
      for (std::size_t k = 0; k < all.rows.size(); ++k) {
        const std::uint32_t i = all.rows[k];
        scored_.push_back({all.scores[k].at[l], problem_.costs[i], positive[i] != 0});
      }
      for (const std::uint32_t i : inputs_[l].positives) positive[i] = 0;
      const double shift = best_shift(problem_.loss, scored_);
      shifts.at[l] = static_cast<float>(shift);
      lane.intercept += shift;
      set_intercept(l);
      shift_inside(l, shift);
    }
    add_to_all(shifts, scratch_.above.scores);
  }

  /// Before the scores of all rows are shifted.
  void shift_inside(std::size_t l, double shift) {
    Lane& lane = lanes_[l];
    const auto& rows = scratch_.above.rows;
    lane.inside.primal = lane.inside.half_norm;
    for (DualRow& row : lane.rows) {
      row.prior_score += shift;
      const auto at = std::lower_bound(rows.begin(), rows.end(), row.row) - rows.begin();
      const double score = scratch_.above.scores[at].at[l] + shift;
      lane.inside.primal += row.cost * value(row.sign * score);
    }
  }

  void certify(std::size_t l) {
    Lane& lane = lanes_[l];
    BinaryFit& fit = outputs_[l].fit;
    fit.passes = passes(lane);
    fit.primal = lane.inside.primal + loss_outside(lane);
    fit.dual = lane.inside.dual;
    const double gap = fit.primal - fit.dual;
    lane.done = lane.is_exact && (is_stuck(lane) || gap <= problem_.tolerance * fit.primal);
    if (lane.done) return;
    tighten(lane, gap);
    if (!lane.is_exact) return;  // the primal value that is returned must be exact
    if (fit.passes >= problem_.max_passes || !control_.proceed()) {
      lane.done = true;
      fit.stop =
          control_.stop_reason() != Stop::converged ? control_.stop_reason() : Stop::pass_limit;
    }
  }

  int passes(const Lane& lane) const { return static_cast<int>((lane.steps + pass_ - 1) / pass_); }
  /// At the smallest tolerance the coordinates no longer move, because of rounding.
  static bool is_stuck(const Lane& lane) { return lane.violation_tolerance < kSmallestViolation; }
  static void tighten(Lane& lane, double gap) {
    if (lane.inside.primal - lane.inside.dual > 0.3 * gap) lane.violation_tolerance *= kTightening;
  }

  double loss_outside(const Lane& lane) const {
    double loss = 0;
    for (const auto& [score, row] : lane.above) {
      loss += problem_.costs[row] * value(-double{score});
    }
    return loss;
  }
  double value(double margin) const {
    return squared_ ? SquaredHingeLoss::value(margin) : HingeLoss::value(margin);
  }

  /// The rows with the highest scores join the label's working set, which at most doubles.
  void grow(std::size_t l) {
    Lane& lane = lanes_[l];
    const std::size_t count = std::max(kSmallestGrowth, lane.rows.size());
    if (lane.above.size() > count) {
      std::nth_element(lane.above.begin(), lane.above.begin() + count, lane.above.end(),
                       [](const Candidate& a, const Candidate& b) {
                         return a.score != b.score ? a.score > b.score : a.row < b.row;
                       });
      lane.above.resize(count);
    }
    for (const Candidate& candidate : lane.above) add(l, candidate.row, -1.0F, 0.0);
  }

  void finish(std::size_t l) {
    LaneOutput& output = outputs_[l];
    Lane& lane = lanes_[l];
    std::sort(lane.rows.begin(), lane.rows.end(),
              [](const DualRow& a, const DualRow& b) { return a.row < b.row; });
    std::erase_if(lane.rows, [](const DualRow& row) { return row.a <= 0; });
    for (const DualRow& row : lane.rows) {
      output.duals.rows.push_back(row.row);
      output.duals.values.push_back(row.a);
    }
    scratch_.compact.assign(problem_.X, problem_.tail, lane.rows);
    const auto columns = scratch_.compact.columns();
    std::vector<FeatureId>& features = output.weights.features;
    features.assign(columns.begin(), columns.end());
    if (problem_.free_intercept != 0 &&
        (features.empty() || features.back() + 1 != problem_.X.num_columns())) {
      features.push_back(problem_.X.num_columns() - 1);
    }
    std::erase_if(features, [&](FeatureId j) { return scratch_.weights[j].at[l] == 0.0F; });
    output.weights.values.reserve(features.size());
    for (const FeatureId j : features) {
      output.weights.values.push_back(scratch_.weights[j].at[l]);
    }
  }

  const BlockProblem& problem_;
  bool squared_;
  std::span<const LaneInput> inputs_;
  BlockScratch& scratch_;
  RunControl& control_;
  std::span<LaneOutput> outputs_;
  std::vector<Lane> lanes_;
  std::size_t num_rows_;
  std::int64_t pass_;                      // steps of a pass over all rows
  std::vector<std::uint32_t> costly_;      // rows with C_i > 0
  std::vector<std::uint32_t> candidates_;  // some of them; empty: there are none
  std::vector<std::uint32_t> sample_;      // evenly spaced ones
  std::vector<DualRow> inside_;            // the working set that is solved, of compact rows
  std::vector<double> norms_;
  std::vector<Lanes> sampled_;  // their scores
  std::vector<float> quantiles_;
  std::vector<ScoredRow> scored_;
};

}  // namespace

void solve_working_sets(const BlockProblem& problem, std::span<const LaneInput> inputs,
                        BlockScratch& scratch, RunControl& control, std::span<LaneOutput> outputs) {
  WorkingSets(problem, inputs, scratch, control, outputs).run();
}

}  // namespace margrove::detail
