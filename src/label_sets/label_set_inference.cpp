// Label sets. Trees: a dynamic programme. DAGs: reductions that need no search, a search on the
// core that they leave (label_set_search.cpp), and CBC if that takes too many branches.

#include "label_sets/label_set_inference.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <utility>

#include "label_sets/cut_search.hpp"
#include "label_sets/label_set_core.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
using detail::kNoNode;
using detail::kNoReserve;
using Index = std::uint32_t;
}  // namespace

std::string_view to_string(InferenceStage stage) {
  switch (stage) {
    case InferenceStage::tree:
      return "tree";
    case InferenceStage::reduction:
      return "reduction";
    case InferenceStage::closure:
      return "closure";
    case InferenceStage::branch_and_bound:
      return "branch-and-bound";
    case InferenceStage::relaxation:
      return "relaxation";
    case InferenceStage::ilp:
      return "ilp";
  }
  return "";
}

// What becomes of a node of the compact graph at the given scores.
enum class NodeStatus : char {
  open,     // in the core
  follows,  // selected if and only if its parent is
  reserve,  // selected if and only if its parent pays its reserve
  dropped,  // not selected in some best label set
};

struct LabelSetInference::Workspace::Scratch {
  std::vector<double> score;    // of compact nodes, with what follows them
  std::vector<double> reserve;  // price of completing a node by what serves nobody else
  std::vector<Index> reserve_child, representative, core_number;
  std::vector<NodeStatus> status;
  std::vector<char> grounded, terminal, selected, dropped;
  detail::LabelSetCore core;
  std::vector<Index> node_of_core;
  detail::LabelSetSearch search;
  detail::CutSearch cut_search;
  detail::CoreSolution program;
  std::vector<double> loaded_score;
  std::vector<char> known, known_node;
};

LabelSetInference::Workspace::Workspace() : scratch_(std::make_unique<Scratch>()) {}
LabelSetInference::Workspace::~Workspace() = default;
LabelSetInference::Workspace::Workspace(Workspace&&) noexcept = default;
LabelSetInference::Workspace& LabelSetInference::Workspace::operator=(Workspace&&) noexcept =
    default;

// The compact graph: a node 0 above all roots; nodes that are selected together whatever the scores
// (an inner node and its only child) merged; edges that a longer path implies left out. Numbers are
// topological.
class LabelSetInference::Impl {
 public:
  using Scratch = Workspace::Scratch;

  explicit Impl(const LabelGraph& graph);
  std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(class_of_.size()); }
  bool is_tree() const { return is_tree_; }

  void load(std::span<const double> scores, Scratch& s) const;
  /// The tree's best label set, in s.selected.
  void solve_tree(Scratch& s) const;
  /// True if nothing is left for a core: the root is terminal.
  bool reduce(Scratch& s) const;
  void build_core(Scratch& s) const;
  /// s.selected of the core's nodes.
  BestLabelSet search_core(Scratch& s, const BranchLimits& limits, const SearchGoal& goal) const;
  /// s.known of the core's nodes and reserves, for CutSearch.
  void mark_known(std::span<const NodeId> known, Scratch& s) const;
  /// s.selected of the core's nodes, if a label set meets the goal within the relaxation's bound.
  bool find_label_set(Scratch& s, const SearchGoal& goal) const;
  /// s.selected of the core's nodes, from a search.
  template <class Search>
  void take_from(const Search& search, Scratch& s) const;
  /// s.selected of the core's nodes, from s.program; rounds.
  void take_from_program(Scratch& s) const;
  /// Selected nodes decide their followers and reserves.
  void expand(Scratch& s) const;
  /// The chosen nodes; returns their score.
  double collect(std::span<const double> scores, const Scratch& s,
                 std::vector<NodeId>& nodes) const;
  void copy_selected(const Scratch& s, std::span<double> z) const {
    for (std::size_t n = 0; n < z.size(); ++n) z[n] = s.selected[class_of_[n]] ? 1.0 : 0.0;
  }
  bool spread_fractions(Scratch& s, std::span<double> z) const;

 private:
  std::span<const Index> parents(Index k) const {
    return std::span(parents_).subspan(parent_pointers_[k],
                                       parent_pointers_[k + 1] - parent_pointers_[k]);
  }
  std::span<const Index> children(Index k) const {
    return std::span(children_).subspan(child_pointers_[k],
                                        child_pointers_[k + 1] - child_pointers_[k]);
  }
  bool single_parent(Index k) const { return parent_pointers_[k + 1] == parent_pointers_[k] + 1; }
  Index size() const { return static_cast<Index>(parent_pointers_.size() - 1); }
  void sweep(Scratch& s) const;
  void reduce_node(Index k, Scratch& s) const;
  bool drop_useless(Scratch& s) const;

  std::vector<Index> class_of_;  // node -> compact node
  std::vector<std::size_t> parent_pointers_, child_pointers_;
  std::vector<Index> parents_, children_;
  bool is_tree_ = true;
};

