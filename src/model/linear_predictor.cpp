#include "model/linear_predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/simd.hpp"
#include "hierarchy/graph_operations.hpp"
#include "model/finite_scores.hpp"
#include "model/tensor_parts.hpp"

namespace margrove {
namespace {

using RowLanes = LinearPredictor::RowLanes;

const std::string kPrefix = "linear";

std::uint32_t num_nodes(const LinearPredictor::Parts& parts) { return parts.graph.num_nodes(); }

void check_parts(const LinearPredictor::Parts& parts) {
  const std::uint32_t nodes = num_nodes(parts);
  require(parts.weights.num_nodes() == nodes && parts.label_of_node.size() == nodes,
          "linear model: weights have ", parts.weights.num_nodes(), " nodes and label_of_node has ",
          parts.label_of_node.size(), ", but the graph has ", nodes);
  require(parts.alpha.empty() || parts.alpha.size() == nodes, "linear model: alpha has ",
          parts.alpha.size(), " entries, but the graph has ", nodes, " nodes");
  if (!parts.levels.empty() || !parts.levels.offsets.empty()) {
    const std::size_t num_levels = GraphLevels(parts.graph).size();
    require(parts.levels.size() == num_levels && parts.levels.offsets.size() == num_levels,
            "linear model: there are ", parts.levels.size(), " level weights and ",
            parts.levels.offsets.size(), " offsets, but the graph has ", num_levels, " levels");
  }
  require(parts.bias >= 0 && std::isfinite(parts.bias), "linear model: bias is ", parts.bias,
          ", but must be >= 0");
  require(parts.bias == 0 || parts.weights.num_features() > 0,
          "linear model: the weights of the intercept are missing");
  for (const LabelId label : parts.label_of_node) {
    require(label < parts.num_labels, "linear model: a node has label ", label,
            ", but there are only ", parts.num_labels);
  }
  require(!parts.candidates.empty(), "linear model: there is no label to predict");
  std::vector<bool> seen(parts.num_labels, false);
  for (const NodeId n : parts.candidates) {
    require(n < nodes, "linear model: candidate is node ", n, ", but there are only ", nodes);
    const LabelId label = parts.label_of_node[n];
    require(!seen[label], "linear model: label ", label, " is predicted by two nodes");
    seen[label] = true;
    require(!parts.decision.uses_node_scores() || parts.graph.is_leaf(n),
            "linear model: candidate is node ", n, ", but must be a leaf to be part of label sets");
  }
  if (const auto* decision = std::get_if<ThresholdDecision>(&parts.decision.rule)) {
    require(decision->thresholds.size() == 1 || decision->thresholds.size() == parts.num_labels,
            "linear model: there are ", decision->thresholds.size(),
            " thresholds, but must be 1 or one per label");
  }
}

/// From the roots down, with four digits. What is tiny beside `scale` is rounding of the fit: 0.
std::string listed(const std::vector<double>& of_levels, double scale) {
  constexpr double kTiny = 1e-6;
  std::string text;
  for (const double value : of_levels) {
    if (!text.empty()) text += ' ';
    text += fmt::format("{:.4g}", std::abs(value) <= kTiny * scale ? 0.0 : value);
  }
  return text;
}

/// The lines of `info` on the levels, from the roots down.
std::vector<Fact> facts_of(const LevelWeights& levels) {
  double scale = *std::ranges::max_element(levels.factors);
  for (const double weight : levels.stacked) scale = std::max(scale, weight);
  std::vector<Fact> facts{{"level weights", listed(levels.factors, scale)},
                          {"level offsets", listed(levels.offsets, scale)}};
  if (!levels.stacked.empty()) {
    facts.push_back({"stack weights", listed(levels.stacked, scale)});
  }
  if (levels.joint.empty()) return facts;
  std::string how;
  for (const std::uint8_t is_joint : levels.joint) {
    if (!how.empty()) how += ' ';
    how += is_joint != 0 ? "joint" : "ovr";
  }
  facts.push_back({"level training", std::move(how)});
  return facts;
}

// sums += the scores of the nodes, one after the other
MARGROVE_MULTIVERSION
void add_nodes(const NodeId* nodes, std::size_t count, const RowLanes* scores, RowLanes& sums) {
  for (std::size_t k = 0; k < count; ++k) {
    const float* own = scores[nodes[k]].at;
#pragma omp simd
    for (std::size_t r = 0; r < RowLanes::kRows; ++r) sums.at[r] += own[r];
  }
}

}  // namespace

LinearPredictor::LinearPredictor(Parts parts) : parts_(std::move(parts)) {
  check_parts(parts_);
  parts_.weights = std::move(parts_.weights).compacted();
  if (!parts_.graph.is_tree()) ancestors_ = ListedAncestors(parts_.graph);
  if (parts_.decision.uses_node_scores()) {
    label_sets_ = std::make_unique<const CandidateHierarchy>(parts_.graph, parts_.candidates,
                                                             parts_.label_of_node);
  }
}

std::uint32_t LinearPredictor::num_features() const {
  return parts_.weights.num_features() - (parts_.bias > 0 ? 1 : 0);
}

std::span<float> LinearPredictor::node_scores(const CsrView& X, std::size_t i,
                                              Scratch& scratch) const {
  const std::span<float> of_row = node_scores(X, i, 1, scratch);
  require_finite_scores(std::span<const float>(of_row), i);
  return of_row;
}

std::span<float> LinearPredictor::node_scores(const CsrView& X, std::size_t first,
                                              std::size_t count, Scratch& scratch) const {
  scratch.columns.clear();
  scratch.values.clear();
  std::vector<std::size_t> ends;
  for (std::size_t i = first; i < first + count; ++i) {
    const SparseRow x = X.row(i);
    const auto known =
        std::lower_bound(x.columns.begin(), x.columns.end(), num_features()) - x.columns.begin();
    scratch.columns.insert(scratch.columns.end(), x.columns.begin(), x.columns.begin() + known);
    scratch.values.insert(scratch.values.end(), x.values.begin(), x.values.begin() + known);
    if (parts_.bias > 0) {
      scratch.columns.push_back(num_features());
      scratch.values.push_back(static_cast<float>(parts_.bias));
    }
    ends.push_back(scratch.columns.size());
  }
  std::vector<SparseRow> rows;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t begin = r == 0 ? 0 : ends[r - 1], size = ends[r] - begin;
    rows.push_back({std::span(scratch.columns).subspan(begin, size),
                    std::span(scratch.values).subspan(begin, size)});
  }
  scratch.node_scores.resize(count * num_nodes(parts_));
  parts_.weights.scores(rows, scratch.node_scores);
  return scratch.node_scores;
}

