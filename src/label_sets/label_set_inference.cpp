// On trees the best label set is found by a dynamic programme. On DAGs reductions leave a core,
// which is searched by branch and bound (cut_search.hpp), and by CBC if that takes too many
// branches.

#include "label_sets/label_set_inference.hpp"

#include <algorithm>
#include <limits>

#include "label_sets/closure_relaxation.hpp"
#include "label_sets/compact_hierarchy.hpp"
#include "label_sets/cut_search.hpp"
#include "label_sets/label_set_core.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
using detail::kNoNode;
using detail::kNoReserve;
using Index = std::uint32_t;
}  // namespace

// The state of a node of the compact graph after the reductions at the given scores.
enum class NodeStatus : char {
  open,     // in the core
  follows,  // selected if and only if its parent is
  reserve,  // selected if and only if its parent uses its reserve
  dropped,  // not selected: some best label set is without it
};

struct LabelSetInference::Workspace::Scratch {
  std::vector<double> score;    // of compact nodes, those that follow them included
  std::vector<double> reserve;  // price of completing a node by a child that serves no other
  std::vector<Index> reserve_child, representative, core_number;
  std::vector<NodeStatus> status;
  std::vector<char> grounded, terminal, selected, dropped;
  detail::LabelSetCore core;
  std::vector<Index> node_of_core;
  detail::ClosureRelaxation relaxation;
  detail::CutSearch cut_search;
  detail::CoreSolution program;
  std::vector<double> loaded_score;
};

LabelSetInference::Workspace::Workspace() : scratch_(std::make_unique<Scratch>()) {}
LabelSetInference::Workspace::~Workspace() = default;
LabelSetInference::Workspace::Workspace(Workspace&&) noexcept = default;
LabelSetInference::Workspace& LabelSetInference::Workspace::operator=(Workspace&&) noexcept =
    default;

class LabelSetInference::Impl {
 public:
  using Scratch = Workspace::Scratch;

  explicit Impl(const LabelGraph& graph) : hierarchy_(graph) {}
  std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(hierarchy_.class_of.size()); }
  bool is_tree() const { return hierarchy_.is_tree; }

  void load(std::span<const double> scores, Scratch& s) const;
  // Answers are written to s.selected; those of a search only for the nodes of the core.
  /// The best label set of a tree.
  void solve_tree(Scratch& s) const;
  /// Returns true if no core is left, that is, if the root is terminal.
  bool reduce(Scratch& s) const;
  void build_core(Scratch& s) const;
  BestLabelSet search_core(Scratch& s, const SearchGoal& goal, std::int64_t most_branches) const;
  /// Returns whether a label set was found that meets the goal with the bound of the relaxation.
  bool find_label_set(Scratch& s, const SearchGoal& goal) const;
  /// Reads the answer of a CutSearch or ClosureRelaxation.
  template <class Search>
  void take_from(const Search& search, Scratch& s) const;
  /// Reads s.program, rounded.
  void take_from_program(Scratch& s) const;
  /// Nodes that follow their parents become selected with them.
  void expand(Scratch& s) const;
  /// Writes the selected nodes and returns their score.
  double collect(std::span<const double> scores, const Scratch& s,
                 std::vector<NodeId>& nodes) const;
  void copy_selected(const Scratch& s, std::span<double> z) const {
    for (std::size_t n = 0; n < z.size(); ++n)
      z[n] = s.selected[hierarchy_.class_of[n]] ? 1.0 : 0.0;
  }
  bool spread_fractions(const Scratch& s, std::span<double> z) const;

 private:
  std::span<const Index> parents(Index k) const { return hierarchy_.parents[k]; }
  std::span<const Index> children(Index k) const { return hierarchy_.children[k]; }
  Index size() const { return hierarchy_.size(); }
  void reduce_again(Scratch& s) const;
  void reduce_node(Index k, Scratch& s) const;
  bool drop_useless(Scratch& s) const;

  detail::CompactHierarchy hierarchy_;
};

void LabelSetInference::Impl::load(std::span<const double> scores, Scratch& s) const {
  s.score.assign(size(), 0.0);
  for (std::size_t n = 0; n < scores.size(); ++n) s.score[hierarchy_.class_of[n]] += scores[n];
  s.selected.assign(size(), 0);
}

