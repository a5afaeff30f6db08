// Recursive regularisation in its path-additive form, all leaves at once. With y_il = +1 if row i
// carries leaf l and -1 otherwise, and u_l = sum_i a_il y_il x_i:
//
//   primal  min_v  sum_m |v_m|^2 / (2 alpha_m) + C sum_l sum_i loss(y_il w_l.x_i),
//           w_l = sum_{m in A(l)} v_m
//   dual    max_a  sum_il a_il - sum_il a_il^2 / (4 C) [squared hinge]
//                  - 1/2 sum_m |v_m|^2 / alpha_m,
//           v_m = alpha_m sum_{l in D(m)} u_l,   0 <= a_il, a_il <= C [hinge]
//
// Coordinate (i, l): gradient G = y_il w_l.x_i - 1 [+ a_il / (2 C)], curvature
// |x_i|^2 K_l [+ 1 / (2 C)] with K_l = sum_{A(l)} alpha_m (HR; docs/notation.md). Visiting the
// coordinates leaf by leaf, w_l is one dense vector that moves along the graph.
//
// Almost all a_il are zero, so that each leaf keeps a short list of active rows. Scans of all rows
// (joint_scan.hpp) give the exact primal and gap and find the rows missing from the lists.
//
// Columns that most rows use (above all the intercept) couple all leaves through the top nodes,
// where coordinate steps would largely cancel. For these columns the inner v_m are primal
// variables, set in closed form between sweeps with the leaves' weights fixed, as in HR (eq. 6),
// and a leaf's step changes its own part only. Primal and dual values are still those of the whole
// problem.
//
// A free intercept (linear/free_intercept.hpp) moves by steps of its column, regularised around its
// value, and is set to its best value at each scan, when the dual variables are made feasible.
//
// Threads: the leaves are divided into lanes that are far apart in the graph; in a round each lane
// visits a few leaves. Each lane changes copies of the nodes above several lanes; these are merged
// at the end of the round, with a step that never lowers the dual. Lanes and rounds do not depend
// on the number of threads.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/closing_time.hpp"
#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "linear/point_loss.hpp"
#include "linear/row_costs.hpp"
#include "margrove/errors.hpp"
#include "recursive/joint_dense.hpp"
#include "recursive/joint_duals.hpp"
#include "recursive/joint_scan.hpp"
#include "recursive/recursive.hpp"
#include "recursive/recursive_round.hpp"

namespace margrove {
namespace {

using detail::ActiveRow;
using detail::add_scaled;
using detail::JointDuals;
using detail::LeafPaths;
using detail::Regularisers;

constexpr std::size_t kSharedLanes = 4;
constexpr std::size_t kRoundsPerSweep = 32;
constexpr std::uint32_t kNone = LeafPaths::kNoSlot;

/// A change of one dual variable in the present round.
struct Change {
  std::uint32_t target;
  std::uint32_t position;  // in the target's active list
  std::uint32_t row;
  double step;  // y * (new a - old a)
};

template <class Loss>
class JointDescent {
 public:
  JointDescent(const AdditiveProblem& problem, const JointDualOptions& options, Executor& executor,
               RunControl& control)
      : options_(options),
        problem_(problem),
        executor_(executor),
        control_(control),
        closing_(control),
        duals_(problem),
        paths_(duals_.paths()),
        X_(duals_.rows()),
        dim_(duals_.dim()),
        squared_norms_(squared_norms(X_)),
        scan_(problem, options, duals_),
        random_(options.seed) {
    rare_norms_.resize(X_.num_rows());
    for (std::uint32_t i = 0; i < X_.num_rows(); ++i) {
      rare_norms_[i] = squared_norm(duals_.rare(i).x);
    }
    duals_.seed_active_lists(random_);
  }

  RecursiveFit run() {
    RecursiveFit fit;
    lanes_.resize(kSharedLanes);
    int sweeps_between_scans = 1;
    for (;;) {
      for (int s = 0; s < sweeps_between_scans && fit.passes < options_.max_passes; ++s) {
        sweep();
        ++fit.passes;
        duals_.update_common(executor_, closing_);
        if (!may_go_on()) break;
      }
      certify(fit);
      if (detail::is_last_round("joint dual", options_, fit, control_)) break;
      if (is_time_up_) {
        fit.stop = Stop::time_limit;
        break;
      }
      sweeps_between_scans = std::min(kMaxSweepsBetweenScans, sweeps_between_scans + 1);
    }
    fit.weights = duals_.weights();
    return fit;
  }

 private:
  struct Lane {
    std::vector<double> w;        // path sum of the nodes in `path`
    std::vector<NodeId> path;     // ascending
    std::vector<Change> changes;  // of this round
    double improvement = 0.0;     // of the dual if only this lane moved
  };