void LinearPredictor::score_labels(std::span<float> node_scores, std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  const LabelGraph& graph = parts_.graph;
  // The score of a path: its parent's, passed down, and its own.
  if (graph.num_edges() > 0) {
    for (const NodeId n : graph.topological_order()) {
      if (!graph.is_root(n)) node_scores[n] += node_scores[graph.parents(n).front()];
    }
  }
  for (const NodeId n : parts_.candidates) scores[parts_.label_of_node[n]] = node_scores[n];
}

void LinearPredictor::score_labels_of_rows(std::span<const RowLanes> node_scores,
                                           std::size_t first_row, std::size_t num_rows,
                                           std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  std::vector<NodeId> scratch;
  for (const NodeId n : parts_.candidates) {
    const auto ancestors = ancestors_.of(parts_.graph, n, scratch);
    RowLanes sums{};
    add_nodes(ancestors.data(), ancestors.size(), node_scores.data(), sums);
    for (std::size_t r = 0; r < num_rows; ++r) {
      require_finite_scores(std::span<const float>(&sums.at[r], 1), first_row + r);
      scores[r * num_labels() + parts_.label_of_node[n]] = sums.at[r];
    }
  }
}

void LinearPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                             std::span<float> scores) const {
  Scratch scratch;
  const std::size_t nodes = num_nodes(parts_);
  const bool is_tree = parts_.graph.is_tree();
  // Several rows at a time, as their sums over many ancestors do not wait for each other.
  std::vector<RowLanes> of_rows(is_tree ? 0 : nodes);
  for (std::size_t first = begin; first < end; first += RowLanes::kRows) {
    const std::size_t count = std::min(RowLanes::kRows, end - first);
    const std::span<float> together = node_scores(X, first, count, scratch);
    const std::span<float> labels =
        scores.subspan((first - begin) * num_labels(), count * num_labels());
    for (std::size_t r = 0; r < count; ++r) {
      const std::span<float> of_row = together.subspan(r * nodes, nodes);
      require_finite_scores(std::span<const float>(of_row), first + r);
      if (is_tree) {
        score_labels(of_row, labels.subspan(r * num_labels(), num_labels()));
        if (parts_.graph.num_edges() > 0) {  // of_row has become sums
          require_finite_scores(std::span<const float>(of_row), first + r);
        }
      } else {
        for (std::size_t n = 0; n < nodes; ++n) of_rows[n].at[r] = of_row[n];
      }
    }
    if (!is_tree) score_labels_of_rows(of_rows, first, count, labels);
  }
}