// best(n) = r_n + the sum of best(c) > 0 over the children c, or the largest best(c) if none is >
// 0.
void LabelSetInference::Impl::solve_tree(Scratch& s) const {
  s.reserve_child.resize(size());
  for (Index k = size(); k-- > 0;) {
    Index best_child = kNoNode;
    double positive_sum = 0;
    for (const Index c : children(k)) {
      if (s.score[c] > 0) positive_sum += s.score[c];
      if (best_child == kNoNode || s.score[c] > s.score[best_child]) best_child = c;
    }
    s.reserve_child[k] = best_child;
    if (best_child != kNoNode) s.score[k] += positive_sum > 0 ? positive_sum : s.score[best_child];
  }
  s.selected[0] = 1;
  for (Index k = 0; k < size(); ++k) {
    if (!s.selected[k]) continue;
    for (const Index c : children(k)) {
      if (s.score[c] > 0 || c == s.reserve_child[k]) s.selected[c] = 1;
    }
  }
}

bool LabelSetInference::Impl::reduce(Scratch& s) const {
  s.dropped.assign(size(), 0);
  s.reserve.resize(size());
  s.reserve_child.resize(size());
  s.status.resize(size());
  s.grounded.resize(size());
  s.terminal.resize(size());
  s.loaded_score.assign(s.score.begin(), s.score.end());
  for (Index k = size(); k-- > 0;) reduce_node(k, s);
  while (!s.terminal[0] && drop_useless(s)) reduce_again(s);
  return s.terminal[0] != 0;
}

// Dropped nodes have several parents, so that only nodes above such can change. The status of
// their other children is reset, because it depends on them.
void LabelSetInference::Impl::reduce_again(Scratch& s) const {
  for (const Index c : hierarchy_.beside) s.status[c] = NodeStatus::open;
  const auto& nodes = hierarchy_.above_shared;
  for (const Index k : nodes) s.score[k] = s.loaded_score[k];
  for (auto k = nodes.rbegin(); k != nodes.rend(); ++k) reduce_node(*k, s);
}

// Children must be reduced first. A node becomes terminal when all its children are decided.
void LabelSetInference::Impl::reduce_node(Index k, Scratch& s) const {
  s.status[k] = s.dropped[k] ? NodeStatus::dropped : NodeStatus::open;
  s.grounded[k] = children(k).empty();
  s.reserve[k] = kNoReserve;
  s.reserve_child[k] = kNoNode;
  bool has_open_child = false;
  for (const Index c : children(k)) {
    if (s.status[c] == NodeStatus::dropped) continue;
    if (parents(c).size() > 1) {
      has_open_child = true;
    } else if (s.score[c] > 0 && s.grounded[c]) {
      // Selecting c whenever k is selected costs nothing else.
      s.status[c] = NodeStatus::follows;
      s.score[k] += s.score[c];
      s.grounded[k] = 1;
      has_open_child = has_open_child || !s.terminal[c];
    } else if (!s.terminal[c]) {
      has_open_child = true;
    } else {
      // c can only serve to complete k; the best of such children suffices.
      s.status[c] = NodeStatus::dropped;
      if (s.reserve_child[k] == kNoNode || s.score[c] > s.reserve[k]) {
        s.reserve[k] = s.score[c];
        s.reserve_child[k] = c;
      }
    }
  }
  if (!s.grounded[k] && s.reserve_child[k] != kNoNode) {
    s.status[s.reserve_child[k]] = has_open_child ? NodeStatus::reserve : NodeStatus::follows;
  }
  s.terminal[k] = !has_open_child;
  if (has_open_child || s.grounded[k]) return;
  s.score[k] += s.reserve[k];
  s.grounded[k] = 1;
}

// A terminal node of score <= 0 can only complete its parents, of which it has several if it is
// still open. It is dropped if their reserves together cost no more.
bool LabelSetInference::Impl::drop_useless(Scratch& s) const {
  bool any = false;
  for (const Index k : hierarchy_.shared) {
    if (s.status[k] != NodeStatus::open || !s.terminal[k] || s.score[k] > 0) continue;
    double reserves = 0;
    for (const Index p : parents(k)) {
      if (s.status[p] != NodeStatus::dropped && !s.grounded[p]) reserves += s.reserve[p];
    }
    if (reserves < s.score[k]) continue;
    s.dropped[k] = 1;
    any = true;
  }
  return any;
}

