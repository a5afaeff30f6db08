#pragma once
// All label sets of a tree, best first.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove {

/// The label sets y = union of A(l) over a non-empty set of leaves l of a tree, one at a time, by
/// descending sum_{n in y} r_n. This is the bottom-up dynamic programme of LabelSetInference with a
/// list of all solutions per subtree, which is computed only as far as it is needed (Algorithm 3 of
/// [Huang2005]). The options of a child are its solutions and to be left out; the options of
/// siblings are combined along a balanced binary tree. Immutable, shared by threads; one Workspace
/// per thread.
class RankedLabelSets {
  struct Item {
    double value;
    std::uint32_t left, right;  // ranks in the two lists of a merge; left: in a node's list below
    bool is_empty, left_is_empty;  // whether nothing is chosen, in all and on the left
  };
  struct List {
    std::vector<Item> items;            // found so far, best first
    std::vector<Item> frontier;         // merge: a heap with the candidates for the next item
    bool is_frontier_complete = false;  // merge: whether it has the successors of the last item
    std::uint32_t position = 0;         // options: the next rank in the list below the node
    bool has_empty = false;             // options: whether leaving the node out is among the items
    bool is_complete = false;
  };

 public:
  class Workspace {
    friend class RankedLabelSets;
    struct Place {
      std::uint32_t list, rank;
    };
    std::vector<double> scores_;
    std::vector<List> lists_;
    std::uint32_t next_ = 0;  // rank in the list above all roots
    std::vector<Place> stack_;
  };

  /// Keeps no reference to `tree`. Throws InvalidInput if it has no node or is not a tree.
  /// O(nodes).
  explicit RankedLabelSets(const LabelGraph& tree);

  std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(top_.size()); }

  /// Starts over at other scores, one finite number per node. O(nodes).
  void start(std::span<const double> scores, Workspace& workspace) const;
  /// Writes the next best label set to `nodes`, ascending; false if there is no other. The first
  /// call costs O(nodes); later ones are cheap if the lists that they need are there already. Ties:
  /// the first label set leaves out what adds nothing and takes the lowest child, as
  /// LabelSetInference does; the others follow in a fixed order, lower siblings first.
  bool next(Workspace& workspace, std::vector<NodeId>& nodes) const;

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Merge {
    std::uint32_t left, right;  // lists
  };

  std::uint32_t merge_options(std::span<const NodeId> children);
  void write(std::uint32_t list, std::uint32_t rank, Workspace& workspace) const;
  void step_options(NodeId n, Workspace& workspace) const;
  void step_merge(std::uint32_t list, Workspace& workspace) const;
  void collect(std::uint32_t rank, Workspace& workspace, std::vector<NodeId>& nodes) const;

  // List n < num_nodes(): the options of node n. The others: merges.
  std::vector<std::uint32_t> top_;  // node -> the list of choices below it; kNone for leaves
  std::vector<Merge> merges_;
  std::uint32_t top_of_roots_ = kNone;
};

}  // namespace margrove
