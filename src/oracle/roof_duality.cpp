#include "margrove/oracle/roof_duality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace margrove {

// Minimise E = -f. Literals: 2k + 1 stands for y_k, 2k for 1 - y_k. E is written as a constant plus
// a sum of non-negative multiples of literals and of products of two literals. A product c p q
// becomes arcs p -> not q and q -> not p of capacity c/2 each, a literal c p the arcs source ->
// not p and p -> sink. The maximum flow from source to sink is what the constant can still gain.
void RoofDual::solve(double constant, std::span<const double> u, std::span<const double> r) {
  size_ = u.size();
  const std::size_t literals = 2 * size_, nodes = literals + 2;
  const std::size_t source = literals, sink = literals + 1;
  capacity_.assign(nodes * nodes, 0.0);
  std::vector<double> linear(size_);  // coefficients of E
  double constant_of_E = -constant;
  for (std::size_t k = 0; k < size_; ++k) linear[k] = -u[k];
  const auto add_pair = [&](std::size_t p, std::size_t q, double c) {
    capacity_[p * nodes + (q ^ 1)] += 0.5 * c;
    capacity_[q * nodes + (p ^ 1)] += 0.5 * c;
  };
  for (std::size_t k = 0; k < size_; ++k) {
    for (std::size_t l = k + 1; l < size_; ++l) {
      const double b = -r[k * size_ + l];
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
  for (std::size_t k = 0; k < size_; ++k) {
    const std::size_t p = linear[k] > 0.0 ? 2 * k + 1 : 2 * k;
    if (linear[k] < 0.0) constant_of_E += linear[k];
    const double c = 0.5 * std::abs(linear[k]);
    capacity_[source * nodes + (p ^ 1)] += c;
    capacity_[p * nodes + sink] += c;
  }
  double flow = 0.0;
  level_.resize(nodes);
  while (build_levels(static_cast<int>(source), static_cast<int>(sink))) {
    next_.assign(nodes, 0);
    while (true) {
      const double pushed = push(static_cast<int>(source), static_cast<int>(sink),
                                 std::numeric_limits<double>::infinity());
      if (!(pushed > 0.0)) break;
      flow += pushed;
    }
  }
  // The residual network, read backwards, made symmetric: an arc p -> not q and its mirror image
  // q -> not p may carry different flow; their average is a maximum flow too.
  bound_ = -(constant_of_E + flow);
  unary_.assign(literals, 0.0);
  pairs_.assign(literals * literals, 0.0);
  for (std::size_t p = 0; p < literals; ++p) {
    unary_[p] = capacity_[p * nodes + sink] + capacity_[source * nodes + (p ^ 1)];
    for (std::size_t q = 0; q < literals; ++q) {
      if (p / 2 == q / 2) continue;
      pairs_[p * literals + q] = capacity_[p * nodes + (q ^ 1)] + capacity_[q * nodes + (p ^ 1)];
    }
  }
  // A literal reached from the source by residual arcs is true in every minimiser.
  persistent_.assign(size_, -1);
  build_levels(static_cast<int>(source), -1);
  for (std::size_t k = 0; k < size_; ++k) {
    const bool one = level_[2 * k + 1] >= 0, zero = level_[2 * k] >= 0;
    if (one != zero) persistent_[k] = one ? 1 : 0;
  }
}

bool RoofDual::build_levels(int source, int sink) {
  const auto nodes = static_cast<int>(level_.size());
  std::fill(level_.begin(), level_.end(), -1);
  queue_.clear();
  queue_.push_back(source);
  level_[source] = 0;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const int node = queue_[head];
    const double* row = &capacity_[static_cast<std::size_t>(node) * level_.size()];
    for (int to = 0; to < nodes; ++to) {
      if (row[to] > 1e-13 && level_[to] < 0) {
        level_[to] = level_[node] + 1;
        queue_.push_back(to);
      }
    }
  }
  return sink >= 0 && level_[sink] >= 0;
}

double RoofDual::push(int node, int sink, double flow) {
  if (node == sink) return flow;
  const std::size_t nodes = level_.size();
  for (int& to = next_[node]; to < static_cast<int>(nodes); ++to) {
    double& forward = capacity_[static_cast<std::size_t>(node) * nodes + to];
    if (!(forward > 1e-13) || level_[to] != level_[node] + 1) continue;
    const double pushed = push(to, sink, std::min(flow, forward));
    if (pushed > 0.0) {
      forward -= pushed;
      capacity_[static_cast<std::size_t>(to) * nodes + node] += pushed;
      return pushed;
    }
  }
  return 0.0;
}

namespace {

class Brancher {
 public:
  Brancher(const RoofDual& dual, std::int64_t max_nodes, const std::function<double()>& threshold,
           const std::function<void(const std::vector<std::uint8_t>&, double)>& visit)
      : dual_(dual),
        left_(max_nodes),
        threshold_(threshold),
        visit_(visit),
        y_(dual.size(), 0),
        open_(dual.size()),
        cost_((dual.size() + 1) * 2 * dual.size()) {
    for (std::size_t k = 0; k < dual.size(); ++k) {
      open_[k] = k;
      for (const bool value : {false, true}) cost_[2 * k + value] = dual.penalty(k, value);
    }
  }

  // cost(depth)[2k + v]: what y_k = v would cost beside what is fixed; the cheaper value of each
  // open label is paid in any case.
  bool run(std::size_t depth = 0, double paid = 0.0) {
    if (left_-- <= 0) return false;
    const std::size_t K = dual_.size();
    const double* cost = &cost_[depth * 2 * K];
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
    double* below = &cost_[(depth + 1) * 2 * K];
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

 private:
  const RoofDual& dual_;
  std::int64_t left_;
  const std::function<double()>& threshold_;
  const std::function<void(const std::vector<std::uint8_t>&, double)>& visit_;
  std::vector<std::uint8_t> y_;
  std::vector<std::size_t> open_;
  std::vector<double> cost_;
};

}  // namespace

bool branch(const RoofDual& dual, std::int64_t max_nodes, const std::function<double()>& threshold,
            const std::function<void(const std::vector<std::uint8_t>&, double)>& visit) {
  return Brancher(dual, max_nodes, threshold, visit).run();
}

}  // namespace margrove