void LabelSetInference::Impl::build_core(Scratch& s) const {
  auto& core = s.core;
  core.clear();
  s.representative.resize(size());
  for (const Index k : s.node_of_core) s.core_number[k] = kNoNode;
  s.core_number.resize(size(), kNoNode);
  s.node_of_core.clear();
  for (const Index k : hierarchy_.above_shared) {  // all open nodes, and those above them
    s.representative[k] = k;
    if (s.status[k] == NodeStatus::follows) s.representative[k] = s.representative[parents(k)[0]];
    if (s.status[k] != NodeStatus::open) continue;
    s.core_number[k] = static_cast<Index>(s.node_of_core.size());
    s.node_of_core.push_back(k);
    core.weight.push_back(s.score[k]);
    core.reserve.push_back(s.reserve[k]);
    core.grounded.push_back(s.grounded[k]);
    for (const Index p : parents(k)) {
      const Index number = s.core_number[s.representative[p]];
      if (number != 0) core.parents.items.push_back(number);
    }
    core.parents.end_row();
  }
  for (const Index k : s.node_of_core) {
    if (!s.grounded[k]) {
      for (const Index c : children(k)) {
        if (s.core_number[c] != kNoNode) core.children.items.push_back(s.core_number[c]);
      }
    }
    core.children.end_row();
  }
}

namespace {

// The value of an integral solution.
double worth(const detail::LabelSetCore& core, const detail::CoreSolution& solution) {
  double value = 0;
  for (Index k = 0; k < core.size(); ++k) {
    if (solution.z[k] > 0.5) value += core.weight[k];
    if (solution.u[k] > 0.5) value += core.reserve[k];
  }
  return value;
}

}  // namespace

BestLabelSet LabelSetInference::Impl::search_core(Scratch& s, const SearchGoal& goal,
                                                  std::int64_t most_branches) const {
  const auto found = s.cut_search.solve(s.core, goal.is_heuristic() ? 1 : most_branches, goal);
  take_from(s.cut_search, s);
  BestLabelSet result;
  result.num_branches = found.num_branches;
  result.bound = found.bound;
  result.stage =
      found.num_branches == 1 ? InferenceStage::closure : InferenceStage::branch_and_bound;
  if (found.proven || !goal.needs_best()) return result;
  result.stage = InferenceStage::ilp;
  result.bound = found.left_bound;
  if (detail::solve_core_exactly(s.core, s.cut_search.alive(), s.program) &&
      worth(s.core, s.program) > found.value) {
    std::fill(s.selected.begin(), s.selected.end(), 0);
    take_from_program(s);
  }
  return result;
}

bool LabelSetInference::Impl::find_label_set(Scratch& s, const SearchGoal& goal) const {
  if (goal.needs_best()) return false;
  const auto by_cuts = s.cut_search.solve(s.core, 1, SearchGoal::heuristic());
  const double best = std::max(by_cuts.value, s.relaxation.value());
  if (!goal.is_heuristic() && s.relaxation.bound() > best + goal.allowed_gap(best)) return false;
  if (by_cuts.value >= s.relaxation.value()) {
    take_from(s.cut_search, s);
  } else {
    take_from(s.relaxation, s);
  }
  return true;
}

template <class Search>
void LabelSetInference::Impl::take_from(const Search& search, Scratch& s) const {
  for (Index k = 0; k < s.core.size(); ++k) {
    const Index node = s.node_of_core[k];
    s.selected[node] = search.selected(k);
    if (search.uses_reserve(k)) s.selected[s.reserve_child[node]] = 1;
  }
}

void LabelSetInference::Impl::take_from_program(Scratch& s) const {
  for (Index k = 0; k < s.core.size(); ++k) {
    const Index node = s.node_of_core[k];
    s.selected[node] = s.program.z[k] > 0.5;
    if (s.program.u[k] > 0.5) s.selected[s.reserve_child[node]] = 1;
  }
}

void LabelSetInference::Impl::expand(Scratch& s) const {
  for (Index k = 1; k < size(); ++k) {
    if (s.status[k] == NodeStatus::follows) s.selected[k] = s.selected[parents(k)[0]];
  }
}

