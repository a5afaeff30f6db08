#include "model/top_down_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/keep_first.hpp"
#include "model/finite_scores.hpp"
#include "numerics/log_number.hpp"

namespace margrove {
namespace {

const std::string kTopDownPrefix = "top-down";

/// The best path found to a node.
struct Path {
  NodeId end;
  double score;
};

/// log of the sum over `nodes` of exp(scale margin). That of a node's choice among them is its
/// scaled margin less this.
double log_total(std::span<const NodeId> nodes, std::span<const float> margins, double scale) {
  float top = margins[nodes.front()];
  for (const NodeId n : nodes) top = std::max(top, margins[n]);
  double sum = 0;
  for (const NodeId n : nodes) sum += std::exp(scale * (static_cast<double>(margins[n]) - top));
  return scale * top + std::log(sum);
}

/// Derivatives by the scale of minus the log-probability of n's choice among `nodes`.
LikelihoodSlope choice_slope(NodeId n, const std::vector<NodeId>& nodes,
                             std::span<const float> margins, double scale) {
  std::vector<float> choices;
  for (const NodeId m : nodes) choices.push_back(margins[m]);
  const auto chosen = std::find(nodes.begin(), nodes.end(), n) - nodes.begin();
  return likelihood_slope(choices, static_cast<std::size_t>(chosen), scale);
}

/// A log-probability, and the derivatives by the scale of minus that.
struct PathSlope {
  double log;
  LikelihoodSlope slope;
};
/// That of several paths together, which have the probabilities p_k and the derivatives g_k and
/// h_k: with r_k = p_k / sum_m p_m the first derivative is sum_k r_k g_k, the second sum_k r_k h_k
/// less the variance of g under r.
PathSlope sum_of(std::span<const PathSlope> paths) {
  if (paths.size() == 1) return paths.front();
  std::vector<double> logs;
  for (const PathSlope& path : paths) logs.push_back(path.log);
  PathSlope sum{log_sum_exp(logs), {}};
  for (const auto& [log, slope] : paths) sum.slope.first += std::exp(log - sum.log) * slope.first;
  for (const auto& [log, slope] : paths) {
    const double deviation = slope.first - sum.slope.first;
    sum.slope.second += std::exp(log - sum.log) * (slope.second - deviation * deviation);
  }
  return sum;
}

}  // namespace

struct TopDownPredictor::Scratch {
  LinearPredictor::Scratch linear;
  std::vector<Path> ends;             // the result of search()
  std::vector<Path> longer;           // those of its next step
  std::vector<double> logs;           // of the paths to each node
  std::vector<double> totals;         // log_total() of each node's children
  std::vector<PathSlope> slopes;      // of the paths to each node
  std::vector<PathSlope> of_parents;  // of the paths to one node, by parent
};

TopDownPredictor::TopDownPredictor(LinearPredictor::Parts parts, int beam, double scale)
    : linear_(std::move(parts)), beam_(beam), scale_(scale) {
  const LabelGraph& graph = linear_.parts().graph;
  const Decision& decision = linear_.parts().decision;
  require(!decision.uses_node_scores(), "top-down model: decision is ", decision.name(),
          ", but must be made from the labels' scores");
  require(beam >= 0, "top-down model: beam is ", beam, ", but must be >= 0");
  require(scale > 0 && std::isfinite(scale), "top-down model: scale is ", scale,
          ", but must be positive and finite");
  std::vector<bool> has_data(graph.num_nodes(), false);
  for (const NodeId leaf : linear_.parts().candidates) {
    require(graph.is_leaf(leaf), "top-down model: candidate is node ", leaf,
            ", but must be a leaf");
    for (const NodeId n : graph.ancestors(leaf)) has_data[n] = true;
  }
  const auto with_data = [&](std::span<const NodeId> nodes) {
    std::vector<NodeId> kept;
    std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(kept),
                 [&](NodeId n) { return has_data[n]; });
    return kept;
  };
  starts_ = with_data(graph.roots());
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    children_.push_back(with_data(graph.children(n)));
  }
  order_ = with_data(graph.topological_order());
}

