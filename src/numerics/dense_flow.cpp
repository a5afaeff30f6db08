#include "numerics/dense_flow.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace margrove::detail {
namespace {
constexpr double kTiny = 1e-13;  // a capacity that counts as used up
}  // namespace

void DenseMaxFlow::reset(std::size_t num_nodes) {
  num_nodes_ = num_nodes;
  words_ = (num_nodes + 63) / 64;
  capacity_.assign(num_nodes * num_nodes, 0.0);
  open_arcs_.assign(num_nodes * words_, 0);
}

void DenseMaxFlow::set_arc(std::size_t from, std::size_t to, double capacity) {
  capacity_[from * num_nodes_ + to] = capacity;
  if (capacity > kTiny) open_arcs_[from * words_ + to / 64] |= bit(to);
}

double DenseMaxFlow::solve(std::size_t source, std::size_t sink) {
  double flow = 0.0;
  while (build_levels(source, sink)) {
    flow += push(source, sink, 0, std::numeric_limits<double>::infinity());
  }
  return flow;
}

// Breadth-first search over the arcs with capacity left. levels_[d * words_ ...] are the nodes d
// arcs from the source. The search ends at the sink's level; if the sink cannot be reached,
// reached_ holds all nodes that can.
bool DenseMaxFlow::build_levels(std::size_t source, std::size_t sink) {
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
    if (reached_[sink / 64] & bit(sink)) {  // only the sink of its level matters
      std::fill(levels_.end() - static_cast<std::ptrdiff_t>(words_), levels_.end(), 0);
      levels_[begin + words_ + sink / 64] = bit(sink);
      return true;
    }
  }
}

// Pushes a blocking flow of at most `limit` from a node to the sink and returns its value. A node
// that cannot pass on all of it is removed from its level.
double DenseMaxFlow::push(std::size_t node, std::size_t sink, std::size_t level, double limit) {
  if (node == sink) return limit;
  double passed = 0.0;
  for (std::size_t j = 0; j < words_; ++j) {
    while (true) {
      const std::uint64_t next = open_arcs_[node * words_ + j] & levels_[(level + 1) * words_ + j];
      if (next == 0) break;
      const std::size_t to = 64 * j + static_cast<std::size_t>(std::countr_zero(next));
      double& forward = capacity_[node * num_nodes_ + to];
      const double pushed = push(to, sink, level + 1, std::min(limit - passed, forward));
      forward -= pushed;
      capacity_[to * num_nodes_ + node] += pushed;
      if (!(forward > kTiny)) open_arcs_[node * words_ + j] &= ~bit(to);
      if (capacity_[to * num_nodes_ + node] > kTiny) {
        open_arcs_[to * words_ + node / 64] |= bit(node);
      }
      passed += pushed;
      if (!(limit - passed > kTiny)) return passed;
    }
  }
  levels_[level * words_ + node / 64] &= ~bit(node);
  return passed;
}

}  // namespace margrove::detail
