// Primal  min sum_n alpha_n^rho / rho,  K alpha = s,  1 <= s <= longest,  alpha >= 0,  E alpha >=
// 0. K has one row per leaf (the sum over its path) and E, if directional, one per edge (child less
// parent). With multipliers lambda of K alpha = s, z, v >= 0 of alpha and t = E alpha, and
// low, high >= 0 of the bounds of s, the conditions of optimality are
//
//   f'(alpha) = K' lambda + z + E' v,   lambda = low - high,   f'(alpha)_n = alpha_n^(rho - 1),
//   alpha_n z_n = t_e v_e = (s_l - 1) low_l = (longest - s_l) high_l = 0.
//
// Predictor-corrector steps of [Mehrotra1992], centred as in [Gondzio1996], towards them. Setting
// alpha_l = s_l - (the sum above leaf l) eliminates the leaves from each system, which leaves one
// unknown per inner node (NodeSystem).

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "hierarchy/node_system.hpp"
#include "hierarchy/weight_program.hpp"

namespace margrove::detail {
namespace {

using Vector = std::vector<double>;
constexpr double kStiff = 1e8;  // curvature of that penalty, which fixes a weight

// Nodes are numbered inner ones by place first, then leaves.
class InteriorPoint {
 public:
  InteriorPoint(const LabelGraph& graph, const WeightProgram& program);
  bool fits() const { return system_.fits(); }
  WeightSolution run(double tolerance, int max_steps, RunControl& control);

 private:
  struct Point {
    Vector alpha, z;              // one per node
    Vector lambda, s, low, high;  // one per leaf
    Vector t, v;                  // one per edge
  };

  /// A variable and its multiplier, whose product is 0 at the optimum; the step of each; and the
  /// coefficients of the pair's equation, dmultiplier = c - w dvalue.
  struct Pair {
    double value, step, multiplier, multiplier_step;
    double &c, &w;
  };
  template <class Visit>
  void for_pairs(const Visit& visit);

  void start();
  void start_on_edges(double share);
  void find_residuals();
  double complementarity(double length);
  void set_weights();
  void set_active_weights();
  bool factorize();
  void set_targets(double target, bool corrects);
  void centre(double target, double length);
  void set_active_targets();
  void find_step();
  double longest_step();
  double centred_step(double target);
  void advance(double length);
  double round(WeightSolution& rounded) const;
  void follow_multipliers();
  bool polish(double tolerance, WeightSolution& best);

  std::size_t child_of(const NodeSystem::Edge& e) const {
    return e.child_is_leaf ? num_inner_ + e.child : e.child;
  }
  // Odd and even extensions, for the steps on active sets.
  double slope(double alpha) const {
    if (program_.rho == 2) return alpha;
    return std::copysign(std::pow(std::fabs(alpha), program_.rho - 1), alpha);
  }
  double curvature(double alpha) const {
    if (program_.rho == 2) return 1.0;
    const double curvature = (program_.rho - 1) * std::pow(std::fabs(alpha), program_.rho - 2);
    return std::min(curvature, kStiff);  // infinite at 0 if rho < 2
  }

