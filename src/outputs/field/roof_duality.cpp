#include "outputs/field/roof_duality.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace margrove {
// First decides, one after the other, the labels whose gain has the same sign for all values of the
// others; they are most of the labels of a large field. The flow decides the others.
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

// gain_[k] is the gain of y_k = 1 given the decided labels. For all values of the open labels l,
// its gain lies between least_[k] = gain_[k] + sum_l min(0, r_kl) and most_[k] = gain_[k] + sum_l
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
// literal c p the arcs source -> not p and p -> sink. The constant is a lower bound on E, which the
// maximum flow from source to sink raises.
void RoofDual::solve_core(std::span<const double> r) {
  const std::size_t n = core_.size(), literals = 2 * n;
  const std::size_t source = literals, sink = literals + 1;
  flow_.reset(literals + 2);
  std::vector<double> linear(n);  // coefficients of E
  for (std::size_t k = 0; k < n; ++k) linear[k] = -gain_[core_[k]];
  const auto add_pair = [&](std::size_t p, std::size_t q, double c) {  // once for each p, q
    flow_.set_arc(p, q ^ 1, 0.5 * c);
    flow_.set_arc(q, p ^ 1, 0.5 * c);
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
    flow_.set_arc(source, p ^ 1, c);
    flow_.set_arc(p, sink, c);
  }
  bound_ -= flow_.solve(source, sink);
  // Reads the residual network back. An arc p -> not q and its mirror image q -> not p may carry
  // different flow; their average is a maximum flow, too.
  const auto whole = [&](std::size_t p) { return 2 * core_[p / 2] + p % 2; };
  for (std::size_t p = 0; p < literals; ++p) {
    unary_[whole(p)] = flow_.capacity(p, sink) + flow_.capacity(source, p ^ 1);
    for (std::size_t q = 0; q < p / 2 * 2; ++q) {  // not p's own label
      pairs_[whole(p) * 2 * size_ + whole(q)] = pairs_[whole(q) * 2 * size_ + whole(p)] =
          flow_.capacity(p, q ^ 1) + flow_.capacity(q, p ^ 1);
    }
  }
  // A literal reached from the source by residual arcs is true in every minimiser.
  for (std::size_t k = 0; k < n; ++k) {
    const bool one = flow_.is_reached(2 * k + 1), zero = flow_.is_reached(2 * k);
    if (one != zero) persistent_[core_[k]] = one ? 1 : 0;
  }
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
      // The pairwise penalties of persistent labels at their values are 0 up to rounding.
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