double LabelSetInference::Impl::collect(std::span<const double> scores, const Scratch& s,
                                        std::vector<NodeId>& nodes) const {
  nodes.clear();
  double score = 0;
  for (NodeId n = 0; n < num_nodes(); ++n) {
    if (!s.selected[hierarchy_.class_of[n]]) continue;
    nodes.push_back(n);
    score += scores[n];
  }
  return score;
}

// Extends z of s.program to all nodes. Returns whether every z is 0 or 1.
bool LabelSetInference::Impl::spread_fractions(const Scratch& s, std::span<double> z) const {
  std::vector<double> fraction(size(), 0.0);  // z of compact nodes
  for (Index k = 0; k < s.core.size(); ++k) {
    const Index node = s.node_of_core[k];
    fraction[node] = s.program.z[k];
    if (s.program.u[k] > 0) fraction[s.reserve_child[node]] = s.program.u[k];
  }
  for (Index k = 1; k < size(); ++k) {
    if (s.status[k] == NodeStatus::follows) fraction[k] = fraction[parents(k)[0]];
  }
  bool integral = true;
  for (NodeId n = 0; n < num_nodes(); ++n) {
    z[n] = fraction[hierarchy_.class_of[n]];
    integral = integral && (z[n] == 0.0 || z[n] == 1.0);
  }
  return integral;
}

LabelSetInference::LabelSetInference(const LabelGraph& graph) {
  require(graph.num_nodes() > 0, "label sets: the graph has 0 nodes, but must have at least 1");
  impl_ = std::make_unique<const Impl>(graph);
}
LabelSetInference::~LabelSetInference() = default;
LabelSetInference::LabelSetInference(LabelSetInference&&) noexcept = default;
LabelSetInference& LabelSetInference::operator=(LabelSetInference&&) noexcept = default;

std::uint32_t LabelSetInference::num_nodes() const { return impl_->num_nodes(); }

BestLabelSet LabelSetInference::best(std::span<const double> scores, Workspace& workspace,
                                     std::vector<NodeId>& nodes, const SearchGoal& goal,
                                     std::int64_t most_branches) const {
  require(scores.size() == num_nodes(), "label sets: scores has ", scores.size(),
          " entries, but must have one per node, ", num_nodes());
  Workspace::Scratch& s = *workspace.scratch_;
  BestLabelSet result;
  double bound = -std::numeric_limits<double>::infinity();
  impl_->load(scores, s);
  if (impl_->is_tree()) {
    impl_->solve_tree(s);
  } else if (impl_->reduce(s)) {
    result.stage = InferenceStage::reduction;
    s.selected[0] = 1;
    impl_->expand(s);
  } else {
    impl_->build_core(s);
    result = impl_->search_core(s, goal, most_branches);
    bound = result.bound;
    impl_->expand(s);
  }
  result.score = impl_->collect(scores, s, nodes);
  result.bound = std::max(bound, result.score);
  return result;
}

RelaxedLabelSet LabelSetInference::relaxed(std::span<const double> scores, Workspace& workspace,
                                           std::span<double> z, const SearchGoal& goal) const {
  require(z.size() == num_nodes(), "label sets: z has ", z.size(),
          " entries, but must have one per node, ", num_nodes());
  require(scores.size() == num_nodes(), "label sets: scores has ", scores.size(),
          " entries, but must have one per node, ", num_nodes());
  Workspace::Scratch& s = *workspace.scratch_;
  RelaxedLabelSet result;
  impl_->load(scores, s);
  bool from_selected = true;
  double bound = -std::numeric_limits<double>::infinity();
  if (impl_->is_tree()) {
    impl_->solve_tree(s);
  } else if (impl_->reduce(s)) {
    s.selected[0] = 1;
    impl_->expand(s);
  } else {
    impl_->build_core(s);
    if (s.relaxation.settle(s.core)) {
      impl_->take_from(s.relaxation, s);
      impl_->expand(s);
    } else if (impl_->find_label_set(s, goal)) {
      impl_->expand(s);
      bound = s.relaxation.bound();
    } else {
      from_selected = false;
      detail::solve_core_relaxation(s.core, s.program);
      result.integral = impl_->spread_fractions(s, z);
    }
  }
  if (from_selected) impl_->copy_selected(s, z);
  for (std::size_t n = 0; n < z.size(); ++n) result.score += z[n] * scores[n];
  result.bound = std::max(bound, result.score);
  return result;
}

}  // namespace margrove
