#pragma once
// The bound of the search by cuts: dual ascent after R. T. Wong, A dual ascent approach for Steiner
// tree problems on a directed graph, 1984 (docs/notation.md, "How label sets are found", step 3).

#include <cstdint>
#include <span>
#include <vector>

#include "label_sets/terminal_choice.hpp"
#include "label_sets/terminal_problem.hpp"
#include "numerics/max_closure.hpp"

namespace margrove::detail {

/// A bound on the label sets of a terminal problem: that of a maximum closure, lowered by cuts. A
/// label set with a node contains a node of every set that separates it from the terminals below
/// it. Raising a cut moves weight from the node to the nodes of the cut, which lowers the closure.
class CutAscent {
 public:
  /// The cut between a node and the terminals below it that is raised: the uppermost, the lowest,
  /// or the one of these two that has fewer nodes of the best label set so far (guided).
  enum class Side { guided, upper, lower };

  /// Both must outlive the calls below, and p must stay as it is.
  void start(const TerminalProblem& p, const Incumbent& best);
  /// The bound without cuts.
  double bound_anew();
  /// Lowers the bound `upper` from the present flow until the best label set is good enough, and
  /// returns it. Many cuts are raised at once, or, by pushes, one after the other, which takes
  /// longer and may lower the bound further.
  double lower(double upper, Side side, bool by_pushes);

  // Of the closure and the flow at the present bound.
  bool selected(std::uint32_t n) const { return closure_.selected(n); }
  double supply(std::uint32_t n) const { return closure_.supply(n); }
  /// The bound on the label sets with terminal t is lower than the bound by this amount.
  double demand_above(std::size_t t) const;
  /// The supply left of the selected nodes in A(n) that have no terminal of the closure below them.
  double supply_above(std::uint32_t n);
  /// Whether the closure had a terminal in the last round.
  bool any_completed() const { return any_completed_; }

 private:
  std::span<const std::uint32_t> children(std::uint32_t k) const;
  void find_completed();
  void find_below(std::uint32_t k);
  bool cuts_near_root(std::uint32_t k) const;
  double raise_by_lengths(std::uint32_t k, double most);
  double lengths_from_above(std::uint32_t k, double most);
  double lengths_from_below(std::uint32_t k, double most);
  double raise_by_pushes(std::uint32_t k, double most);
  bool find_upper_cut(std::uint32_t k);
  bool find_lower_cut(std::uint32_t k);

  const TerminalProblem* p_ = nullptr;
  const Incumbent* best_ = nullptr;
  Side side_ = Side::guided;
  MaxClosure closure_;
  std::vector<std::uint32_t> tops_;  // nodes without parents
  std::vector<char> all_;            // marks all nodes
  std::vector<char> completed_;      // nodes with a terminal of the closure below them
  bool any_completed_ = false;
  std::vector<std::uint32_t> below_;  // the node whose cuts are raised, without it, parents first
  std::vector<double> length_;
  std::vector<std::uint32_t> cut_;
  std::vector<char> tight_;  // nodes that can take nothing
  std::vector<char> open_;   // nodes that a path up from a terminal reaches
  std::vector<std::uint32_t> queue_;
  NodeMarks marks_;
};

}  // namespace margrove::detail
