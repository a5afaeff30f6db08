// Recursive regularisation in its path-additive form, all leaves at once. With y_il = +1 if row i
// carries leaf l and -1 otherwise, and u_l = sum_i a_il y_il x_i:
//
//   primal  min_v  sum_m |v_m|^2 / (2 alpha_m) + C sum_l sum_i loss(y_il w_l.x_i),
//           w_l = sum_{m in A(l)} v_m
//   dual    max_a  sum_il a_il - sum_il a_il^2 / (4 C) [squared hinge] - 1/2 sum_m |v_m|^2 /
//   alpha_m,
//           v_m = alpha_m sum_{l in D(m)} u_l,   0 <= a_il, a_il <= C [hinge]
//
// Coordinate (i, l): gradient G = y_il w_l.x_i - 1 [+ a_il / (2 C)], curvature
// |x_i|^2 K_l [+ 1 / (2 C)] with K_l = sum_{A(l)} alpha_m (HR; docs/notation.md). Visiting the
// coordinates leaf by leaf, w_l is one dense vector that moves along the graph.
//
// Almost all a_il are zero, so each leaf keeps a short list of active rows. Scans of all rows
// against all leaves, sixteen leaves at a time, give the exact primal and gap and find what is
// missing from the lists.
//
// Columns that most rows use (the intercept above all) tie all leaves to each other through the top
// nodes, and coordinate steps would chase one another there. For these columns the inner v_m are
// primal variables, set in closed form between sweeps with the leaves' weights held, as HR does
// (eq. 6), and a leaf's step moves its own part only. Primal and dual values are those of the whole
// problem all the same.
//
// Threads: the leaves are cut into lanes that are far apart in the graph; in a round each lane
// visits a few leaves. Nodes above several lanes are changed in private and merged at the end of
// the round, with a step that never lowers the dual. Lanes and rounds do not depend on the threads.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "joint_dense.hpp"
#include "margrove/base/errors.hpp"
#include "margrove/base/random.hpp"
#include "margrove/loss/point_loss.hpp"
#include "margrove/solver/recursive.hpp"
#include "recursive_round.hpp"
#include "row_scan.hpp"
#include "used_columns.hpp"

namespace margrove {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kRoundsPerSweep = 32;
constexpr std::size_t kScanRows = 256;  // rows scored before their losses are added up
// Above this share of the rows a column's inner weights are not tied to the dual variables: see
// update_common().
constexpr double kCommonShare = 0.5;
constexpr std::uint32_t kNoSlot = 0xffffffffU;

/// One dual variable that may be non-zero.
struct ActiveRow {
  std::uint32_t row;
  bool positive;
  double a;
};

/// A change of one dual variable in the present round.
struct Change {
  std::uint32_t target;
  std::uint32_t position;  // in the target's active list
  std::uint32_t row;
  double step;  // y * (new a - old a)
};

double dot(const SparseRow& x, const double* w) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    sum += static_cast<double>(x.values[k]) * w[x.columns[k]];
  }
  return sum;
}

template <class Number>
void add_scaled(double step, const SparseRow& x, Number* w) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    w[x.columns[k]] += static_cast<Number>(step * x.values[k]);
  }
}

template <class Loss>
class JointDescent {
 public:
  JointDescent(const AdditiveProblem& problem, const JointDualOptions& options, Executor& executor,
               RunControl& control)
      : options_(options),
        problem_(problem),
        executor_(executor),
        control_(control),
        used_(detail::used_columns(problem.X, kCommonShare)),
        X_(used_.X.view()),
        squared_norms_(squared_norms(X_)),
        ancestors_(ancestor_sets(*problem.graph)),
        random_(options.seed) {
    order_targets();
    allocate_inner_nodes();
    find_positives();
    below_.resize(num_slots_);
    for (std::uint32_t t = 0; t < targets_.size(); ++t) {
      for (const NodeId m : shared_paths_[t]) below_[slot_[m]].push_back(t);
    }
    rare_norms_.resize(X_.num_rows());
    for (std::uint32_t i = 0; i < X_.num_rows(); ++i) rare_norms_[i] = squared_norm(rare(i));
    seed_active_lists();
  }

