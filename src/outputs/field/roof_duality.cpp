#include "outputs/field/roof_duality.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace margrove {
namespace {
constexpr double kTiny = 1e-13;  // a capacity that counts as used up
constexpr std::uint64_t bit(std::size_t node) { return std::uint64_t{1} << (node % 64); }
}  // namespace

// Labels whose gain has the same sign whatever the others are (most labels of a large field) are
// decided first, one after the other. The flow decides the rest.
void RoofDual::solve(double constant, std::span<const double> u, std::span<const double> r) {
  size_ = u.size();
  const std::size_t literals = 2 * size_;
  unary_.assign(literals, 0.0);
  pairs_.assign(literals * literals, 0.0);
  persistent_.assign(size_, -1);
  gain_.assign(u.begin(), u.end());
  bound_ = constant + peel(r);
  core_.clear();
  for (std::size_t k = 0; k < size_; ++k) {
    if (persistent_[k] < 0) core_.push_back(k);
  }
  if (!core_.empty()) solve_core(r);
}

// gain_[k] is the gain of y_k = 1 given the decided labels. Whatever the open labels l are, its
// gain lies between least_[k] = gain_[k] + sum_l min(0, r_kl) and most_[k] = gain_[k] + sum_l
// max(0, r_kl). If both have the same sign, the wrong value w of y_k is penalised by |least_| or
// |most_| plus |r_kl| for one value of each open l, all >= 0:
//   w = 1: -most + sum_{r_kl > 0} r_kl (1 - y_l) + sum_{r_kl < 0} -r_kl y_l,
//   w = 0: least + sum_{r_kl > 0} r_kl y_l + sum_{r_kl < 0} -r_kl (1 - y_l).
// Returns the sum of the gains of the labels that are set to 1.
double RoofDual::peel(std::span<const double> r) {
  least_ = most_ = gain_;
  for (std::size_t k = 0; k < size_; ++k) {
    const double* row = &r[k * size_];
    double below = 0.0, above = 0.0;
#pragma omp simd reduction(+ : below, above)
    for (std::size_t l = 0; l < size_; ++l) {
      below += std::min(row[l], 0.0);
      above += std::max(row[l], 0.0);
    }
    least_[k] += below - std::min(row[k], 0.0);
    most_[k] += above - std::max(row[k], 0.0);
  }
  double taken = 0.0;
  bool any = true;
  while (any) {
    any = false;
    for (std::size_t k = 0; k < size_; ++k) {
      if (persistent_[k] >= 0 || !(least_[k] > 0.0 || most_[k] <= 0.0)) continue;
      any = true;
      const bool value = least_[k] > 0.0;
      persistent_[k] = value ? 1 : 0;
      const std::size_t wrong = 2 * k + (value ? 0 : 1);
      unary_[wrong] = value ? least_[k] : -most_[k];
      if (value) taken += gain_[k];
      for (std::size_t l = 0; l < size_; ++l) {
        const double each = r[k * size_ + l];
        if (l == k || persistent_[l] >= 0 || each == 0.0) continue;
        const std::size_t other = 2 * l + ((each > 0.0) == value ? 1 : 0);
        pairs_[wrong * 2 * size_ + other] = pairs_[other * 2 * size_ + wrong] = std::abs(each);
        if (value) gain_[l] += each;
        if ((each > 0.0) == value) {
          least_[l] += std::abs(each);
        } else {
          most_[l] -= std::abs(each);
        }
      }
    }
  }
  return taken;
}