  WeightProgram program_;
  NodeSystem system_;
  std::size_t num_inner_, num_leaves_, num_edges_;
  bool has_range_;
  std::size_t num_pairs_;
  Point point_, step_;
  Vector adjoint_;                            // K' lambda + E' v
  Vector r_alpha_, r_path_, r_lambda_, r_t_;  // of f' = ..., K alpha = s, lambda = ..., t = E alpha
  // A step has  dz = c_z - w_z dalpha,  dv = c_v - w_v dt,  dlow = c_low - w_low ds,
  // dhigh = c_high + w_high ds.
  Point c_, w_;
  Vector diagonal_, leaf_weight_;  // of the system: one per node, one per leaf
  Vector b_, inner_, above_;       // right sides, and what find_step works with
};

InteriorPoint::InteriorPoint(const LabelGraph& graph, const WeightProgram& program)
    : program_(program),
      system_(graph),
      num_inner_(system_.num_inner()),
      num_leaves_(graph.leaves().size()),
      num_edges_(program.directional ? system_.edges().size() : 0),
      has_range_(program.longest > 1),
      num_pairs_(num_inner_ + num_leaves_ + num_edges_ + (has_range_ ? 2 * num_leaves_ : 0)) {}

template <class Visit>
void InteriorPoint::for_pairs(const Visit& visit) {
  const Point &x = point_, &d = step_;
  for (std::size_t n = 0; n < x.z.size(); ++n) {
    visit(Pair{x.alpha[n], d.alpha[n], x.z[n], d.z[n], c_.z[n], w_.z[n]});
  }
  for (std::size_t e = 0; e < num_edges_; ++e) {
    visit(Pair{x.t[e], d.t[e], x.v[e], d.v[e], c_.v[e], w_.v[e]});
  }
  for (std::size_t l = 0; has_range_ && l < num_leaves_; ++l) {
    visit(Pair{x.s[l] - 1, d.s[l], x.low[l], d.low[l], c_.low[l], w_.low[l]});
    visit(Pair{program_.longest - x.s[l], -d.s[l], x.high[l], d.high[l], c_.high[l], w_.high[l]});
  }
}

// Starts where all path sums are right and all inner weights are equal.
void InteriorPoint::start() {
  const std::size_t num_nodes = num_inner_ + num_leaves_;
  std::size_t longest_path = 1;
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    longest_path = std::max(longest_path, system_.above(l).size() + 1);
  }
  const double share = 1.0 / static_cast<double>(longest_path);
  point_.s.assign(num_leaves_, has_range_ ? 0.5 * (1 + program_.longest) : 1.0);
  point_.alpha.assign(num_nodes, share);
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    point_.alpha[num_inner_ + l] =
        point_.s[l] - share * static_cast<double>(system_.above(l).size());
  }
  point_.z.assign(num_nodes, 0.2);
  point_.lambda.assign(num_leaves_, 0.0);
  if (has_range_) {
    point_.low.assign(num_leaves_, slope(share));
    point_.high = point_.low;
  }
  point_.t.assign(num_edges_, share);
  point_.v.assign(num_edges_, slope(share));
  if (num_edges_ > 0) start_on_edges(share);
  step_ = point_;
  step_.s.assign(num_leaves_, 0.0);
  c_ = w_ = step_;
  for (Vector* v : {&adjoint_, &r_alpha_, &diagonal_, &b_}) v->assign(num_nodes, 0.0);
  for (Vector* v : {&r_path_, &r_lambda_, &leaf_weight_, &above_}) v->assign(num_leaves_, 0.0);
  r_t_.assign(num_edges_, 0.0);
  inner_.assign(num_inner_, 0.0);
}

// The multipliers of upper edges are large at the optimum, because they cancel what the multipliers
// of the leaves add to all ancestors. So lambda starts where the conditions hold on average, v
// where they hold at inner nodes apart from z, and all products start equal.
void InteriorPoint::start_on_edges(double share) {
  constexpr double kProduct = 0.1;
  double slopes = 0, ancestors = 0;
  for (const double alpha : point_.alpha) slopes += slope(alpha);
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    ancestors += static_cast<double>(system_.above(l).size() + 1);
  }
  std::fill(point_.lambda.begin(), point_.lambda.end(), slopes / ancestors);
  Vector surplus(num_inner_, -slope(share));
  system_.add_below(point_.lambda, surplus);
  point_.v = system_.flows_down(surplus, slope(share));
  for (std::size_t e = 0; e < num_edges_; ++e) point_.t[e] = kProduct / point_.v[e];
  for (std::size_t n = 0; n < point_.z.size(); ++n) point_.z[n] = kProduct / point_.alpha[n];
}

void InteriorPoint::find_residuals() {
  const Point& x = point_;
  std::fill(adjoint_.begin(), adjoint_.end(), 0.0);
  system_.add_below(x.lambda, std::span(adjoint_).first(num_inner_));
  std::copy(x.lambda.begin(), x.lambda.end(),
            adjoint_.begin() + static_cast<std::ptrdiff_t>(num_inner_));
  for (std::size_t e = 0; e < num_edges_; ++e) {
    const auto& edge = system_.edges()[e];
    adjoint_[child_of(edge)] += x.v[e];
    adjoint_[edge.parent] -= x.v[e];
    r_t_[e] = x.t[e] - (x.alpha[child_of(edge)] - x.alpha[edge.parent]);
  }
  for (std::size_t n = 0; n < x.alpha.size(); ++n) {
    r_alpha_[n] = slope(x.alpha[n]) - adjoint_[n] - x.z[n];
  }
  system_.sum_above(x.alpha, above_);
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    r_path_[l] = x.s[l] - above_[l] - x.alpha[num_inner_ + l];
    if (has_range_) r_lambda_[l] = x.lambda[l] - x.low[l] + x.high[l];
  }
}