void TopDownPredictor::search(std::span<const float> margins, std::size_t beam,
                              Scratch& scratch) const {
  auto& ends = scratch.ends;
  auto& longer = scratch.longer;
  const auto merge = [&](std::vector<Path>& paths) {
    std::sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) {
      return a.end != b.end ? a.end < b.end : a.score > b.score;
    });
    const auto is_same = [](const Path& a, const Path& b) { return a.end == b.end; };
    paths.erase(std::unique(paths.begin(), paths.end(), is_same), paths.end());
  };
  const auto keep_best = [&](std::vector<Path>& paths) {
    if (!parts().graph.is_tree()) merge(paths);
    keep_first(paths, beam, [](const Path& a, const Path& b) {
      return a.score != b.score ? a.score > b.score : a.end < b.end;
    });
  };
  const auto extend = [&](double score, std::span<const NodeId> nodes, std::vector<Path>& to) {
    const double total = log_total(nodes, margins, scale_);
    for (const NodeId n : nodes) to.push_back({n, score + (scale_ * margins[n] - total)});
  };
  ends.clear();
  extend(0, starts_, ends);
  keep_best(ends);
  const auto at_leaf = [&](const Path& path) { return children_[path.end].empty(); };
  while (!std::all_of(ends.begin(), ends.end(), at_leaf)) {
    longer.clear();
    for (const Path& path : ends) {
      if (at_leaf(path)) {
        longer.push_back(path);
      } else {
        extend(path.score, children_[path.end], longer);
      }
    }
    keep_best(longer);
    std::swap(ends, longer);
  }
}

void TopDownPredictor::walk(std::span<const float> margins, Paths paths, Scratch& scratch) const {
  const LabelGraph& graph = parts().graph;
  auto& logs = scratch.logs;
  auto& totals = scratch.totals;
  logs.resize(graph.num_nodes());
  totals.resize(graph.num_nodes());
  const double of_roots = log_total(starts_, margins, scale_);
  for (const NodeId n : order_) {
    const double scaled = scale_ * margins[n];
    const auto parents = graph.parents(n);
    if (parents.empty()) {
      logs[n] = scaled - of_roots;
    } else {
      logs[n] = logs[parents.front()] + (scaled - totals[parents.front()]);
      for (const NodeId p : parents.subspan(1)) {
        const double by_p = logs[p] + (scaled - totals[p]);
        logs[n] = paths == Paths::best ? std::max(logs[n], by_p)
                                       : (LogNumber{logs[n]} + LogNumber{by_p}).log;
      }
    }
    if (!children_[n].empty()) totals[n] = log_total(children_[n], margins, scale_);
  }
}

std::vector<NodeId> TopDownPredictor::best_path(NodeId leaf, std::span<const float> margins,
                                                const Scratch& scratch) const {
  const LabelGraph& graph = parts().graph;
  std::vector<NodeId> path{leaf};
  while (!graph.is_root(path.back())) {
    const NodeId n = path.back();
    const auto log_by = [&](NodeId p) {
      return scratch.logs[p] + (scale_ * margins[n] - scratch.totals[p]);
    };
    const auto parents = graph.parents(n);
    path.push_back(*std::max_element(parents.begin(), parents.end(),
                                     [&](NodeId p, NodeId q) { return log_by(p) < log_by(q); }));
  }
  std::reverse(path.begin(), path.end());
  return path;
}

void TopDownPredictor::score_row(const CsrView& X, std::size_t i, int beam, Paths paths,
                                 std::span<float> scores, Scratch& scratch) const {
  const auto margins = linear_.node_scores(X, i, scratch.linear);
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  const auto put = [&](NodeId n, const double score) {
    require_finite_scores(std::span(&score, 1), i);
    scores[parts().label_of_node[n]] = static_cast<float>(score);
  };
  if (beam == 0) {
    walk(margins, paths, scratch);
    for (const NodeId n : parts().candidates) put(n, scratch.logs[n]);
  } else {
    search(margins, static_cast<std::size_t>(beam), scratch);
    for (const Path& path : scratch.ends) put(path.end, path.score);
  }
}

void TopDownPredictor::score_rows(const CsrView& X, std::size_t begin, std::size_t end, int beam,
                                  Paths paths, std::span<float> scores) const {
  Scratch scratch;
  for (std::size_t i = begin; i < end; ++i) {
    score_row(X, i, beam, paths, scores.subspan((i - begin) * num_labels(), num_labels()), scratch);
  }
}

void TopDownPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                              std::span<float> scores) const {
  score_rows(X, begin, end, beam_, Paths::best, scores);
}

void TopDownPredictor::probability_scores(const CsrView& X, std::size_t begin, std::size_t end,
                                          std::span<float> scores) const {
  score_rows(X, begin, end, 0, Paths::all, scores);
}

LabelSets TopDownPredictor::predict(const CsrView& X, Executor& executor) const {
  struct RowScratch {
    Scratch search;
    std::vector<float> labels;
  };
  return collect_sets(
      X.num_rows(), rows_per_block(), executor,
      [&] {
        return RowScratch{{}, std::vector<float>(num_labels())};
      },
      [&](std::size_t i, RowScratch& scratch, std::vector<LabelId>& set) {
        score_row(X, i, beam_, Paths::best, scratch.labels, scratch.search);
        parts().decision.choose({scratch.labels}, set);
      });
}

