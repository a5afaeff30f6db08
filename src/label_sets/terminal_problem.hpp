#pragma once
// A core as a choice of terminals, and the smaller problems that the search by cuts makes of it
// (the terms are in label_set_core.hpp).

#include <cstdint>
#include <span>
#include <vector>

#include "label_sets/label_set_core.hpp"

namespace margrove::detail {

/// A set of nodes that is cleared in O(1).
class NodeMarks {
 public:
  void reset(std::size_t num_nodes) {
    stamp_.assign(num_nodes, 0);
    now_ = 1;
  }
  void clear() { ++now_; }
  bool contains(std::uint32_t n) const { return stamp_[n] == now_; }
  /// Returns whether n is new.
  bool add(std::uint32_t n) {
    if (contains(n)) return false;
    stamp_[n] = now_;
    return true;
  }

 private:
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 1;
};

/// A core as a problem of terminals: choose a set of them, which must not be empty if `needed`. It
/// is worth the weights of all nodes in it or above it, plus `offset`. Parents come before
/// children.
struct TerminalProblem {
  double offset = 0;
  bool needed = true;
  std::vector<double> weight;
  std::vector<char> is_terminal;
  std::vector<char> is_required;      // no set without it is better than the best one known
  std::vector<std::uint32_t> origin;  // k: node k of the core; core size + k: its reserve
  RowLists parents;
  std::vector<std::uint32_t> terminals;  // ascending
  RowLists above;                        // A(terminal), one row per terminal
  std::uint32_t size() const { return static_cast<std::uint32_t>(weight.size()); }
  void clear();
  /// Adds a node whose parents were appended to parents.items.
  void add(double node_weight, bool terminal, bool required, std::uint32_t node_origin);
  /// Appends A(n), n first. The marks are scratch space.
  void append_above(std::uint32_t n, NodeMarks& marks, std::vector<std::uint32_t>& nodes) const;
  /// Marks, one char per node, A(t) of all terminals t in `keep`.
  void mark_above(std::span<const char> keep, std::vector<char>& marks) const;
  /// part_of = the connected component of each node in the graph of the nodes that mark_above()
  /// marks, or kNoNode for other nodes. Returns their number.
  std::uint32_t find_parts(std::span<const char> keep, std::vector<std::uint32_t>& part_of) const;
};

/// Marks the origins, the nodes of the core that reserves among them complete, and all nodes above.
/// `marks` has one char per origin.
void mark_origins(const LabelSetCore& core, std::span<const std::uint32_t> origins,
                  std::vector<char>& marks);

/// Makes terminal problems of a core and of one another.
class ProblemMaker {
 public:
  void take_core(const LabelSetCore& core, TerminalProblem& to);
  /// to = the problem of the terminals in `keep` and the nodes above them, with the terminal
  /// `chosen` (or kNoNode) and all nodes above it selected. Terminals that are chosen by this are
  /// appended to `taken`, as origins.
  void restrict_to(const TerminalProblem& from, std::span<const char> keep, std::uint32_t chosen,
                   TerminalProblem& to, std::vector<std::uint32_t>& taken);
  /// The node of the problem made last that node n was before, or kNoNode.
  std::uint32_t number_of(std::uint32_t n) const { return number_[n]; }

 private:
  void finish(TerminalProblem& p);

  std::vector<std::uint32_t> number_;
  std::vector<char> selected_, is_left_;
  NodeMarks marks_;
};

}  // namespace margrove::detail