LabelSets LinearPredictor::predict(const CsrView& X, Executor& executor) const {
  if (label_sets_ == nullptr) {
    return collect_blocks(X.num_rows(), rows_per_block(), executor,
                          [&](std::size_t begin, std::size_t end, LabelSets& sets) {
                            std::vector<float> labels((end - begin) * num_labels());
                            scores(X, begin, end, labels);
                            std::vector<LabelId> set;
                            for (std::size_t i = 0; i < end - begin; ++i) {
                              set.clear();
                              parts_.decision.choose(
                                  {std::span(labels).subspan(i * num_labels(), num_labels())}, set);
                              sets.append(set);
                            }
                          });
  }
  struct RowScratch {
    explicit RowScratch(const CandidateHierarchy& hierarchy) : search(hierarchy) {}
    Scratch linear;
    LabelSetDecoder search;
  };
  return collect_sets(
      X.num_rows(), rows_per_block(), executor, [&] { return RowScratch(*label_sets_); },
      [&](std::size_t i, RowScratch& scratch, std::vector<LabelId>& set) {
        parts_.decision.choose({{}, node_scores(X, i, scratch.linear), &scratch.search}, set);
      });
}

NodeId LinearPredictor::candidate_of(LabelId label) const {
  const auto found = std::find_if(parts_.candidates.begin(), parts_.candidates.end(),
                                  [&](NodeId n) { return parts_.label_of_node[n] == label; });
  require(found != parts_.candidates.end(), "explain: label ", label, " is never predicted");
  return *found;
}

Explanation LinearPredictor::explain(const SparseRow& x, LabelId label,
                                     std::size_t num_strongest) const {
  std::vector<NodeId> path = parts_.graph.ancestors(candidate_of(label));
  std::stable_sort(path.begin(), path.end(), [&](NodeId a, NodeId b) {
    return parts_.graph.depth(a) < parts_.graph.depth(b);
  });
  return explain_nodes(x, label, path, num_strongest);
}

Explanation LinearPredictor::explain_nodes(const SparseRow& x, LabelId label,
                                           std::span<const NodeId> nodes,
                                           std::size_t num_strongest) const {
  Explanation explanation{label, 0, {}, {}};
  for (const NodeId n : nodes) {
    Explanation::Node node{parts_.label_of_node[n], false, 0, {}};
    for (const NodeId parent : parts_.graph.parents(n)) {
      node.is_spawned |= parts_.label_of_node[parent] == node.label;
    }
    const auto add = [&](FeatureId feature, float value) {
      const float weight = parts_.weights.at(feature, n);
      if (weight == 0) return;
      const double score = static_cast<double>(value) * weight;
      node.strongest.push_back({feature, value, weight, score});
      node.score += score;
    };
    for (std::size_t k = 0; k < x.size() && x.columns[k] < num_features(); ++k) {
      add(x.columns[k], x.values[k]);
    }
    if (parts_.bias > 0) add(num_features(), static_cast<float>(parts_.bias));
    keep_strongest(node.strongest, num_strongest);
    explanation.score += node.score;
    explanation.nodes.push_back(std::move(node));
  }
  return explanation;
}

std::vector<Fact> LinearPredictor::facts() const {
  const WeightMatrix& w = parts_.weights;
  const double cells = static_cast<double>(w.num_features()) * w.num_nodes();
  const std::int64_t nonzeros = w.num_nonzeros();  // may read the file
  std::vector<Fact> facts{
      {"features", concat(num_features())},
      {"bias", concat(parts_.bias)},
      {"nodes", concat(w.num_nodes())},
      {"candidate labels", concat(parts_.candidates.size())},
      {"weights", w.is_dense() ? "dense" : "sparse"},
      {"nonzero weights", concat(nonzeros)},
      {"weight density", concat(cells > 0 ? static_cast<double>(nonzeros) / cells : 0.0)},
      {"weight bytes", concat(w.num_bytes())},
  };
  if (!parts_.levels.empty()) {
    const std::vector<Fact> of_levels = facts_of(parts_.levels);
    facts.insert(facts.end(), of_levels.begin(), of_levels.end());
  }
  if (parts_.packed) facts.push_back({"compressed to", std::string(name_of(*parts_.packed))});
  const std::vector<Fact> of_decision = parts_.decision.facts();
  facts.insert(facts.end(), of_decision.begin(), of_decision.end());
  return facts;
}

LinearPredictor::Parts LinearPredictor::compressed_parts(
    const WeightCompression& compression) const {
  return {.weights = margrove::compressed(parts_.weights, parts_.bias > 0, compression),
          .bias = parts_.bias,
          .graph = parts_.graph,
          .alpha = parts_.alpha,
          .levels = parts_.levels,
          .label_of_node = parts_.label_of_node,
          .candidates = parts_.candidates,
          .num_labels = parts_.num_labels,
          .decision = parts_.decision,
          .packed = compression.precision};
}