  /// False where the control says so, or where just the time for a certificate is left.
  bool may_go_on() {
    const double left = control_.seconds_left();
    is_time_up_ =
        is_time_up_ || (left < certificate_seconds_ &&
                        certificate_seconds_ < kCertificateShare * (control_.seconds() + left));
    return !is_time_up_ && control_.proceed();
  }

  /// The primal and the dual, unless a time limit leaves no time for them. Scans for rows that are
  /// missing from the lists.
  void certify(RecursiveFit& fit) {
    const bool is_late = !is_time_up_ && !control_.proceed();
    fit.primal = fit.dual = std::numeric_limits<double>::quiet_NaN();
    if (is_late && certificate_seconds_ > ClosingTime::kSeconds) return;
    const double start = control_.seconds();
    if (duals_.is_free()) {
      duals_.make_feasible();
      duals_.update_common(executor_, closing_);
    }
    const Regularisers regularisers = duals_.rebuild_inner_nodes(executor_, closing_);
    const double dual = dual_value(regularisers.dual);
    const double primal = regularisers.primal + scan_.run(executor_, closing_);
    certificate_seconds_ = control_.seconds() - start;
    if (!closing_.proceed()) return;
    fit.dual = dual;
    fit.primal = primal;
  }

  double cost(std::uint32_t row) const {
    return detail::row_cost(options_.C, problem_.row_weights, row);
  }

  /// One visit of every leaf.
  void sweep() {
    const std::size_t lane_size = (duals_.num_targets() + kSharedLanes - 1) / kSharedLanes;
    const std::size_t group = std::max<std::size_t>(1, lane_size / kRoundsPerSweep);
    std::vector<std::size_t> starts;
    for (std::size_t begin = 0; begin < lane_size; begin += group) starts.push_back(begin);
    random_.shuffle(std::span(starts));
    for (const std::size_t start : starts) {
      const std::uint64_t seed = random_.next();
      assign_shared(lane_size, start, group);
      executor_.for_each(kSharedLanes, [&](std::size_t q, int) {
        const std::size_t begin = std::min(duals_.num_targets(), q * lane_size + start);
        const std::size_t end =
            std::min({duals_.num_targets(), (q + 1) * lane_size, begin + group});
        run_lane(q, begin, end, Random(seed, q));
      });
      merge_lanes();
      if (!control_.proceed()) break;
    }
  }

  /// Finds the inner nodes that several lanes of this round will change.
  void assign_shared(std::size_t lane_size, std::size_t start, std::size_t group) {
    shared_nodes_.clear();
    lane_of_node_.assign(paths_.num_slots(), kNone);
    shared_slot_.assign(paths_.num_slots(), kNone);
    for (std::uint32_t q = 0; q < kSharedLanes; ++q) {
      const std::size_t begin = std::min(duals_.num_targets(), q * lane_size + start);
      const std::size_t end = std::min({duals_.num_targets(), (q + 1) * lane_size, begin + group});
      for (std::size_t t = begin; t < end; ++t) {
        for (const NodeId m : paths_.inner[t]) {
          const std::uint32_t slot = paths_.slot[m];
          if (lane_of_node_[slot] == kNone) lane_of_node_[slot] = q;
          if (lane_of_node_[slot] == q || shared_slot_[slot] != kNone) continue;
          shared_slot_[slot] = static_cast<std::uint32_t>(shared_nodes_.size());
          shared_nodes_.push_back(m);
        }
      }
    }
    shared_deltas_.resize(kSharedLanes);
    for (auto& deltas : shared_deltas_) deltas.assign(shared_nodes_.size() * dim_, 0.0F);
  }

  void run_lane(std::size_t q, std::size_t begin, std::size_t end, Random random) {
    Lane& lane = lanes_[q];
    lane.w.assign(dim_, 0.0);
    lane.path.clear();
    lane.changes.clear();
    lane.improvement = 0;
    for (std::size_t t = begin; t < end; ++t) {
      move_path(q, paths_.inner[t]);
      visit(q, static_cast<std::uint32_t>(t), random);
    }
  }

  /// Makes lane.w the sum over the inner nodes of `path`.
  void move_path(std::size_t q, const std::vector<NodeId>& path) {
    Lane& lane = lanes_[q];
    for (const NodeId m : lane.path) {
      if (!std::binary_search(path.begin(), path.end(), m)) add_inner(q, m, -1.0);
    }
    for (const NodeId m : path) {
      if (!std::binary_search(lane.path.begin(), lane.path.end(), m)) add_inner(q, m, 1.0);
    }
    lane.path = path;
  }