// The mean product of a variable and its multiplier after a step.
double InteriorPoint::complementarity(double length) {
  double sum = 0;
  for_pairs([&](const Pair& p) {
    sum += (p.value + length * p.step) * (p.multiplier + length * p.multiplier_step);
  });
  return sum / static_cast<double>(num_pairs_);
}

// Newton's equations for the products of the pairs.
void InteriorPoint::set_weights() {
  for_pairs([](const Pair& p) { p.w = p.multiplier / p.value; });
}

// Makes `target` the product of each pair, less the product of the last step if it corrects.
void InteriorPoint::set_targets(double target, bool corrects) {
  const double corrected = corrects ? 1.0 : 0.0;
  for_pairs([&](const Pair& p) {
    p.c = (target - corrected * p.step * p.multiplier_step) / p.value - p.multiplier;
  });
}

// Changes the targets of pairs whose products a step of `length` would leave far from `target`, so
// that they come closer to it [Gondzio1996].
void InteriorPoint::centre(double target, double length) {
  constexpr double kSpread = 10;
  for_pairs([&](const Pair& p) {
    const double product =
        (p.value + length * p.step) * (p.multiplier + length * p.multiplier_step);
    const double change = std::clamp(product, target / kSpread, kSpread * target) - product;
    p.c += std::max(change, -kSpread * target) / p.value;
  });
}

// In each pair, the multiplier becomes 0 if it is the smaller one. Otherwise a large quadratic
// penalty moves the variable to 0, and its gradient is added to the multiplier (method of
// multipliers).
void InteriorPoint::set_active_weights() {
  const auto weight = [](double value, double multiplier) {
    return value < multiplier ? kStiff : 0.0;
  };
  const Point& x = point_;
  for (std::size_t n = 0; n < x.z.size(); ++n) w_.z[n] = weight(slope(x.alpha[n]), x.z[n]);
  for (std::size_t e = 0; e < num_edges_; ++e) w_.v[e] = weight(x.t[e], x.v[e]);
  for (std::size_t l = 0; has_range_ && l < num_leaves_; ++l) {
    w_.low[l] = weight(x.s[l] - 1, x.low[l]);
    w_.high[l] = weight(program_.longest - x.s[l], x.high[l]);
  }
}

void InteriorPoint::set_active_targets() {
  for_pairs([](const Pair& p) { p.c = p.w > 0 ? -p.w * p.value : -p.multiplier; });
}

bool InteriorPoint::factorize() {
  for (std::size_t n = 0; n < diagonal_.size(); ++n) {
    diagonal_[n] = curvature(point_.alpha[n]) + w_.z[n];
  }
  for (std::size_t e = 0; e < num_edges_; ++e) {
    const auto& edge = system_.edges()[e];
    diagonal_[child_of(edge)] += w_.v[e];
    diagonal_[edge.parent] += w_.v[e];
  }
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    const double d = diagonal_[num_inner_ + l];
    const double range = has_range_ ? w_.low[l] + w_.high[l] : 0.0;
    leaf_weight_[l] = has_range_ ? d * (range / (range + d)) : d;
  }
  return system_.factorize(std::span(diagonal_).first(num_inner_), leaf_weight_, w_.v);
}