  RecursiveFit run() {
    RecursiveFit fit;
    lanes_.resize(kLanes);
    int sweeps_between_scans = 1;
    for (;;) {
      for (int s = 0; s < sweeps_between_scans && fit.passes < options_.max_passes; ++s) {
        sweep();
        ++fit.passes;
        update_common();
        if (!control_.proceed()) break;
      }
      rebuild_inner_nodes();
      fit.dual = dual_value();
      fit.primal = regulariser_ + scan();
      if (detail::is_last_round("joint dual", options_, fit, control_)) break;
      sweeps_between_scans = std::min(kMostSweepsBetweenScans, sweeps_between_scans + 1);
    }
    fit.weights = weights();
    return fit;
  }

 private:
  struct Lane {
    std::vector<double> w;             // path sum of the nodes in `path`
    std::vector<NodeId> path;          // ascending
    std::vector<Change> changes;       // of this round
    std::vector<std::uint32_t> order;  // scratch: visiting order of an active list
    double improvement = 0.0;          // of the dual, had the other lanes stood still
  };

  // ---- set-up ----

  /// Targets in depth-first order: neighbours in the order share most of their path.
  void order_targets() {
    const LabelGraph& graph = *problem_.graph;
    std::vector<bool> is_target(graph.num_nodes(), false);
    for (const NodeId t : problem_.targets) is_target[t] = true;
    std::vector<bool> seen(graph.num_nodes(), false);
    std::vector<NodeId> stack(graph.roots().rbegin(), graph.roots().rend());
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      if (seen[n]) continue;
      seen[n] = true;
      if (is_target[n]) targets_.push_back(n);
      const auto children = graph.children(n);
      stack.insert(stack.end(), children.rbegin(), children.rend());
    }
    path_sum_.resize(targets_.size());
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      for (const NodeId m : ancestors_[targets_[t]]) path_sum_[t] += problem_.alpha[m];
      require(path_sum_[t] > 0, "joint_dual: the weights on the path of node ", targets_[t],
              " are all 0");
    }
  }

  /// Nodes below which there is one target only share its dual variables: their part is found from
  /// those. The others get a dense vector.
  void allocate_inner_nodes() {
    const std::size_t num_nodes = problem_.graph->num_nodes();
    std::vector<std::uint32_t> num_below(num_nodes, 0);
    for (const NodeId t : targets_) {
      for (const NodeId m : ancestors_[t]) ++num_below[m];
    }
    slot_.assign(num_nodes, kNoSlot);
    num_slots_ = 0;
    for (NodeId m = 0; m < num_nodes; ++m) {
      if (num_below[m] > 1 && problem_.alpha[m] > 0) slot_[m] = num_slots_++;
    }
    dim_ = X_.num_columns();
    inner_.assign(static_cast<std::size_t>(num_slots_) * dim_, 0.0F);
    shared_paths_.resize(targets_.size());
    private_alpha_.resize(targets_.size());
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      for (const NodeId m : ancestors_[targets_[t]]) {
        if (slot_[m] != kNoSlot) {
          shared_paths_[t].push_back(m);
        } else {
          private_alpha_[t] += problem_.alpha[m];
        }
      }
    }
  }

  void find_positives() {
    std::vector<std::uint32_t> target_of(problem_.graph->num_nodes(), kNoSlot);
    for (std::uint32_t t = 0; t < targets_.size(); ++t) target_of[targets_[t]] = t;
    positives_.resize(targets_.size());
    for (std::uint32_t i = 0; i < X_.num_rows(); ++i) {
      for (const LabelId label : (*problem_.labels)[i]) {
        require(label < target_of.size() && target_of[label] != kNoSlot, "joint_dual: label ",
                label, " of row ", i, " is not a target");
        positives_[target_of[label]].push_back(i);
      }
    }
  }

  /// A first guess at the rows that matter to a leaf: its own, those of the nearest leaves, and a
  /// few drawn by chance, which give the shared intercept its size.
  void seed_active_lists() {
    active_.resize(targets_.size());
    const std::size_t n = X_.num_rows();
    std::vector<std::uint32_t> rows;
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      rows.clear();
      const std::size_t first = t >= 3 ? t - 3 : 0;
      for (std::size_t s = first; s < std::min(targets_.size(), t + 4); ++s) {
        const std::size_t take = s == t ? 0 : std::min<std::size_t>(positives_[s].size(), 16);
        rows.insert(rows.end(), positives_[s].begin(),
                    positives_[s].begin() + static_cast<std::ptrdiff_t>(take));
      }
      for (std::size_t s = 0; n > 0 && s < 32; ++s) {
        rows.push_back(static_cast<std::uint32_t>(random_.below(n)));
      }
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      for (const std::uint32_t i : positives_[t]) active_[t].push_back({i, true, 0.0});
      for (const std::uint32_t i : rows) {
        if (!is_positive(t, i)) active_[t].push_back({i, false, 0.0});
      }
    }
  }

  bool is_positive(std::size_t t, std::uint32_t row) const {
    return std::binary_search(positives_[t].begin(), positives_[t].end(), row);
  }

  // ---- descent ----

  double cost(std::uint32_t row) const {
    return options_.C * (problem_.row_weights.empty() ? 1.0 : problem_.row_weights[row]);
  }

  /// One visit of every leaf.
  void sweep() {
    const std::size_t lane_size = (targets_.size() + kLanes - 1) / kLanes;
    const std::size_t group = std::max<std::size_t>(1, lane_size / kRoundsPerSweep);
    std::vector<std::size_t> starts;
    for (std::size_t begin = 0; begin < lane_size; begin += group) starts.push_back(begin);
    random_.shuffle(std::span(starts));
    for (const std::size_t start : starts) {
      const std::uint64_t seed = random_.next();
      assign_shared(lane_size, start, group);
      executor_.for_each(kLanes, [&](std::size_t q, int) {
        const std::size_t begin = std::min(targets_.size(), q * lane_size + start);
        const std::size_t end = std::min({targets_.size(), (q + 1) * lane_size, begin + group});
        run_lane(q, begin, end, Random(seed, q));
      });
      merge_lanes();
      if (!control_.proceed()) break;
    }
  }

  /// Finds the inner nodes that several lanes of this round will change.
  void assign_shared(std::size_t lane_size, std::size_t start, std::size_t group) {
    shared_nodes_.clear();
    lane_of_node_.assign(num_slots_, kNoSlot);
    shared_slot_.assign(num_slots_, kNoSlot);
    for (std::uint32_t q = 0; q < kLanes; ++q) {
      const std::size_t begin = std::min(targets_.size(), q * lane_size + start);
      const std::size_t end = std::min({targets_.size(), (q + 1) * lane_size, begin + group});
      for (std::size_t t = begin; t < end; ++t) {
        for (const NodeId m : shared_paths_[t]) {
          const std::uint32_t slot = slot_[m];
          if (lane_of_node_[slot] == kNoSlot) lane_of_node_[slot] = q;
          if (lane_of_node_[slot] == q || shared_slot_[slot] != kNoSlot) continue;
          shared_slot_[slot] = static_cast<std::uint32_t>(shared_nodes_.size());
          shared_nodes_.push_back(m);
        }
      }
    }
    shared_deltas_.resize(kLanes);
    for (auto& deltas : shared_deltas_) deltas.assign(shared_nodes_.size() * dim_, 0.0F);
  }

  void run_lane(std::size_t q, std::size_t begin, std::size_t end, Random random) {
    Lane& lane = lanes_[q];
    lane.w.assign(dim_, 0.0);
    lane.path.clear();
    lane.changes.clear();
    lane.improvement = 0;
    for (std::size_t t = begin; t < end; ++t) {
      move_path(q, shared_paths_[t]);
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
    const std::uint32_t slot = slot_[m];
    const float* v = inner_.data() + static_cast<std::size_t>(slot) * dim_;
    for (std::size_t j = 0; j < dim_; ++j) w[j] += sign * static_cast<double>(v[j]);
    if (shared_slot_[slot] == kNoSlot) return;
    const float* delta = shared_deltas_[q].data() + shared_slot_[slot] * dim_;
    for (std::size_t j = 0; j < dim_; ++j) w[j] += sign * static_cast<double>(delta[j]);
  }

  /// Coordinate steps over the active rows of one leaf, then v_m += alpha_m sum step x.
  void visit(std::size_t q, std::uint32_t t, Random& random) {
    Lane& lane = lanes_[q];
    auto& active = active_[t];
    double* w = lane.w.data();
    for (const ActiveRow& v : active) {
      if (v.a != 0) {
        add_scaled(private_alpha_[t] * (v.positive ? v.a : -v.a), X_.row(v.row), w);
      }
    }
    std::vector<double>& before = before_scratch(q, active);
    shrink_and_descend(lane, t, random, before);
    // `before` follows the swaps of shrinking; what is left in `active` is aligned with it.
    for (std::uint32_t p = 0; p < active.size(); ++p) {
      const ActiveRow& v = active[p];
      if (v.a != 0) {
        add_scaled(-private_alpha_[t] * (v.positive ? v.a : -v.a), X_.row(v.row), w);
      }
      const double step = v.a - before[p];
      if (step == 0) continue;
      lane.changes.push_back({t, p, v.row, v.positive ? step : -step});
      for (const NodeId m : shared_paths_[t]) push(q, m, v.positive ? step : -step, v.row);
    }
  }

  std::vector<double>& before_scratch(std::size_t q, const std::vector<ActiveRow>& active) {
    auto& before = before_[q];
    before.resize(active.size());
    for (std::size_t p = 0; p < active.size(); ++p) before[p] = active[p].a;
    return before;
  }

  SparseRow rare(std::uint32_t row) const {
    const SparseRow x = X_.row(row);
    return {x.columns.subspan(used_.split[row]), x.values.subspan(used_.split[row])};
  }
  SparseRow common(std::uint32_t row) const {
    const SparseRow x = X_.row(row);
    return {x.columns.first(used_.split[row]), x.values.first(used_.split[row])};
  }

  void push(std::size_t q, NodeId m, double step, std::uint32_t row) {
    const std::uint32_t slot = slot_[m];
    float* v = shared_slot_[slot] == kNoSlot ? inner_.data() + static_cast<std::size_t>(slot) * dim_
                                             : shared_deltas_[q].data() + shared_slot_[slot] * dim_;
    add_scaled(problem_.alpha[m] * step, rare(row), v);
  }

  void shrink_and_descend(Lane& lane, std::uint32_t t, Random& random,
                          std::vector<double>& before) {
    auto& active = active_[t];
    double* w = lane.w.data();
    const double K = path_sum_[t];
    const double own = private_alpha_[t];
    for (int pass = 0; pass < kInnerPasses; ++pass) {
      double largest = 0;
      for (std::size_t left = active.size(); left > 0; --left) {
        // A random order drawn while walking, so that dropping an entry costs O(1).
        const std::size_t p = random.below(left);
        std::swap(active[p], active[left - 1]);
        std::swap(before[p], before[left - 1]);
        ActiveRow& v = active[left - 1];
        const SparseRow x = X_.row(v.row);
        const double y = v.positive ? 1.0 : -1.0;
        const double C = cost(v.row);
        const double diagonal = diagonal_of(C);
        const double upper = upper_of(C);
        const double G = y * dot(x, w) - 1.0 + diagonal * v.a;
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
        add_scaled(K * step * y, rare(v.row), w);
        add_scaled(own * step * y, common(v.row), w);
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
      float* v = inner_.data() + static_cast<std::size_t>(slot_[shared_nodes_[s]]) * dim_;
      for (const auto& deltas : shared_deltas_) {
        for (std::size_t j = 0; j < dim_; ++j)
          v[j] += static_cast<float>(step) * deltas[s * dim_ + j];
      }
    }
  }

  /// Takes back the part 1 - step of the round's changes that is not in the shared deltas.
  void shorten(double step) {
    for (const Lane& lane : lanes_) {
      for (const Change& change : lane.changes) {
        ActiveRow& v = active_[change.target][change.position];
        const double back = -(1.0 - step) * change.step;
        v.a = std::max(0.0, v.a + (v.positive ? back : -back));
        for (const NodeId m : shared_paths_[change.target]) {
          if (shared_slot_[slot_[m]] != kNoSlot) continue;
          add_scaled(problem_.alpha[m] * back, rare(change.row),
                     inner_.data() + static_cast<std::size_t>(slot_[m]) * dim_);
        }
      }
    }
  }

  /// The common columns of the inner nodes, given the leaves' weights: each v_m in turn takes its
  /// closed form v_m / alpha_m = sum_{l in D(m)} r_l / alpha_l, where r_l = w_l - sum v is the
  /// leaf's own part.
  void update_common() {
    const std::size_t P = used_.num_common;
    if (P == 0) return;
    std::vector<double> own(targets_.size() * P, 0.0);
    executor_.for_each(targets_.size(), [&](std::size_t t, int) {
      for (const ActiveRow& v : active_[t]) {
        if (v.a != 0)
          add_scaled(private_alpha_[t] * (v.positive ? v.a : -v.a), common(v.row),
                     own.data() + t * P);
      }
    });
    const auto order = problem_.graph->topological_order();
    std::vector<double> gradient(P);
    for (int s = 0; s < kCommonSweeps; ++s) {
      for (auto m = order.rbegin(); m != order.rend(); ++m) {
        const std::uint32_t slot = slot_[*m];
        if (slot == kNoSlot) continue;
        float* v = inner_.data() + static_cast<std::size_t>(slot) * dim_;
        double curvature = 1.0 / problem_.alpha[*m];
        for (std::size_t j = 0; j < P; ++j) gradient[j] = -v[j] * curvature;
        for (const std::uint32_t t : below_[slot]) {
          const double c = 1.0 / private_alpha_[t];
          curvature += c;
          for (std::size_t j = 0; j < P; ++j) gradient[j] += c * own[t * P + j];
        }
        for (std::size_t j = 0; j < P; ++j) {
          gradient[j] /= curvature;
          v[j] += static_cast<float>(gradient[j]);
        }
        for (const std::uint32_t t : below_[slot]) {
          for (std::size_t j = 0; j < P; ++j) own[t * P + j] -= gradient[j];
        }
      }
    }
  }

  // ---- scans ----

  /// v_m from the dual variables, without the rounding that the steps have left.
  void rebuild_inner_nodes() {
    std::vector<double> squares(num_slots_, 0.0);
    std::vector<double> primal_squares(num_slots_, 0.0);
    std::vector<NodeId> node_of(num_slots_);
    for (NodeId m = 0; m < slot_.size(); ++m) {
      if (slot_[m] != kNoSlot) node_of[slot_[m]] = m;
    }
    executor_.for_each(num_slots_, [&](std::size_t slot, int) {
      std::vector<double> sum(dim_, 0.0);
      for (const std::uint32_t t : below_[slot]) {
        for (const ActiveRow& v : active_[t]) {
          if (v.a != 0) add_scaled(v.positive ? v.a : -v.a, X_.row(v.row), sum.data());
        }
      }
      const double alpha = problem_.alpha[node_of[slot]];
      float* v = inner_.data() + slot * dim_;
      for (std::size_t j = 0; j < dim_; ++j) squares[slot] += alpha * sum[j] * sum[j];
      for (std::size_t j = used_.num_common; j < dim_; ++j) {
        v[j] = static_cast<float>(alpha * sum[j]);
      }
      for (std::size_t j = 0; j < dim_; ++j) {
        primal_squares[slot] += static_cast<double>(v[j]) * v[j] / alpha;
      }
    });
    std::vector<double> private_squares(targets_.size(), 0.0);
    executor_.for_ranges(targets_.size(), 16, [&](std::size_t begin, std::size_t end, int) {
      std::vector<double> u(dim_, 0.0);
      for (std::size_t t = begin; t < end; ++t) {
        for (const ActiveRow& v : active_[t]) {
          if (v.a != 0) add_scaled(v.positive ? v.a : -v.a, X_.row(v.row), u.data());
        }
        for (const ActiveRow& v : active_[t]) {
          if (v.a == 0) continue;
          for (const FeatureId j : X_.row(v.row).columns) {
            private_squares[t] += private_alpha_[t] * u[j] * u[j];
            u[j] = 0;
          }
        }
      }
    });
    regulariser_ = 0;
    for (const double s : private_squares) regulariser_ += 0.5 * s;
    dual_regulariser_ = regulariser_;
    for (const double s : squares) dual_regulariser_ += 0.5 * s;
    for (const double s : primal_squares) regulariser_ += 0.5 * s;
  }

  double dual_value() const {
    double value = -dual_regulariser_;
    for (const auto& active : active_) {
      for (const ActiveRow& v : active) {
        value += v.a - 0.5 * diagonal_of(cost(v.row)) * v.a * v.a;
      }
    }
    return value;
  }

  /// w_l of up to kScanWidth consecutive targets, feature-major.
  void fill_block(std::size_t first, std::size_t count, std::vector<float>& block) const {
    block.assign(static_cast<std::size_t>(dim_) * detail::kScanWidth, 0.0F);
    for (std::size_t t = first; t < first + count; ++t) {
      float* column = block.data() + (t - first);
      for (const NodeId m : shared_paths_[t]) {
        const float* v = inner_.data() + static_cast<std::size_t>(slot_[m]) * dim_;
        for (std::size_t j = 0; j < dim_; ++j) column[j * detail::kScanWidth] += v[j];
      }
      for (const ActiveRow& v : active_[t]) {
        if (v.a == 0) continue;
        const SparseRow x = X_.row(v.row);
        const double step = private_alpha_[t] * (v.positive ? v.a : -v.a);
        for (std::size_t k = 0; k < x.size(); ++k) {
          column[x.columns[k] * detail::kScanWidth] += static_cast<float>(step * x.values[k]);
        }
      }
    }
  }

  /// Adds rows that violate their margin to the active lists; returns C sum loss over all rows.
  double scan() {
    const std::size_t num_blocks = (targets_.size() + detail::kScanWidth - 1) / detail::kScanWidth;
    std::vector<std::vector<float>> blocks(executor_.size());
    std::vector<std::vector<std::uint16_t>> marks(executor_.size());
    return executor_.ordered_sum(num_blocks, [&](std::size_t b, int worker) {
      const std::size_t first = b * detail::kScanWidth;
      const std::size_t count = std::min(detail::kScanWidth, targets_.size() - first);
      fill_block(first, count, blocks[worker]);
      return scan_block(first, count, blocks[worker], marks[worker]);
    });
  }

  double scan_block(std::size_t first, std::size_t count, const std::vector<float>& block,
                    std::vector<std::uint16_t>& marks) {
    marks.assign(X_.num_rows(), 0);  // bit t: the row is active for target first + t
    for (std::size_t t = 0; t < count; ++t) {
      for (const ActiveRow& v : active_[first + t]) {
        marks[v.row] = static_cast<std::uint16_t>(marks[v.row] | (1U << t));
      }
    }
    std::vector<float> scores(kScanRows * detail::kScanWidth);
    double loss = 0;
    for (std::size_t begin = 0; begin < X_.num_rows(); begin += kScanRows) {
      const std::size_t end = std::min(X_.num_rows(), begin + kScanRows);
      detail::scan_rows(X_, begin, end, block, scores);
      for (std::size_t i = begin; i < end; ++i) {
        const float* s = scores.data() + (i - begin) * detail::kScanWidth;
        double row_loss = 0;
        for (std::size_t t = 0; t < count; ++t) {
          if (s[t] <= -1.0F) continue;
          row_loss += Loss::value(-static_cast<double>(s[t]));
          if ((marks[i] >> t & 1U) == 0 && !is_positive(first + t, static_cast<std::uint32_t>(i))) {
            active_[first + t].push_back({static_cast<std::uint32_t>(i), false, 0.0});
          }
        }
        if (row_loss != 0) loss += cost(static_cast<std::uint32_t>(i)) * row_loss;
      }
    }
    for (std::size_t t = 0; t < count; ++t) {  // positives were counted as negatives above
      for (const std::uint32_t i : positives_[first + t]) {
        const SparseRow x = X_.row(i);
        float s = 0;
        for (std::size_t k = 0; k < x.size(); ++k) {
          s += x.values[k] * block[x.columns[k] * detail::kScanWidth + t];
        }
        const double score = s;
        loss += cost(i) * (Loss::value(score) - (score > -1.0 ? Loss::value(-score) : 0.0));
      }
    }
    return loss;
  }

  /// v_m of every node over the original columns.
  WeightMatrix weights() const;

  // What one coordinate's slack must exceed to leave the list between scans, and the largest step
  // (in the gradient's unit) at which a leaf is left alone. Passes over one leaf a visit.
  static constexpr double kDropMargin = 0.1;
  static constexpr double kSettled = 1e-6;
  static constexpr int kInnerPasses = 2;
  static constexpr int kMostSweepsBetweenScans = 20;
  static constexpr int kCommonSweeps = 5;  // Gauss-Seidel sweeps of update_common

  const JointDualOptions& options_;
  const AdditiveProblem& problem_;
  Executor& executor_;
  RunControl& control_;
  detail::UsedColumns used_;
  CsrView X_;
  std::vector<double> squared_norms_;
  AncestorSets ancestors_;
  Random random_;

  std::vector<NodeId> targets_;        // in depth-first order; "target t" is targets_[t]
  std::vector<double> path_sum_;       // K_l
  std::vector<double> private_alpha_;  // the part of K_l on nodes with no other target below
  std::vector<std::vector<NodeId>> shared_paths_;  // the rest of A(l), ascending
  std::vector<std::uint32_t> slot_;                // node -> row of inner_, or kNoSlot
  std::uint32_t num_slots_ = 0;
  std::size_t dim_ = 0;
  std::vector<float> inner_;  // v_m of the nodes with a slot: num_slots_ x dim_
  std::vector<std::vector<std::uint32_t>> positives_;
  std::vector<std::vector<ActiveRow>> active_;
  double regulariser_ = 0;
  double dual_regulariser_ = 0;
  std::vector<double> rare_norms_;
  std::vector<std::vector<std::uint32_t>> below_;  // slot -> targets below

  std::vector<Lane> lanes_;
  std::vector<std::vector<double>> before_{kLanes};
  std::vector<NodeId> shared_nodes_;         // of this round
  std::vector<std::uint32_t> lane_of_node_;  // slot -> first lane that meets it
  std::vector<std::uint32_t> shared_slot_;   // slot -> position in shared_nodes_, or kNoSlot
  std::vector<std::vector<float>> shared_deltas_;
};

template <class Loss>
WeightMatrix JointDescent<Loss>::weights() const {
  // Column lists of each node first, then a transposition to feature-major rows.
  CsrMatrix by_node(problem_.X.num_columns());
  std::vector<std::uint32_t> target_of(problem_.graph->num_nodes(), kNoSlot);
  // The nodes without a slot and the target whose dual variables they follow.
  for (std::uint32_t t = 0; t < targets_.size(); ++t) {
    for (const NodeId m : ancestors_[targets_[t]]) {
      if (slot_[m] == kNoSlot) target_of[m] = t;
    }
  }
  std::vector<double> dense(dim_, 0.0);
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (NodeId m = 0; m < problem_.graph->num_nodes(); ++m) {
    columns.clear();
    values.clear();
    if (target_of[m] != kNoSlot) {
      for (const ActiveRow& v : active_[target_of[m]]) {
        if (v.a != 0) {
          add_scaled(problem_.alpha[m] * (v.positive ? v.a : -v.a), X_.row(v.row), dense.data());
        }
      }
    } else if (slot_[m] != kNoSlot) {
      const float* v = inner_.data() + static_cast<std::size_t>(slot_[m]) * dim_;
      for (std::size_t j = 0; j < dim_; ++j) dense[j] = v[j];
    }
    for (std::size_t j = 0; j < dim_; ++j) {
      if (dense[j] != 0 && static_cast<float>(dense[j]) != 0.0F) {
        columns.push_back(used_.original[j]);
        values.push_back(static_cast<float>(dense[j]));
      }
      dense[j] = 0;
    }
    by_node.append_row(columns, values);
  }
  return WeightMatrix::sparse(transpose(by_node)).compacted();
}

}  // namespace