  void add_inner(std::size_t q, NodeId m, double sign) {
    double* w = lanes_[q].w.data();
    const std::uint32_t slot = paths_.slot[m];
    duals_.add_inner_to(slot, sign, w);
    if (shared_slot_[slot] == kNone) return;
    const float* delta = shared_deltas_[q].data() + shared_slot_[slot] * dim_;
    for (std::size_t j = 0; j < dim_; ++j) w[j] += sign * static_cast<double>(delta[j]);
  }

  /// Coordinate steps over the active rows of one leaf, then v_m += alpha_m sum step x.
  void visit(std::size_t q, std::uint32_t t, Random& random) {
    Lane& lane = lanes_[q];
    auto& active = duals_.active(t);
    double* w = lane.w.data();
    for (const ActiveRow& v : active) {
      if (v.a != 0) {
        duals_.add_row(paths_.private_alpha[t] * v.signed_a(), v.row, w);
      }
    }
    std::vector<double>& before = before_scratch(q, active);
    shrink_and_descend(lane, t, random, before);
    // `before` follows the swaps of shrinking; what is left in `active` is aligned with it.
    for (std::uint32_t p = 0; p < active.size(); ++p) {
      const ActiveRow& v = active[p];
      if (v.a != 0) {
        duals_.add_row(-paths_.private_alpha[t] * v.signed_a(), v.row, w);
      }
      const double step = v.a - before[p];
      if (step == 0) continue;
      lane.changes.push_back({t, p, v.row, v.positive ? step : -step});
      for (const NodeId m : paths_.inner[t]) push(q, m, v.positive ? step : -step, v.row);
    }
  }

  std::vector<double>& before_scratch(std::size_t q, const std::vector<ActiveRow>& active) {
    auto& before = before_[q];
    before.resize(active.size());
    for (std::size_t p = 0; p < active.size(); ++p) before[p] = active[p].a;
    return before;
  }

  void push(std::size_t q, NodeId m, double step, std::uint32_t row) {
    const std::uint32_t slot = paths_.slot[m];
    const double change = problem_.alpha[m] * step;
    if (shared_slot_[slot] == kNone) {
      duals_.add_to_inner(slot, change, duals_.rare(row));
    } else {
      add_scaled(change, duals_.rare(row), shared_deltas_[q].data() + shared_slot_[slot] * dim_);
    }
  }

  void shrink_and_descend(Lane& lane, std::uint32_t t, Random& random,
                          std::vector<double>& before) {
    auto& active = duals_.active(t);
    double* w = lane.w.data();
    const double K = paths_.path_sum[t];
    const double own = paths_.private_alpha[t];
    const double intercept = duals_.intercept(t);
    for (int pass = 0; pass < kInnerPasses; ++pass) {
      double largest = 0;
      for (std::size_t left = active.size(); left > 0; --left) {
        // A random order drawn while walking, so that dropping an entry costs O(1).
        const std::size_t p = random.below(left);
        std::swap(active[p], active[left - 1]);
        std::swap(before[p], before[left - 1]);
        ActiveRow& v = active[left - 1];
        const double y = v.positive ? 1.0 : -1.0;
        const double C = cost(v.row);
        const double diagonal = diagonal_of(C);
        const double upper = upper_of(C);
        const double G = y * (intercept + duals_.score(v.row, w)) - 1.0 + diagonal * v.a;
        if (v.a == 0 && G > 0) {
          if (before[left - 1] == 0 && G > kDropMargin && !v.positive) {
            active[left - 1] = active.back();
            before[left - 1] = before.back();
            active.pop_back();
            before.pop_back();
          }
          continue;
        }
        const double curvature =
            K * rare_norms_[v.row] + own * (squared_norms_[v.row] - rare_norms_[v.row]) + diagonal;
        if (curvature <= 0) continue;
        const double a = std::clamp(v.a - G / curvature, 0.0, upper);
        const double step = a - v.a;
        if (step == 0) continue;
        largest = std::max(largest, std::abs(step) * curvature);
        lane.improvement += -step * (G + 0.5 * curvature * step);
        v.a = a;
        add_scaled(K * step * y, duals_.rare(v.row), w);
        add_scaled(own * step * y, duals_.common(v.row), w);
      }
      if (largest < kSettled) break;
    }
  }

  static double upper_of(double C) { return Loss::kSmooth ? 1e300 : C; }
  static double diagonal_of(double C) { return Loss::kSmooth ? 0.5 / C : 0.0; }