void InteriorPoint::find_step() {
  for (std::size_t n = 0; n < b_.size(); ++n) b_[n] = c_.z[n] - r_alpha_[n];
  for (std::size_t e = 0; e < num_edges_; ++e) {
    const auto& edge = system_.edges()[e];
    const double force = c_.v[e] + w_.v[e] * r_t_[e];
    b_[child_of(edge)] += force;
    b_[edge.parent] -= force;
  }
  Vector& at_leaf = step_.lambda;  // as scratch
  Vector& along = step_.s;
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    const double d = diagonal_[num_inner_ + l], b = b_[num_inner_ + l];
    at_leaf[l] = leaf_weight_[l] * r_path_[l] - b;
    if (!has_range_) continue;
    const double range = w_.low[l] + w_.high[l], q = c_.low[l] - c_.high[l] - r_lambda_[l];
    at_leaf[l] += d * (q + b) / (range + d);
    along[l] = (q + b - d * r_path_[l]) / (range + d);
  }
  std::copy_n(b_.begin(), num_inner_, inner_.begin());
  system_.add_below(at_leaf, inner_);
  for (std::size_t e = 0; e < num_edges_; ++e) {
    const auto& edge = system_.edges()[e];
    if (edge.child_is_leaf) inner_[edge.parent] += w_.v[e] * r_path_[edge.child];
  }
  system_.solve(inner_);
  system_.sum_above(inner_, above_);
  std::copy(inner_.begin(), inner_.end(), step_.alpha.begin());
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    const double d = diagonal_[num_inner_ + l];
    if (has_range_) {
      along[l] += d * above_[l] / (w_.low[l] + w_.high[l] + d);
      step_.low[l] = c_.low[l] - w_.low[l] * along[l];
      step_.high[l] = c_.high[l] + w_.high[l] * along[l];
    }
    step_.alpha[num_inner_ + l] = r_path_[l] + along[l] - above_[l];
    step_.lambda[l] = d * step_.alpha[num_inner_ + l] - b_[num_inner_ + l];
  }
  for (std::size_t n = 0; n < b_.size(); ++n) {
    step_.z[n] = c_.z[n] - w_.z[n] * step_.alpha[n];
  }
  for (std::size_t e = 0; e < num_edges_; ++e) {
    const auto& edge = system_.edges()[e];
    step_.t[e] = step_.alpha[child_of(edge)] - step_.alpha[edge.parent] - r_t_[e];
    step_.v[e] = c_.v[e] - w_.v[e] * step_.t[e];
    if (edge.child_is_leaf) step_.lambda[edge.child] -= w_.v[e] * step_.alpha[edge.parent];
  }
}

double InteriorPoint::longest_step() {
  constexpr double kShare = 0.995;  // of the way to the boundary
  double length = 1 / kShare;
  const auto limit = [&](double value, double step) {
    if (step < 0) length = std::min(length, -value / step);
  };
  for_pairs([&](const Pair& p) {
    limit(p.value, p.step);
    limit(p.multiplier, p.multiplier_step);
  });
  return kShare * length;
}

// The length of the step, which is centred if that makes it longer, as a solution costs little
// compared with a factorisation. More than one correction saved no factorisation.
double InteriorPoint::centred_step(double target) {
  constexpr double kLong = 0.9, kReach = 0.3;
  const double length = longest_step();
  if (length >= kLong) return length;
  const Point before = step_;
  centre(target, std::min(1.0, length + kReach));
  find_step();
  const double centred = longest_step();
  if (centred >= length) return centred;
  step_ = before;
  return length;
}

void InteriorPoint::advance(double length) {
  const auto move = [&](Vector& values, const Vector& step) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += length * step[i];
  };
  move(point_.alpha, step_.alpha);
  move(point_.z, step_.z);
  move(point_.lambda, step_.lambda);
  if (has_range_) {
    move(point_.s, step_.s);
    move(point_.low, step_.low);
    move(point_.high, step_.high);
  }
  move(point_.t, step_.t);
  move(point_.v, step_.v);
}

// Weights whose slopes are below their multipliers become 0, as K' lambda + E' v implies. Returns
// the largest violation of the conditions that involve lambda and v only: min(value, multiplier) =
// 0 of each pair, and the path sums.
double InteriorPoint::round(WeightSolution& rounded) const {
  const Point& x = point_;
  Vector alpha = x.alpha;
  double worst = 0;
  for (std::size_t n = 0; n < alpha.size(); ++n) {
    if (slope(alpha[n]) < std::max(x.z[n], 0.0)) alpha[n] = 0;
    worst = std::max(worst, std::fabs(std::min(alpha[n], slope(alpha[n]) - adjoint_[n])));
  }
  Vector sums(num_leaves_);
  system_.sum_above(alpha, sums);
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    const double sum = sums[l] + alpha[num_inner_ + l];
    const double right = std::clamp(sum - x.lambda[l], 1.0, program_.longest);
    worst = std::max(worst, std::fabs(sum - right));
  }
  for (std::size_t e = 0; e < num_edges_; ++e) {
    const auto& edge = system_.edges()[e];
    const double above = alpha[child_of(edge)] - alpha[edge.parent];
    worst = std::max(worst, std::fabs(std::min(above, x.v[e])));
  }
  rounded.alpha = std::move(alpha);
  return rounded.kkt_residual = worst;
}