RecursiveFit train_joint_dual(const AdditiveProblem& problem, const JointDualOptions& options,
                              Executor& executor, RunControl& control) {
  validate(options);
  require(problem.labels->num_rows() == problem.X.num_rows(),
          "joint_dual: ", problem.labels->num_rows(), " label sets, but ", problem.X.num_rows(),
          " rows");
  require(problem.alpha.size() == problem.graph->num_nodes(), "joint_dual: ", problem.alpha.size(),
          " node weights, but ", problem.graph->num_nodes(), " nodes");
  require(problem.row_weights.empty() || problem.row_weights.size() == problem.X.num_rows(),
          "joint_dual: ", problem.row_weights.size(), " row weights, but ", problem.X.num_rows(),
          " rows");
  if (detail::suits_joint_dense(problem)) {
    RecursiveFit fit =
        detail::train_joint_dense(problem, point_loss_from_string(options.loss), options.C,
                                  options.tolerance, options.max_passes, executor, control);
    // A tight tolerance on the hinge can be out of reach of its float32 scores.
    if (fit.stop != Stop::converged || fit.relative_gap() <= options.tolerance) return fit;
  }
  if (options.loss == "hinge") {
    return JointDescent<HingeLoss>(problem, options, executor, control).run();
  }
  return JointDescent<SquaredHingeLoss>(problem, options, executor, control).run();
}

}  // namespace margrove