  /// Adds the lanes' private changes of shared nodes. With I the sum of the lanes' improvements and
  /// X = sum_m sum_{q<r} <delta_q, delta_r> / alpha_m, the dual rises by at least
  /// step * I - step^2 * X for 0 <= step <= 1.
  void merge_lanes() {
    double improvement = 0;
    for (const Lane& lane : lanes_) improvement += lane.improvement;
    double cross = 0;
    for (std::size_t s = 0; s < shared_nodes_.size(); ++s) {
      double of_sum = 0;
      double of_each = 0;
      for (std::size_t j = s * dim_; j < (s + 1) * dim_; ++j) {
        double sum = 0;
        for (const auto& deltas : shared_deltas_) {
          const double d = deltas[j];
          sum += d;
          of_each += d * d;
        }
        of_sum += sum * sum;
      }
      cross += 0.5 * (of_sum - of_each) / problem_.alpha[shared_nodes_[s]];
    }
    const double step = cross > 0.5 * improvement ? 0.5 * improvement / cross : 1.0;
    if (step < 1.0) shorten(step);
    for (std::size_t s = 0; s < shared_nodes_.size(); ++s) {
      std::array<const float*, kSharedLanes> deltas;
      for (std::size_t q = 0; q < kSharedLanes; ++q)
        deltas[q] = shared_deltas_[q].data() + s * dim_;
      duals_.add_to_inner(paths_.slot[shared_nodes_[s]], step, deltas);
    }
  }

  /// Takes back the part 1 - step of the round's changes that is not in the shared deltas.
  void shorten(double step) {
    for (const Lane& lane : lanes_) {
      for (const Change& change : lane.changes) {
        ActiveRow& v = duals_.active(change.target)[change.position];
        const double back = -(1.0 - step) * change.step;
        v.a = std::max(0.0, v.a + (v.positive ? back : -back));
        for (const NodeId m : paths_.inner[change.target]) {
          if (shared_slot_[paths_.slot[m]] != kNone) continue;
          duals_.add_to_inner(paths_.slot[m], problem_.alpha[m] * back, duals_.rare(change.row));
        }
      }
    }
  }

  double dual_value(double regulariser) const {
    double value = -regulariser;
    for (std::size_t t = 0; t < duals_.num_targets(); ++t) {
      for (const ActiveRow& v : duals_.active(t)) {
        value += v.a - 0.5 * diagonal_of(cost(v.row)) * v.a * v.a;
      }
    }
    return value;
  }

  // The slack above which a coordinate leaves the list between scans; the largest step (in the
  // gradient's unit) at which the visit of a leaf ends; and the passes over a leaf per visit.
  static constexpr double kDropMargin = 0.1;
  static constexpr double kSettled = 1e-6;
  static constexpr int kInnerPasses = 2;
  static constexpr int kMaxSweepsBetweenScans = 20;
  // Sweeps end early for a certificate that takes at most this share of a time limit.
  static constexpr double kCertificateShare = 0.25;

  const JointDualOptions& options_;
  const AdditiveProblem& problem_;
  Executor& executor_;
  RunControl& control_;
  ClosingTime closing_;
  double certificate_seconds_ = 0;  // of the last one
  bool is_time_up_ = false;         // except for a certificate
  JointDuals duals_;
  const LeafPaths& paths_;
  CsrView X_;  // over the used columns
  std::size_t dim_;
  std::vector<double> squared_norms_;
  std::vector<double> rare_norms_;
  detail::JointScan<Loss> scan_;
  Random random_;

  std::vector<Lane> lanes_;
  std::vector<std::vector<double>> before_{kSharedLanes};
  std::vector<NodeId> shared_nodes_;         // of this round
  std::vector<std::uint32_t> lane_of_node_;  // slot -> first lane that meets it
  std::vector<std::uint32_t> shared_slot_;   // slot -> position in shared_nodes_, or kNone
  std::vector<std::vector<float>> shared_deltas_;
};

}  // namespace

RecursiveFit train_joint_dual(const AdditiveProblem& problem, const JointDualOptions& options,
                              Executor& executor, RunControl& control) {
  validate(options);
  detail::check_sizes(problem, "joint_dual");
  require(problem.alpha.size() == problem.graph->num_nodes(), "joint_dual: ", problem.alpha.size(),
          " node weights, but ", problem.graph->num_nodes(), " nodes");
  if (detail::suits_joint_dense(problem)) {
    RecursiveFit fit = detail::train_joint_dense(problem, options, executor, control);
    // A tight tolerance on the hinge can be out of reach of its float32 scores.
    if (fit.stop != Stop::converged || !(fit.relative_gap() > options.tolerance)) return fit;
  }
  if (options.loss == PointLossKind::hinge) {
    return JointDescent<HingeLoss>(problem, options, executor, control).run();
  }
  return JointDescent<SquaredHingeLoss>(problem, options, executor, control).run();
}

}  // namespace margrove
