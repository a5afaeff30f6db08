#include "model/top_down_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/keep_first.hpp"
#include "model/finite_scores.hpp"

namespace margrove {
namespace {

const std::string kTopDownPrefix = "top-down";

struct Path {
  NodeId end;
  double score;
};

}  // namespace

struct TopDownPredictor::Scratch {
  LinearPredictor::Scratch linear;
  std::vector<Path> paths, longer;
};

TopDownPredictor::TopDownPredictor(LinearPredictor::Parts parts, int beam, double scale)
    : linear_(std::move(parts)), beam_(beam), scale_(scale) {
  const LabelGraph& graph = linear_.parts().graph;
  require(graph.is_tree(), "top-down model: the graph must be a tree");
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
}

const std::vector<NodeId>& TopDownPredictor::siblings(NodeId n) const {
  const LabelGraph& graph = parts().graph;
  return graph.is_root(n) ? starts_ : children_[graph.parents(n).front()];
}

double TopDownPredictor::log_total(std::span<const NodeId> nodes,
                                   std::span<const float> margins) const {
  float top = margins[nodes.front()];
  for (const NodeId n : nodes) top = std::max(top, margins[n]);
  double sum = 0;
  for (const NodeId n : nodes) sum += std::exp(scale_ * (static_cast<double>(margins[n]) - top));
  return scale_ * top + std::log(sum);
}

void TopDownPredictor::search(const CsrView& X, std::size_t i, int beam, std::span<float> scores,
                              Scratch& scratch) const {
  const auto margins = linear_.node_scores(X, i, scratch.linear);
  auto& [linear, paths, longer] = scratch;
  paths.clear();
  const auto keep_best = [&](std::vector<Path>& candidates) {
    const std::size_t kept = beam == 0 ? candidates.size() : static_cast<std::size_t>(beam);
    keep_first(candidates, kept, [](const Path& a, const Path& b) {
      return a.score != b.score ? a.score > b.score : a.end < b.end;
    });
  };
  const auto extend = [&](double score, std::span<const NodeId> nodes, std::vector<Path>& to) {
    const double total = log_total(nodes, margins);
    for (const NodeId n : nodes) to.push_back({n, score + (scale_ * margins[n] - total)});
  };
  extend(0, starts_, paths);
  keep_best(paths);
  const auto at_leaf = [&](const Path& path) { return children_[path.end].empty(); };
  while (!std::all_of(paths.begin(), paths.end(), at_leaf)) {
    longer.clear();
    for (const Path& path : paths) {
      if (at_leaf(path)) {
        longer.push_back(path);
      } else {
        extend(path.score, children_[path.end], longer);
      }
    }
    keep_best(longer);
    std::swap(paths, longer);
  }
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  for (const Path& path : paths) {
    require_finite_scores(std::span(&path.score, 1), i);
    scores[parts().label_of_node[path.end]] = static_cast<float>(path.score);
  }
}

void TopDownPredictor::search_rows(const CsrView& X, std::size_t begin, std::size_t end, int beam,
                                   std::span<float> scores) const {
  Scratch scratch;
  for (std::size_t i = begin; i < end; ++i) {
    search(X, i, beam, scores.subspan((i - begin) * num_labels(), num_labels()), scratch);
  }
}

void TopDownPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                              std::span<float> scores) const {
  search_rows(X, begin, end, beam_, scores);
}

void TopDownPredictor::probability_scores(const CsrView& X, std::size_t begin, std::size_t end,
                                          std::span<float> scores) const {
  search_rows(X, begin, end, 0, scores);
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
        search(X, i, beam_, scratch.labels, scratch.search);
        parts().decision.choose({scratch.labels}, set);
      });
}

Explanation TopDownPredictor::explain(const SparseRow& x, LabelId label,
                                      std::size_t num_strongest) const {
  Explanation explanation = linear_.explain(x, label, num_strongest);
  const auto leaf = std::find_if(parts().candidates.begin(), parts().candidates.end(),
                                 [&](NodeId n) { return parts().label_of_node[n] == label; });
  LinearPredictor::Scratch scratch;
  const std::vector<std::int64_t> pointers{0, static_cast<std::int64_t>(x.size())};
  const auto margins =
      linear_.node_scores({linear_.num_features(), pointers, x.columns, x.values}, 0, scratch);
  explanation.score = 0;
  for (const NodeId n : parts().graph.ancestors(*leaf)) {
    explanation.score += scale_ * margins[n] - log_total(siblings(n), margins);
  }
  return explanation;
}

LikelihoodSlope TopDownPredictor::path_slope(NodeId leaf, std::span<const float> margins,
                                             double scale) const {
  LikelihoodSlope sum;
  std::vector<float> choices;
  for (const NodeId n : parts().graph.ancestors(leaf)) {
    const std::vector<NodeId>& nodes = siblings(n);
    choices.clear();
    for (const NodeId m : nodes) choices.push_back(margins[m]);
    const auto chosen = std::find(nodes.begin(), nodes.end(), n) - nodes.begin();
    const LikelihoodSlope slope =
        likelihood_slope(choices, static_cast<std::size_t>(chosen), scale);
    sum.first += slope.first;
    sum.second += slope.second;
  }
  return sum;
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
      LinearPredictor::Scratch scratch;
      for (std::size_t i = begin; i < end; ++i) {
        slopes[i] = {};
        const auto margins = linear_.node_scores(X, i, scratch);
        for (const NodeId leaf : leaves[i]) {
          if (!is_candidate[leaf]) continue;
          const LikelihoodSlope slope = path_slope(leaf, margins, scale);
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
    has_choice |= sum.second > 0;
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