namespace {

// One round of merging inner nodes with their only child; false when there was none.
bool merge_only_children(LabelGraph& graph, std::vector<Index>& class_of) {
  std::vector<Index> target(graph.num_nodes());
  std::iota(target.begin(), target.end(), Index{0});
  bool any = false;
  const auto order = graph.topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (graph.children(*it).size() != 1) continue;
    target[*it] = target[graph.children(*it)[0]];
    any = true;
  }
  if (!any) return false;
  std::vector<Index> number(graph.num_nodes(), kNoNode);
  Index next = 0;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {  // by the lowest member, for the sake of ties
    if (number[target[n]] == kNoNode) number[target[n]] = next++;
  }
  std::vector<LabelEdge> edges;
  for (const NodeId n : order) {
    for (const NodeId c : graph.children(n)) {
      const LabelEdge edge{number[target[n]], number[target[c]]};
      if (edge.parent != edge.child) edges.push_back(edge);
    }
  }
  const auto key = [](const LabelEdge& e) { return std::pair(e.parent, e.child); };
  std::sort(edges.begin(), edges.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (Index& k : class_of) k = number[target[k]];
  graph = LabelGraph::build(next, edges);
  return true;
}

// The graph without edges p -> c where another parent of c lies below p.
LabelGraph without_implied_edges(const LabelGraph& graph) {
  std::vector<LabelEdge> edges;
  std::vector<char> above(graph.num_nodes(), 0);
  for (NodeId c = 0; c < graph.num_nodes(); ++c) {
    const auto parents = graph.parents(c);
    if (parents.size() == 1) edges.push_back({parents[0], c});
    if (parents.size() <= 1) continue;
    std::vector<NodeId> marked;
    for (const NodeId p : parents) {
      for (const NodeId a : graph.ancestors(p)) {
        if (a == p) continue;
        above[a] = 1;
        marked.push_back(a);
      }
    }
    for (const NodeId p : parents) {
      if (!above[p]) edges.push_back({p, c});
    }
    for (const NodeId a : marked) above[a] = 0;
  }
  return LabelGraph::build(graph.num_nodes(), edges);
}

}  // namespace

LabelSetInference::Impl::Impl(const LabelGraph& graph) {
  std::vector<LabelEdge> edges;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (graph.is_root(n)) edges.push_back({graph.num_nodes(), n});
    for (const NodeId c : graph.children(n)) edges.push_back({n, c});
  }
  LabelGraph compact = LabelGraph::build(graph.num_nodes() + 1, edges);
  class_of_.resize(graph.num_nodes() + std::size_t{1});
  std::iota(class_of_.begin(), class_of_.end(), Index{0});
  do {
    compact = without_implied_edges(compact);
  } while (merge_only_children(compact, class_of_));
  is_tree_ = compact.is_tree();

  const auto order = compact.topological_order();
  std::vector<Index> number(compact.num_nodes());
  for (Index k = 0; k < compact.num_nodes(); ++k) number[order[k]] = k;
  for (Index& k : class_of_) k = number[k];
  class_of_.pop_back();  // the node above the roots
  parent_pointers_.push_back(0);
  child_pointers_.push_back(0);
  for (const NodeId n : order) {
    for (const NodeId p : compact.parents(n)) parents_.push_back(number[p]);
    for (const NodeId c : compact.children(n)) children_.push_back(number[c]);
    const auto end = children_.end();
    std::sort(end - static_cast<std::ptrdiff_t>(compact.children(n).size()), end);
    parent_pointers_.push_back(parents_.size());
    child_pointers_.push_back(children_.size());
  }
}

void LabelSetInference::Impl::load(std::span<const double> scores, Scratch& s) const {
  s.score.assign(size(), 0.0);
  for (std::size_t n = 0; n < scores.size(); ++n) s.score[class_of_[n]] += scores[n];
  s.selected.assign(size(), 0);
}