// Minimises E = -f over the open labels. Literal 2k + 1 stands for y_k and 2k for 1 - y_k. E is
// written as a constant plus a sum of non-negative multiples of literals and of products of two
// literals. A product c p q becomes the arcs p -> not q and q -> not p of capacity c/2 each, a
// literal c p the arcs source -> not p and p -> sink. The maximum flow from source to sink is what
// the constant, a lower bound on E, can still gain.
void RoofDual::solve_core(std::span<const double> r) {
  const std::size_t n = core_.size(), literals = 2 * n, nodes = literals + 2;
  const std::size_t source = literals, sink = literals + 1;
  capacity_.assign(nodes * nodes, 0.0);
  words_ = (nodes + 63) / 64;
  open_arcs_.assign(nodes * words_, 0);
  std::vector<double> linear(n);  // coefficients of E
  for (std::size_t k = 0; k < n; ++k) linear[k] = -gain_[core_[k]];
  const auto add_arc = [&](std::size_t from, std::size_t to, double c) {
    capacity_[from * nodes + to] = c;
    if (c > kTiny) open_arcs_[from * words_ + to / 64] |= bit(to);
  };
  const auto add_pair = [&](std::size_t p, std::size_t q, double c) {  // call it once per pair
    add_arc(p, q ^ 1, 0.5 * c);
    add_arc(q, p ^ 1, 0.5 * c);
  };
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = k + 1; l < n; ++l) {
      const double b = -r[core_[k] * size_ + core_[l]];
      if (b > 0.0) {
        add_pair(2 * k + 1, 2 * l + 1, b);
      } else if (b < 0.0) {
        // b y_k y_l = b/2 (y_k + y_l) - b/2 (y_k (1 - y_l) + (1 - y_k) y_l)
        linear[k] += 0.5 * b;
        linear[l] += 0.5 * b;
        add_pair(2 * k + 1, 2 * l, -0.5 * b);
        add_pair(2 * k, 2 * l + 1, -0.5 * b);
      }
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t p = linear[k] > 0.0 ? 2 * k + 1 : 2 * k;
    if (linear[k] < 0.0) bound_ -= linear[k];
    const double c = 0.5 * std::abs(linear[k]);
    add_arc(source, p ^ 1, c);
    add_arc(p, sink, c);
  }
  double flow = 0.0;
  while (build_levels(source, sink)) {
    flow += push(source, sink, 0, std::numeric_limits<double>::infinity());
  }
  bound_ -= flow;
  // The residual capacities are the coefficients of E that remain. An arc p -> not q and its mirror
  // image q -> not p may carry different flow; their average is a maximum flow, too.
  const auto whole = [&](std::size_t p) { return 2 * core_[p / 2] + p % 2; };
  for (std::size_t p = 0; p < literals; ++p) {
    unary_[whole(p)] = capacity_[p * nodes + sink] + capacity_[source * nodes + (p ^ 1)];
    for (std::size_t q = 0; q < p / 2 * 2; ++q) {  // not p's own label
      pairs_[whole(p) * 2 * size_ + whole(q)] = pairs_[whole(q) * 2 * size_ + whole(p)] =
          capacity_[p * nodes + (q ^ 1)] + capacity_[q * nodes + (p ^ 1)];
    }
  }
  // A literal reached from the source by residual arcs is true in every minimiser.
  const auto is_reached = [&](std::size_t p) { return (reached_[p / 64] & bit(p)) != 0; };
  for (std::size_t k = 0; k < n; ++k) {
    const bool one = is_reached(2 * k + 1), zero = is_reached(2 * k);
    if (one != zero) persistent_[core_[k]] = one ? 1 : 0;
  }
}

// Breadth-first search over the arcs with capacity left. levels_[d * words_ ...] has the nodes at
// distance d. It ends at the level of the sink. If the sink cannot be reached, reached_ has all
// nodes that can.
bool RoofDual::build_levels(std::size_t source, std::size_t sink) {
  reached_.assign(words_, 0);
  reached_[source / 64] |= bit(source);
  levels_ = reached_;
  for (std::size_t begin = 0;; begin += words_) {
    levels_.resize(begin + 2 * words_, 0);
    bool any = false;
    for (std::size_t j = 0; j < words_; ++j) {
      for (std::uint64_t left = levels_[begin + j]; left != 0; left &= left - 1) {
        const std::size_t node = 64 * j + static_cast<std::size_t>(std::countr_zero(left));
        for (std::size_t k = 0; k < words_; ++k) {
          levels_[begin + words_ + k] |= open_arcs_[node * words_ + k];
        }
      }
    }
    for (std::size_t k = 0; k < words_; ++k) {
      std::uint64_t& next = levels_[begin + words_ + k];
      next &= ~reached_[k];
      reached_[k] |= next;
      any = any || next != 0;
    }
    if (!any) return false;
    if (reached_[sink / 64] & bit(sink)) {  // no other node of its level is needed
      std::fill(levels_.end() - static_cast<std::ptrdiff_t>(words_), levels_.end(), 0);
      levels_[begin + words_ + sink / 64] = bit(sink);
      return true;
    }
  }
}

// Pushes as much flow from a node to the sink as the levels allow, at most `limit`, and returns the
// amount. A node that cannot pass on all of it is removed from its level.
double RoofDual::push(std::size_t node, std::size_t sink, std::size_t level, double limit) {
  if (node == sink) return limit;
  const std::size_t nodes = 2 * core_.size() + 2;
  double passed = 0.0;
  for (std::size_t j = 0; j < words_; ++j) {
    while (true) {
      const std::uint64_t next = open_arcs_[node * words_ + j] & levels_[(level + 1) * words_ + j];
      if (next == 0) break;
      const std::size_t to = 64 * j + static_cast<std::size_t>(std::countr_zero(next));
      double& forward = capacity_[node * nodes + to];
      const double pushed = push(to, sink, level + 1, std::min(limit - passed, forward));
      forward -= pushed;
      capacity_[to * nodes + node] += pushed;
      if (!(forward > kTiny)) open_arcs_[node * words_ + j] &= ~bit(to);
      if (capacity_[to * nodes + node] > kTiny) {
        open_arcs_[to * words_ + node / 64] |= bit(node);
      }
      passed += pushed;
      if (!(limit - passed > kTiny)) return passed;
    }
  }
  levels_[level * words_ + node / 64] &= ~bit(node);
  return passed;
}

