#pragma once
// Maximum-weight upward-closed sets by maximum flow.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace margrove {

/// max sum_{k in Y} weight_k over sets Y of active nodes that contain every active parent of their
/// members. Minimum cut in the network source -> positive nodes, child -> parent without limit,
/// negative nodes -> sink (Picard 1976), by Dinic's blocking flows. Keeps its memory between calls.
class MaxClosure {
 public:
  /// Nodes are numbered with parents before children. parents of k:
  /// up_nodes[up_pointers[k] .. up_pointers[k + 1]). The spans must stay valid for solve().
  void set_graph(std::span<const std::uint32_t> up_pointers,
                 std::span<const std::uint32_t> up_nodes);
  std::span<const std::uint32_t> children(std::uint32_t k) const {
    return std::span(down_nodes_)
        .subspan(down_pointers_[k], down_pointers_[k + 1] - down_pointers_[k]);
  }

  /// The largest weight (0 for the empty set); afterwards selected() tells the smallest set that
  /// has it.
  double solve(std::span<const double> weight, std::span<const char> active);
  bool selected(std::uint32_t k) const { return selected_[k] != 0; }

  // Small changes of weights after solve(), which keep the flow maximal.
  /// Lowers the weight of k while that lowers the optimum, by `amount` at most; returns by how
  /// much.
  double pull(std::uint32_t k, double amount) { return send(k, amount, false); }
  /// Raises the weight of k while that leaves the optimum alone, by `amount` at most; returns by
  /// how much.
  double push(std::uint32_t k, double amount) {
    return active_[k] ? send(k, amount, true) : amount;
  }
  /// push() to the demand of k itself only.
  double push_own(std::uint32_t k, double amount) {
    amount = std::min(amount, demand_[k]);
    demand_[k] -= amount;
    return amount;
  }
  /// pull() from the supply of k itself only.
  void pull_own(std::uint32_t k, double amount) { supply_[k] -= amount; }
  /// What is left of the weight of k, if > 0: it can pay for more.
  double supply(std::uint32_t k) const { return supply_[k]; }
  /// From here on pull() and push() can be undone, until the journal stops.
  void start_journal() {
    journal_.clear();
    exhausted_journal_.clear();
    keeps_journal_ = true;
  }
  void stop_journal() { keeps_journal_ = false; }
  void undo_journal();
  /// What is left to pay of the cost of k, if its weight is < 0.
  double demand(std::uint32_t k) const { return demand_[k]; }
  /// Adds to z what a best set that contains k must or may well contain besides: k, its active
  /// parents, and the children that already pay for it, and theirs.
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
  std::vector<std::uint32_t> down_pointers_, down_nodes_, down_edges_;
  std::vector<char> active_, selected_;
  // find_path(), upward (1) or not (0): the search that saw a node last, and the edge it came by.
  // kExhausted: no path joins the node to open demand (upward) or to supply any more, or it is not
  // active. Augmentations of a maximal flow open no such path, so that these nodes need not be
  // searched again.
  static constexpr std::uint32_t kExhausted = ~std::uint32_t{0};
  std::vector<std::uint32_t> seen_[2], came_by_;
  std::uint32_t stamp_ = 0;
  std::vector<double> supply_, demand_, flow_;      // what is left at nodes; flow up each edge
  std::vector<std::uint32_t> distance_, next_arc_;  // distance to open demand; 0: none
  std::vector<std::uint32_t> queue_, sources_;
  std::vector<Step> path_;
  std::vector<std::pair<double*, double>> journal_;  // what changed, and from what
  std::vector<std::uint32_t*> exhausted_journal_;    // what was marked since
  bool keeps_journal_ = false;
};

}  // namespace margrove
