#include "model/top_down_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/keep_first.hpp"

namespace margrove {
namespace {

const std::string kPrefix = "top-down";

double log_sigmoid(double margin) {
  return margin > 0 ? -std::log1p(std::exp(-margin)) : margin - std::log1p(std::exp(margin));
}

struct Path {
  NodeId end;
  double score;
};

}  // namespace

struct TopDownPredictor::Scratch {
  LinearPredictor::Scratch linear;
  std::vector<Path> paths, longer;
};

TopDownPredictor::TopDownPredictor(LinearPredictor::Parts parts, int beam)
    : linear_(std::move(parts)), beam_(beam) {
  const LabelGraph& graph = linear_.parts().graph;
  require(graph.is_tree(), "top-down model: the graph must be a tree");
  const Decision& decision = linear_.parts().decision;
  require(!decision.uses_node_scores(), "top-down model: decision is ", decision.name(),
          ", but must be made from the labels' scores");
  require(beam >= 0, "top-down model: beam is ", beam, ", but must be >= 0");
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
  is_certain_.assign(graph.num_nodes(), false);
  starts_ = with_data(graph.roots());
  if (starts_.size() == 1) is_certain_[starts_.front()] = true;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    children_.push_back(with_data(graph.children(n)));
    if (children_.back().size() == 1) is_certain_[children_.back().front()] = true;
  }
}

double TopDownPredictor::step(NodeId n, double margin) const {
  return is_certain_[n] ? 0.0 : log_sigmoid(margin);
}

void TopDownPredictor::search(const SparseRow& x, std::span<float> scores, Scratch& scratch) const {
  const auto margins = linear_.node_scores(x, scratch.linear);
  auto& [linear, paths, longer] = scratch;
  paths.clear();
  const auto keep_best = [&](std::vector<Path>& candidates) {
    const std::size_t kept = beam_ == 0 ? candidates.size() : static_cast<std::size_t>(beam_);
    keep_first(candidates, kept, [](const Path& a, const Path& b) {
      return a.score != b.score ? a.score > b.score : a.end < b.end;
    });
  };
  for (const NodeId n : starts_) paths.push_back({n, step(n, margins[n])});
  keep_best(paths);
  const auto at_leaf = [&](const Path& path) { return children_[path.end].empty(); };
  while (!std::all_of(paths.begin(), paths.end(), at_leaf)) {
    longer.clear();
    for (const Path& path : paths) {
      if (at_leaf(path)) longer.push_back(path);
      for (const NodeId child : children_[path.end]) {
        longer.push_back({child, path.score + step(child, margins[child])});
      }
    }
    keep_best(longer);
    std::swap(paths, longer);
  }
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  for (const Path& path : paths) {
    scores[parts().label_of_node[path.end]] = static_cast<float>(path.score);
  }
}

void TopDownPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                              std::span<float> scores) const {
  Scratch scratch;
  for (std::size_t i = begin; i < end; ++i) {
    search(X.row(i), scores.subspan((i - begin) * num_labels(), num_labels()), scratch);
  }
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
        search(X.row(i), scratch.labels, scratch.search);
        parts().decision.choose({scratch.labels}, set);
      });
}

Explanation TopDownPredictor::explain(const SparseRow& x, LabelId label,
                                      std::size_t num_strongest) const {
  Explanation explanation = linear_.explain(x, label, num_strongest);
  const auto leaf = std::find_if(parts().candidates.begin(), parts().candidates.end(),
                                 [&](NodeId n) { return parts().label_of_node[n] == label; });
  // The path from its end up, as the explanation has it from the root down.
  NodeId n = *leaf;
  explanation.score = 0;
  for (auto node = explanation.nodes.rbegin(); node != explanation.nodes.rend(); ++node) {
    explanation.score += step(n, node->score);
    if (!parts().graph.is_root(n)) n = parts().graph.parents(n).front();
  }
  return explanation;
}

std::vector<Fact> TopDownPredictor::facts() const {
  std::vector<Fact> facts = linear_.facts();
  facts.push_back({"beam", concat(beam_)});
  return facts;
}

void TopDownPredictor::save(TensorMap& out) const {
  linear_.save_parts(out, kPrefix);
  out.put_text(kPrefix + ".beam", concat(beam_));
}

std::unique_ptr<Predictor> TopDownPredictor::load(const TensorMap& tensors,
                                                  std::uint32_t num_labels) {
  const std::uint64_t beam =
      tensors.whole_number(kPrefix + ".beam", std::numeric_limits<int>::max());
  return std::make_unique<TopDownPredictor>(
      LinearPredictor::load_parts(tensors, kPrefix, num_labels), static_cast<int>(beam));
}

}  // namespace margrove
