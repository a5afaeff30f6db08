#include "numerics/max_closure.hpp"

#include <algorithm>

namespace margrove {

void MaxClosure::set_graph(const detail::RowLists& parents) {
  num_nodes_ = static_cast<std::uint32_t>(parents.size());
  up_pointers_ = parents.pointers;
  up_nodes_ = parents.items;
  down_.items.resize(up_nodes_.size());
  down_edges_.resize(up_nodes_.size());
  const auto edges = [&](const auto& visit) {
    for (std::uint32_t k = 0; k < num_nodes_; ++k) {
      for (std::uint32_t e = up_pointers_[k]; e < up_pointers_[k + 1]; ++e) {
        visit(up_nodes_[e], k, e);
      }
    }
  };
  detail::group_by_key(num_nodes_, edges, down_.pointers,
                       [&](std::size_t place, std::uint32_t k, std::uint32_t e) {
                         down_.items[place] = k;
                         down_edges_[place] = e;
                       });
}

double MaxClosure::solve(std::span<const double> weight, std::span<const char> active) {
  active_.assign(active.begin(), active.end());
  supply_.assign(num_nodes_, 0.0);
  demand_.assign(num_nodes_, 0.0);
  flow_.assign(up_nodes_.size(), 0.0);
  stamp_ = 0;
  for (auto& seen : seen_) {
    seen.resize(num_nodes_);
    for (std::uint32_t k = 0; k < num_nodes_; ++k) seen[k] = active_[k] ? 0 : kExhausted;
  }
  next_arc_.resize(num_nodes_);
  came_by_.resize(num_nodes_);
  sources_.clear();
  for (std::uint32_t k = 0; k < num_nodes_; ++k) {
    if (!active_[k]) continue;
    if (weight[k] > 0) {
      supply_[k] = weight[k];
      sources_.push_back(k);
    } else {
      demand_[k] = -weight[k];
    }
  }
  while (label_distances()) {
    for (std::uint32_t k = 0; k < num_nodes_; ++k) next_arc_[k] = 0;
    for (const auto k : sources_) augment_from(k);
  }
  mark_selected();
  double total = 0;
  for (const auto k : sources_) total += supply_[k];
  return total;
}

// Breadth-first from the nodes with open demand against the residual arcs; false when no source
// with supply is reached.
bool MaxClosure::label_distances() {
  distance_.assign(num_nodes_, 0);
  queue_.clear();
  for (std::uint32_t k = 0; k < num_nodes_; ++k) {
    if (demand_[k] > 0) {
      distance_[k] = 1;
      queue_.push_back(k);
    }
  }
  const auto reach = [&](std::uint32_t from, std::uint32_t k) {
    if (!active_[k] || distance_[k] != 0) return;
    distance_[k] = distance_[from] + 1;
    queue_.push_back(k);
  };
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::uint32_t k = queue_[head];
    for (const auto c : children(k)) reach(k, c);
    for (std::uint32_t e = up_pointers_[k]; e < up_pointers_[k + 1]; ++e) {
      if (flow_[e] > 0) reach(k, up_nodes_[e]);
    }
  }
  return std::any_of(sources_.begin(), sources_.end(),
                     [&](std::uint32_t k) { return supply_[k] > 0 && distance_[k] != 0; });
}

// Puts the next admissible arc of k on the path; false when there is none left.
bool MaxClosure::advance(std::uint32_t k) {
  if (distance_[k] <= 1) return false;
  const std::uint32_t num_up = up_pointers_[k + 1] - up_pointers_[k];
  const std::uint32_t num_arcs = num_up + (down_.pointers[k + 1] - down_.pointers[k]);
  for (std::uint32_t& arc = next_arc_[k]; arc < num_arcs; ++arc) {
    const bool upward = arc < num_up;
    const std::uint32_t place = down_.pointers[k] + (arc - num_up);
    const std::uint32_t edge = upward ? up_pointers_[k] + arc : down_edges_[place];
    const std::uint32_t to = upward ? up_nodes_[edge] : down_.items[place];
    if (distance_[to] + 1 == distance_[k] && active_[to] && (upward || flow_[edge] > 0)) {
      path_.push_back({k, edge, upward});
      queue_.push_back(to);
      return true;
    }
  }
  return false;
}