// best(n) = r_n + sum of the children's positive best(c), or the largest best(c) if none is.
void LabelSetInference::Impl::solve_tree(Scratch& s) const {
  s.reserve_child.resize(size());
  for (Index k = size(); k-- > 0;) {
    Index best_child = kNoNode;
    double positive = 0;
    for (const Index c : children(k)) {
      if (s.score[c] > 0) positive += s.score[c];
      if (best_child == kNoNode || s.score[c] > s.score[best_child]) best_child = c;
    }
    s.reserve_child[k] = best_child;
    if (best_child != kNoNode) s.score[k] += positive > 0 ? positive : s.score[best_child];
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
  sweep(s);
  while (!s.terminal[0] && drop_useless(s)) {
    s.score.assign(s.loaded_score.begin(), s.loaded_score.end());
    sweep(s);
  }
  return s.terminal[0] != 0;
}

void LabelSetInference::Impl::sweep(Scratch& s) const {
  for (Index k = size(); k-- > 0;) reduce_node(k, s);
}

// Children come first. A terminal node has no children left to decide on.
void LabelSetInference::Impl::reduce_node(Index k, Scratch& s) const {
  s.status[k] = s.dropped[k] ? NodeStatus::dropped : NodeStatus::open;
  s.grounded[k] = children(k).empty();
  s.reserve[k] = kNoReserve;
  s.reserve_child[k] = kNoNode;
  bool has_open_child = false;
  for (const Index c : children(k)) {
    if (s.status[c] == NodeStatus::dropped) continue;
    if (!single_parent(c)) {
      has_open_child = true;
    } else if (s.score[c] > 0 && s.grounded[c]) {
      // Adding c whenever k is there costs nothing else.
      s.status[c] = NodeStatus::follows;
      s.score[k] += s.score[c];
      s.grounded[k] = 1;
      has_open_child = has_open_child || !s.terminal[c];
    } else if (!s.terminal[c]) {
      has_open_child = true;
    } else {
      // Only good for completing k: the best of its kind is enough.
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
  assert(s.reserve_child[k] != kNoNode);
  s.score[k] += s.reserve[k];
  s.grounded[k] = 1;
}

// A worthless terminal node serves only to complete its parents; where their reserves together are
// no more expensive, it is not needed.
bool LabelSetInference::Impl::drop_useless(Scratch& s) const {
  bool any = false;
  for (Index k = 1; k < size(); ++k) {
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
  s.core_number.assign(size(), kNoNode);
  s.node_of_core.clear();
  for (Index k = 0; k < size(); ++k) {
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
      if (number != 0) core.up_nodes.push_back(number);
    }
    core.up_pointers.push_back(static_cast<Index>(core.up_nodes.size()));
  }
  for (const Index k : s.node_of_core) {
    if (!s.grounded[k]) {
      for (const Index c : children(k)) {
        if (s.core_number[c] != kNoNode) core.child_nodes.push_back(s.core_number[c]);
      }
    }
    core.child_pointers.push_back(static_cast<Index>(core.child_nodes.size()));
  }
}

namespace {

// Of a solution in whole numbers.
double worth(const detail::LabelSetCore& core, const detail::CoreSolution& solution) {
  double value = 0;
  for (Index k = 0; k < core.size(); ++k) {
    if (solution.z[k] > 0.5) value += core.weight[k];
    if (solution.u[k] > 0.5) value += core.reserve[k];
  }
  return value;
}

}  // namespace

void LabelSetInference::Impl::mark_known(std::span<const NodeId> known, Scratch& s) const {
  s.known.clear();
  if (known.empty()) return;
  s.known_node.assign(size(), 0);
  for (const NodeId n : known) s.known_node[class_of_[n]] = 1;
  s.known.assign(2 * std::size_t{s.core.size()}, 0);
  for (Index k = 0; k < s.core.size(); ++k) {
    const Index node = s.node_of_core[k];
    s.known[k] = s.known_node[node];
    if (s.core.grounded[k] || s.core.reserve[k] == kNoReserve) continue;
    s.known[s.core.size() + k] = s.known_node[s.reserve_child[node]];
  }
}

BestLabelSet LabelSetInference::Impl::search_core(Scratch& s, const BranchLimits& limits,
                                                  const SearchGoal& goal) const {
  BestLabelSet result;
  const auto by_cuts =
      s.cut_search.solve(s.core, goal.is_heuristic() ? 1 : limits.on_cuts, goal, s.known);
  result.num_branches = by_cuts.num_branches;
  result.bound = by_cuts.bound;
  if (by_cuts.proven || goal.is_heuristic()) {
    result.stage =
        by_cuts.num_branches == 1 ? InferenceStage::closure : InferenceStage::branch_and_bound;
    take_from(s.cut_search, s);
    return result;
  }
  const auto by_programmes =
      s.search.solve_by_relaxations(s.core, by_cuts.value, s.cut_search.all_selected(),
                                    s.cut_search.alive(), limits.on_programmes, goal);
  result.num_branches += by_programmes.num_branches;
  result.stage = InferenceStage::relaxation;
  take_from(s.search, s);
  result.bound = std::min(by_cuts.bound, std::max(by_cuts.left_bound, by_programmes.bound));
  if (by_programmes.proven) return result;
  if (!goal.needs_best()) return result;
  result.stage = InferenceStage::ilp;
  result.bound = std::max(by_cuts.left_bound, by_programmes.left_bound);
  if (detail::solve_core_exactly(s.core, s.search.fixings(), s.program) &&
      worth(s.core, s.program) > s.search.value()) {
    std::fill(s.selected.begin(), s.selected.end(), 0);
    take_from_program(s);
  }
  return result;
}

bool LabelSetInference::Impl::find_label_set(Scratch& s, const SearchGoal& goal) const {
  if (goal.needs_best()) return false;
  const auto by_cuts = s.cut_search.solve(s.core, 1, SearchGoal::heuristic());
  const double best = std::max(by_cuts.value, s.search.value());
  if (!goal.is_heuristic() && s.search.relaxation_bound() > best + goal.allowed_gap(best))
    return false;
  if (by_cuts.value >= s.search.value()) {
    take_from(s.cut_search, s);
  } else {
    take_from(s.search, s);
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
    if (!s.selected[class_of_[n]]) continue;
    nodes.push_back(n);
    score += scores[n];
  }
  return score;
}

// z of the core to z of all nodes. Returns whether every z is 0 or 1.
bool LabelSetInference::Impl::spread_fractions(Scratch& s, std::span<double> z) const {
  s.reserve.assign(size(), 0.0);  // the fractions, by compact node
  for (Index k = 0; k < s.core.size(); ++k) {
    const Index node = s.node_of_core[k];
    s.reserve[node] = s.program.z[k];
    if (s.program.u[k] > 0) s.reserve[s.reserve_child[node]] = s.program.u[k];
  }
  for (Index k = 1; k < size(); ++k) {
    if (s.status[k] == NodeStatus::follows) s.reserve[k] = s.reserve[parents(k)[0]];
  }
  bool integral = true;
  for (NodeId n = 0; n < num_nodes(); ++n) {
    z[n] = s.reserve[class_of_[n]];
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
                                     std::vector<NodeId>& nodes, const BranchLimits& limits) const {
  return good(scores, workspace, nodes, {}, {}, limits);
}

BestLabelSet LabelSetInference::good(std::span<const double> scores, Workspace& workspace,
                                     std::vector<NodeId>& nodes, const SearchGoal& goal,
                                     std::span<const NodeId> known,
                                     const BranchLimits& limits) const {
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
    impl_->mark_known(known, s);
    result = impl_->search_core(s, limits, goal);
    bound = result.bound;
    impl_->expand(s);
  }
  result.score = impl_->collect(scores, s, nodes);
  result.bound = std::max(bound, result.score);
  return result;
}

RelaxedLabelSet LabelSetInference::relaxed(std::span<const double> scores, Workspace& workspace,
                                           std::span<double> z) const {
  return good_relaxed(scores, workspace, z, {});
}

RelaxedLabelSet LabelSetInference::good_relaxed(std::span<const double> scores,
                                                Workspace& workspace, std::span<double> z,
                                                const SearchGoal& goal) const {
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
    if (s.search.settle(s.core)) {
      impl_->take_from(s.search, s);
      impl_->expand(s);
    } else if (impl_->find_label_set(s, goal)) {
      impl_->expand(s);
      bound = s.search.relaxation_bound();
    } else {
      from_selected = false;
      detail::CoreRelaxation(s.core, {}).solve(s.program);
      result.integral = impl_->spread_fractions(s, z);
    }
  }
  if (from_selected) impl_->copy_selected(s, z);
  for (std::size_t n = 0; n < z.size(); ++n) result.score += z[n] * scores[n];
  result.bound = std::max(bound, result.score);
  return result;
}

}  // namespace margrove