Explanation TopDownPredictor::explain(const SparseRow& x, LabelId label,
                                      std::size_t num_strongest) const {
  const NodeId leaf = linear_.candidate_of(label);
  Scratch scratch;
  const std::vector<std::int64_t> pointers{0, static_cast<std::int64_t>(x.size())};
  const auto margins = linear_.node_scores({linear_.num_features(), pointers, x.columns, x.values},
                                           0, scratch.linear);
  walk(margins, Paths::best, scratch);
  Explanation explanation =
      linear_.explain_nodes(x, label, best_path(leaf, margins, scratch), num_strongest);
  explanation.score = scratch.logs[leaf];
  return explanation;
}

LikelihoodSlope TopDownPredictor::leaf_slope(NodeId leaf, std::span<const float> margins,
                                             double scale, Scratch& scratch) const {
  const LabelGraph& graph = parts().graph;
  std::vector<NodeId> above = graph.ancestors(leaf);
  if (graph.is_tree()) {
    LikelihoodSlope sum;
    for (const NodeId n : above) {
      const auto& nodes = graph.is_root(n) ? starts_ : children_[graph.parents(n).front()];
      const LikelihoodSlope slope = choice_slope(n, nodes, margins, scale);
      sum.first += slope.first;
      sum.second += slope.second;
    }
    return sum;
  }
  std::sort(above.begin(), above.end(),
            [&](NodeId a, NodeId b) { return graph.depth(a) < graph.depth(b); });
  auto& slopes = scratch.slopes;
  auto& of_parents = scratch.of_parents;
  slopes.resize(graph.num_nodes());
  for (const NodeId n : above) {
    of_parents.clear();
    const auto add = [&](const PathSlope& before, const std::vector<NodeId>& nodes) {
      const double log = scale * margins[n] - log_total(nodes, margins, scale);
      const auto [first, second] = choice_slope(n, nodes, margins, scale);
      of_parents.push_back(
          {before.log + log, {before.slope.first + first, before.slope.second + second}});
    };
    if (graph.is_root(n)) add({0, {}}, starts_);
    for (const NodeId p : graph.parents(n)) add(slopes[p], children_[p]);
    slopes[n] = sum_of(of_parents);
  }
  return slopes[leaf].slope;
}

double TopDownPredictor::fitted_scale(const CsrView& X, const LabelSets& leaves,
                                      std::span<const double> row_weights,
                                      Executor& executor) const {
  constexpr std::size_t kRowsPerTask = 64;
  std::vector<bool> is_candidate(parts().graph.num_nodes(), false);
  for (const NodeId leaf : parts().candidates) is_candidate[leaf] = true;
  std::vector<LikelihoodSlope> slopes(X.num_rows());
  bool has_choice = false;
  const auto slope_at = [&](double scale) {
    executor.for_ranges(X.num_rows(), kRowsPerTask, [&](std::size_t begin, std::size_t end, int) {
      Scratch scratch;
      for (std::size_t i = begin; i < end; ++i) {
        slopes[i] = {};
        const auto margins = linear_.node_scores(X, i, scratch.linear);
        for (const NodeId leaf : leaves[i]) {
          if (!is_candidate[leaf]) continue;
          const LikelihoodSlope slope = leaf_slope(leaf, margins, scale, scratch);
          slopes[i].first += slope.first;
          slopes[i].second += slope.second;
        }
      }
    });
    LikelihoodSlope sum;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const double weight = row_weights.empty() ? 1.0 : row_weights[i];
      sum.first += weight * slopes[i].first;
      sum.second += weight * slopes[i].second;
    }
    has_choice |= sum.second != 0;  // in a DAG it may be negative
    return sum;
  };
  const double scale = most_likely_factor(slope_at);
  return has_choice ? scale : kDefaultScale;
}

std::vector<Fact> TopDownPredictor::facts() const {
  std::vector<Fact> facts = linear_.facts();
  facts.push_back({"beam", concat(beam_)});
  facts.push_back({"scale", concat(scale_)});
  return facts;
}

std::unique_ptr<Predictor> TopDownPredictor::compressed(
    const WeightCompression& compression) const {
  return std::make_unique<TopDownPredictor>(linear_.compressed_parts(compression), beam_, scale_);
}

void TopDownPredictor::save(TensorMap& out) const {
  linear_.save_parts(out, kTopDownPrefix);
  out.put_text(kTopDownPrefix + ".beam", concat(beam_));
  out.put_number(kTopDownPrefix + ".scale", scale_);
}

std::unique_ptr<Predictor> TopDownPredictor::load(const TensorMap& tensors,
                                                  std::uint32_t num_labels) {
  const std::uint64_t beam =
      tensors.whole_number(kTopDownPrefix + ".beam", std::numeric_limits<int>::max());
  const double scale = tensors.has_text(kTopDownPrefix + ".scale")
                           ? tensors.number(kTopDownPrefix + ".scale")
                           : kDefaultScale;
  return std::make_unique<TopDownPredictor>(
      LinearPredictor::load_parts(tensors, kTopDownPrefix, num_labels), static_cast<int>(beam),
      scale);
}

}  // namespace margrove