// Depth-first along decreasing distances; queue_ holds the nodes of the path.
void MaxClosure::augment_from(std::uint32_t source) {
  path_.clear();
  queue_.assign(1, source);
  while (supply_[source] > 0 && distance_[source] != 0) {
    const std::uint32_t k = queue_.back();
    if (demand_[k] > 0) {
      double amount = std::min(supply_[source], demand_[k]);
      for (const auto& step : path_) {
        if (!step.upward) amount = std::min(amount, flow_[step.edge]);
      }
      supply_[source] -= amount;
      demand_[k] -= amount;
      for (const auto& step : path_) flow_[step.edge] += step.upward ? amount : -amount;
      path_.clear();
      queue_.assign(1, source);
    } else if (!advance(k)) {
      distance_[k] = 0;
      queue_.pop_back();
      if (queue_.empty()) return;
      ++next_arc_[queue_.back()];
      path_.pop_back();
    }
  }
}

void MaxClosure::mark_selected() {
  selected_.assign(num_nodes_, 0);
  for (const auto k : sources_) {
    if (supply_[k] > 0) add_forced(k, selected_);
  }
}

void MaxClosure::add_forced(std::uint32_t k, std::span<char> z) {
  queue_.clear();
  const auto reach = [&](std::uint32_t m) {
    if (!active_[m] || z[m]) return;
    z[m] = 1;
    queue_.push_back(m);
  };
  reach(k);
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::uint32_t m = queue_[head];
    for (std::uint32_t e = up_pointers_[m]; e < up_pointers_[m + 1]; ++e) reach(up_nodes_[e]);
    for (std::uint32_t place = down_.pointers[m]; place < down_.pointers[m + 1]; ++place) {
      if (flow_[down_edges_[place]] > 0) reach(down_.items[place]);
    }
  }
}

// Breadth-first search along residual arcs: `upward` to a node with open demand, otherwise
// backwards to one with supply. Leaves the path in path_, in flow order.
bool MaxClosure::find_path(std::uint32_t from, bool upward) {
  std::vector<std::uint32_t>& seen = seen_[upward ? 1 : 0];
  if (seen[from] == kExhausted) return false;
  const std::vector<double>& open = upward ? demand_ : supply_;
  ++stamp_;
  path_.clear();
  queue_.assign(1, from);
  if (open[from] > 0) return true;
  seen[from] = stamp_;
  std::vector<std::uint32_t>& came_from = next_arc_;
  const auto reaches_open = [&](std::uint32_t at, std::uint32_t k, std::uint32_t edge) {
    if (seen[k] >= stamp_) return false;
    seen[k] = stamp_;
    came_from[k] = at;
    came_by_[k] = edge;
    queue_.push_back(k);
    return open[k] > 0;
  };
  const auto trace = [&](std::uint32_t end) {
    for (std::uint32_t at = end; at != from; at = came_from[at]) {
      const bool rises = up_nodes_[came_by_[at]] == (upward ? at : came_from[at]);
      path_.push_back({at, came_by_[at], rises});
    }
    queue_.assign(1, end);
    return true;
  };
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::uint32_t k = queue_[head];
    for (std::uint32_t e = up_pointers_[k]; e < up_pointers_[k + 1]; ++e) {
      if (!upward && !(flow_[e] > 0)) continue;
      if (reaches_open(k, up_nodes_[e], e)) return trace(up_nodes_[e]);
    }
    for (std::uint32_t place = down_.pointers[k]; place < down_.pointers[k + 1]; ++place) {
      if (upward && !(flow_[down_edges_[place]] > 0)) continue;
      const std::uint32_t c = down_.items[place];
      if (reaches_open(k, c, down_edges_[place])) return trace(c);
    }
  }
  for (const auto k : queue_) {
    seen[k] = kExhausted;
    if (keeps_journal_) exhausted_journal_.push_back(&seen[k]);
  }
  return false;
}

// Sends flow along paths to open demand or, backwards, to supply; returns how much of `amount`.
double MaxClosure::send(std::uint32_t k, double amount, bool upward) {
  std::vector<double>& open = upward ? demand_ : supply_;
  double left = amount;
  while (left > 0 && find_path(k, upward)) {
    const std::uint32_t end = queue_.front();
    double step = std::min(left, open[end]);
    for (const auto& s : path_) {
      if (!s.upward) step = std::min(step, flow_[s.edge]);
    }
    for (const auto& s : path_) add(flow_[s.edge], s.upward ? step : -step);
    add(open[end], -step);
    left -= step;
  }
  return amount - left;
}

void MaxClosure::undo_journal() {
  for (auto it = journal_.rbegin(); it != journal_.rend(); ++it) *it->first = it->second;
  journal_.clear();
  for (std::uint32_t* mark : exhausted_journal_) *mark = 0;
  exhausted_journal_.clear();
}

}  // namespace margrove