std::unique_ptr<Predictor> LinearPredictor::compressed(const WeightCompression& compression) const {
  return std::make_unique<LinearPredictor>(compressed_parts(compression));
}

void LinearPredictor::save(TensorMap& out) const { save_parts(out, kPrefix); }

void LinearPredictor::save_parts(TensorMap& out, const std::string& prefix) const {
  if (parts_.packed) {
    save_packed(out, prefix + ".weights", parts_.weights, parts_.bias > 0, *parts_.packed);
  } else {
    save_weights(out, prefix + ".weights", parts_.weights);
  }
  save_graph(out, prefix + ".graph", parts_.graph);
  out.put_number(prefix + ".bias", parts_.bias);
  out.put_view<LabelId>(prefix + ".label_of_node", parts_.label_of_node);
  out.put_view<NodeId>(prefix + ".candidates", parts_.candidates);
  if (!parts_.alpha.empty()) out.put_view<double>(prefix + ".alpha", parts_.alpha);
  if (!parts_.levels.empty()) {
    out.put_view<double>(prefix + ".level_weights", parts_.levels.factors);
    out.put_view<double>(prefix + ".level_offsets", parts_.levels.offsets);
    if (!parts_.levels.joint.empty()) {
      out.put_view<std::uint8_t>(prefix + ".level_joint", parts_.levels.joint);
    }
    if (!parts_.levels.stacked.empty()) {
      out.put_view<double>(prefix + ".stack_weights", parts_.levels.stacked);
    }
  }
  parts_.decision.save(out, prefix);
}

std::unique_ptr<Predictor> LinearPredictor::load(const TensorMap& tensors,
                                                 std::uint32_t num_labels) {
  return std::make_unique<LinearPredictor>(load_parts(tensors, kPrefix, num_labels));
}

LinearPredictor::Parts LinearPredictor::load_parts(const TensorMap& tensors,
                                                   const std::string& prefix,
                                                   std::uint32_t num_labels) {
  Parts parts;
  parts.num_labels = num_labels;
  parts.label_of_node = tensors.get<LabelId>(prefix + ".label_of_node");
  const auto nodes = parts.label_of_node.size();
  parts.graph = load_graph(tensors, prefix + ".graph", nodes);
  parts.bias = tensors.number(prefix + ".bias");
  if (const std::string weights = prefix + ".weights"; has_packed(tensors, weights)) {
    auto packed = load_packed(tensors, weights, parts.graph.num_nodes(), parts.bias > 0);
    parts.weights = std::move(packed.weights);
    parts.packed = packed.precision;
  } else {
    parts.weights = load_weights(tensors, weights, nodes);
  }
  parts.candidates = tensors.get<NodeId>(prefix + ".candidates");
  if (tensors.has(prefix + ".alpha")) {
    parts.alpha = tensors.get<double>(prefix + ".alpha", nodes);
    for (const double a : parts.alpha) {
      tensors.check(a >= 0 && std::isfinite(a), "tensor ", prefix, ".alpha must not be negative");
    }
  }
  if (tensors.has(prefix + ".level_weights")) {
    parts.levels.factors = tensors.get<double>(prefix + ".level_weights");
    parts.levels.offsets =
        tensors.get<double>(prefix + ".level_offsets", parts.levels.factors.size());
    for (const double v : parts.levels.factors) {
      tensors.check(v >= 0 && std::isfinite(v), "tensor ", prefix,
                    ".level_weights must not be negative");
    }
    for (const double c : parts.levels.offsets) {
      tensors.check(std::isfinite(c), "tensor ", prefix, ".level_offsets must be finite");
    }
    if (tensors.has(prefix + ".stack_weights")) {
      parts.levels.stacked = tensors.get<double>(prefix + ".stack_weights");
      for (const double t : parts.levels.stacked) {
        tensors.check(t >= 0 && std::isfinite(t), "tensor ", prefix,
                      ".stack_weights must not be negative");
      }
    }
    if (tensors.has(prefix + ".level_joint")) {
      parts.levels.joint =
          tensors.get<std::uint8_t>(prefix + ".level_joint", parts.levels.factors.size());
      for (const std::uint8_t is_joint : parts.levels.joint) {
        tensors.check(is_joint <= 1, "tensor ", prefix, ".level_joint must have 0 and 1 only");
      }
    }
  }
  parts.decision = Decision::load(tensors, prefix, num_labels);
  return parts;
}

}  // namespace margrove
