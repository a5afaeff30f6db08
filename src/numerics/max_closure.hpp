#pragma once
// Maximum-weight upward-closed sets by maximum flow.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "numerics/row_lists.hpp"

namespace margrove {

/// max sum_{k in Y} weight_k over sets Y of active nodes that contain every active parent of their
/// members. It is a minimum cut in the network with arcs source -> positive nodes, child -> parent
/// of unlimited capacity, and negative nodes -> sink (Picard 1976), found by Dinic's blocking
/// flows. Keeps its memory between calls.
class MaxClosure {
 public:
  /// The parents of each node; nodes are numbered with parents before children. `parents` must stay
  /// as it is for solve().
  void set_graph(const detail::RowLists& parents);
  std::span<const std::uint32_t> children(std::uint32_t k) const { return down_[k]; }

  /// Returns the largest weight (0 for the empty set). Afterwards selected() gives the smallest set
  /// of this weight.
  double solve(std::span<const double> weight, std::span<const char> active);
  bool selected(std::uint32_t k) const { return selected_[k] != 0; }

  // Small changes of weights after solve(), which keep the flow maximal.
  /// Lowers the weight of k as long as that lowers the optimum, by `amount` at most. Returns the
  /// change.
  double pull(std::uint32_t k, double amount) { return send(k, amount, false); }
  /// Raises the weight of k as long as that does not change the optimum, by `amount` at most.
  /// Returns the change.
  double push(std::uint32_t k, double amount) {
    return active_[k] ? send(k, amount, true) : amount;
  }
  /// push() that uses the demand of k itself only.
  double push_own(std::uint32_t k, double amount) {
    amount = std::min(amount, demand_[k]);
    demand_[k] -= amount;
    return amount;
  }
  /// pull() that uses the supply of k itself only.
  void pull_own(std::uint32_t k, double amount) { supply_[k] -= amount; }
  /// The part of a weight > 0 of k that no flow uses.
  double supply(std::uint32_t k) const { return supply_[k]; }
  /// From here on pull() and push() can be undone, until the journal stops.
  void start_journal() {
    journal_.clear();
    exhausted_journal_.clear();
    keeps_journal_ = true;
  }
  void stop_journal() { keeps_journal_ = false; }
  void undo_journal();
  /// The part of the cost of k that no flow pays, if its weight is < 0.
  double demand(std::uint32_t k) const { return demand_[k]; }
  /// Adds k to z, and all nodes reached from it along residual arcs: active parents, and children
  /// whose flow pays for a node.
  void add_forced(std::uint32_t k, std::span<char> z);
  /// Updates selected().
  void mark_selected();

 private:
  bool find_path(std::uint32_t from, bool upward);
  double send(std::uint32_t k, double amount, bool upward);
  void add(double& target, double amount) {
    if (keeps_journal_) journal_.emplace_back(&target, target);
    target += amount;
  }
  bool label_distances();
  void augment_from(std::uint32_t source);
  bool advance(std::uint32_t k);

  struct Step {
    std::uint32_t node;  // where the step starts
    std::uint32_t edge;
    bool upward;
  };

  std::uint32_t num_nodes_ = 0;
  std::span<const std::uint32_t> up_pointers_, up_nodes_;
  detail::RowLists down_;
  std::vector<std::uint32_t> down_edges_;
  std::vector<char> active_, selected_;
  // find_path(), upward (1) or not (0): the search that saw a node last, and the edge it came by.
  // kExhausted: no path joins the node to open demand (upward) or to supply any more, or it is not
  // active. Augmentations of a maximal flow open no such path, so that these nodes need not be
  // searched again.
  static constexpr std::uint32_t kExhausted = ~std::uint32_t{0};
  std::vector<std::uint32_t> seen_[2], came_by_;
  std::uint32_t stamp_ = 0;
  std::vector<double> supply_, demand_,
      flow_;  // the rest of each node; the flow of each edge upward
  std::vector<std::uint32_t> distance_, next_arc_;  // distance to open demand; 0: none
  std::vector<std::uint32_t> queue_, sources_;
  std::vector<Step> path_;
  std::vector<std::pair<double*, double>> journal_;  // changed numbers and their old values
  std::vector<std::uint32_t*> exhausted_journal_;    // marks set since then
  bool keeps_journal_ = false;
};

}  // namespace margrove