// Where slopes are steep at 0, weights are computed from the multipliers, because alpha = max(0, K'
// lambda + E' v)^(q - 1), 1/rho + 1/q = 1, is smooth.
void InteriorPoint::follow_multipliers() {
  for (std::size_t n = 0; n < adjoint_.size(); ++n) {
    point_.alpha[n] = adjoint_[n] > 0 ? std::pow(adjoint_[n], 1 / (program_.rho - 1)) : 0.0;
    point_.z[n] = std::max(-adjoint_[n], 0.0);
  }
  find_residuals();
}

// Newton steps from the present point on the conditions with the smaller one of each pair at 0.
// Returns whether they reach the tolerance; if not, the point is as before.
bool InteriorPoint::polish(double tolerance, WeightSolution& best) {
  constexpr int kMaxSets = 8;
  const bool follows = program_.rho < 2;
  const int most_steps = follows ? 1 : 5;  // with the same factors
  const Point saved = point_;
  WeightSolution present;
  double of_last_set = std::numeric_limits<double>::infinity();
  for (int set = 0; set < kMaxSets; ++set) {
    find_residuals();
    if (follows) follow_multipliers();
    set_active_weights();
    if (!factorize()) break;
    double before = std::numeric_limits<double>::infinity();
    for (int count = 0; count < most_steps; ++count) {
      set_active_targets();
      find_step();
      advance(1.0);
      find_residuals();
      if (follows) follow_multipliers();
      const double residual = round(present);
      if (residual < best.kkt_residual) {
        best.kkt_residual = residual;
        best.alpha = present.alpha;
      }
      ++best.iterations;
      if (residual <= tolerance) return true;
      if (residual > 0.5 * before) break;
      before = residual;
    }
    if (set > 1 && present.kkt_residual > 0.5 * of_last_set) break;
    of_last_set = present.kkt_residual;
  }
  point_ = saved;
  find_residuals();
  return false;
}

WeightSolution InteriorPoint::run(double tolerance, int max_steps, RunControl& control) {
  constexpr double kPolished = 1e-11;  // products below which steps on the active set may end it
  WeightSolution best, present;
  best.kkt_residual = std::numeric_limits<double>::infinity();
  best.stop = Stop::pass_limit;
  start();
  double last_polished = kPolished;
  for (int count = 0; count < max_steps; ++count) {
    find_residuals();
    if (round(present) < best.kkt_residual) {
      std::swap(best.alpha, present.alpha);
      best.kkt_residual = present.kkt_residual;
    }
    const double product = complementarity(0);
    if (best.kkt_residual <= tolerance) {
      best.stop = Stop::converged;
      break;
    }
    if (!control.proceed({.stage = "node weights", .done = count, .unit = Progress::Unit::steps})) {
      best.stop = control.stop_reason();
      break;
    }
    if (product < last_polished) {
      last_polished = 0.02 * product;
      if (polish(tolerance, best)) {
        best.stop = Stop::converged;
        break;
      }
    }
    set_weights();
    if (!factorize()) break;
    set_targets(0, false);
    find_step();
    const double ratio = complementarity(longest_step()) / product;
    const double target = ratio * ratio * ratio * product;
    set_targets(target, true);
    find_step();
    const double length = centred_step(target);
    if (!(length > 0)) break;
    advance(length);
    ++best.iterations;
  }
  Vector by_node(best.alpha.size());
  for (std::size_t k = 0; k < num_inner_; ++k) by_node[system_.node_at(k)] = best.alpha[k];
  for (std::size_t l = 0; l < num_leaves_; ++l) {
    by_node[system_.leaf_at(l)] = best.alpha[num_inner_ + l];
  }
  best.alpha = std::move(by_node);
  return best;
}

}  // namespace

std::optional<WeightSolution> solve_by_interior_points(const LabelGraph& graph,
                                                       const WeightProgram& program,
                                                       double tolerance, int max_steps,
                                                       RunControl& control) {
  InteriorPoint run(graph, program);
  if (!run.fits()) return std::nullopt;
  return run.run(tolerance, max_steps, control);
}

}  // namespace margrove::detail