namespace {

class Brancher {
 public:
  Brancher(const RoofDual& dual, std::int64_t max_nodes, Wanted wanted,
           const std::function<double()>& threshold,
           const std::function<void(const std::vector<std::uint8_t>&, double)>& visit)
      : dual_(dual),
        left_(max_nodes),
        threshold_(threshold),
        visit_(visit),
        y_(dual.size(), 0),
        open_(dual.size()) {
    std::iota(open_.begin(), open_.end(), std::size_t{0});
    if (wanted == Wanted::one_best) {
      const auto is_decided = [&](std::size_t k) { return dual.persistent()[k] >= 0; };
      const auto end = std::stable_partition(open_.begin(), open_.end(), is_decided);
      num_fixed_ = static_cast<std::size_t>(end - open_.begin());
      // The pairwise penalties of persistent labels at their values are 0 but for rounding.
      for (std::size_t j = 0; j < num_fixed_; ++j) {
        y_[open_[j]] = dual.persistent()[open_[j]] > 0 ? 1 : 0;
      }
    }
    cost_.resize((dual.size() - num_fixed_ + 1) * 2 * dual.size());
    for (std::size_t k = 0; k < dual.size(); ++k) {
      for (const bool value : {false, true}) cost_[2 * k + value] = dual.penalty(k, value);
    }
  }

  bool run() { return run(num_fixed_, 0.0); }

 private:
  // cost[2k + v] is the penalty of y_k = v given the labels fixed so far. Each open label costs at
  // least the cheaper of its values.
  bool run(std::size_t depth, double paid) {
    if (left_-- <= 0) return false;
    const std::size_t K = dual_.size();
    const double* cost = &cost_[(depth - num_fixed_) * 2 * K];
    double bound = dual_.bound() - paid;
    std::size_t pick = depth;
    double widest = -1.0;
    for (std::size_t j = depth; j < K; ++j) {
      const double zero = cost[2 * open_[j]], one = cost[2 * open_[j] + 1];
      bound -= std::min(zero, one);
      if (std::abs(zero - one) > widest) {
        widest = std::abs(zero - one);
        pick = j;
      }
    }
    if (bound <= threshold_()) return true;
    if (depth == K) {
      visit_(y_, bound);
      return true;
    }
    std::swap(open_[depth], open_[pick]);
    const std::size_t k = open_[depth];
    const bool first = cost[2 * k + 1] < cost[2 * k];
    double* below = &cost_[(depth - num_fixed_ + 1) * 2 * K];
    bool complete = true;
    for (const bool value : {first, !first}) {
      for (std::size_t j = depth + 1; j < K; ++j) {
        const std::size_t l = open_[j];
        below[2 * l] = cost[2 * l] + dual_.penalty(k, value, l, false);
        below[2 * l + 1] = cost[2 * l + 1] + dual_.penalty(k, value, l, true);
      }
      y_[k] = value ? 1 : 0;
      complete = run(depth + 1, paid + cost[2 * k + (value ? 1 : 0)]) && complete;
      if (left_ <= 0) {
        complete = false;
        break;
      }
    }
    return complete;
  }

  const RoofDual& dual_;
  std::int64_t left_;
  const std::function<double()>& threshold_;
  const std::function<void(const std::vector<std::uint8_t>&, double)>& visit_;
  std::vector<std::uint8_t> y_;
  std::vector<std::size_t> open_;  // the first num_fixed_ or `depth` are decided
  std::size_t num_fixed_ = 0;
  std::vector<double> cost_;
};

}  // namespace

bool branch(const RoofDual& dual, std::int64_t max_nodes, Wanted wanted,
            const std::function<double()>& threshold,
            const std::function<void(const std::vector<std::uint8_t>&, double)>& visit) {
  double bound = dual.bound();
  for (std::size_t k = 0; k < dual.size(); ++k) {
    bound -= std::min(dual.penalty(k, false), dual.penalty(k, true));
  }
  if (max_nodes > 0 && bound <= threshold()) return true;
  return Brancher(dual, max_nodes, wanted, threshold, visit).run();
}

}  // namespace margrove
