#include "model/label_trees_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/keep_first.hpp"
#include "model/finite_scores.hpp"

namespace margrove {
namespace {

const std::string kTreesPrefix = "label-trees";

/// A path from a root, with the logarithm of its probability.
struct Path {
  NodeId end;
  double log;
};

/// log p - log(1 - p), which is finite for p = 1, too.
double log_odds_of(double log_p) {
  constexpr double kLargest = -std::numeric_limits<double>::epsilon() / 2;
  const double log = std::min(log_p, kLargest);
  return log - std::log(-std::expm1(log));
}

}  // namespace

struct LabelTreesPredictor::Scratch {
  LinearPredictor::Scratch linear;
  std::vector<Path> open;        // to inner nodes, of a step of search()
  std::vector<Path> longer;      // those of its next step
  std::vector<Path> leaves;      // its result
  std::vector<LogNumber> sums;   // over the trees, of each label
  std::vector<LabelId> reached;  // labels whose sum is not 0
  std::vector<float> labels;     // scores
};

LabelTreesPredictor::LabelTreesPredictor(LinearPredictor::Parts parts, int beam)
    : linear_(std::move(parts)), beam_(beam) {
  const LinearPredictor::Parts& own = linear_.parts();
  require(!own.decision.uses_node_scores(), "label trees: decision is ", own.decision.name(),
          ", but must be made from the labels' scores");
  require(beam >= 0, "label trees: beam is ", beam, ", but must be >= 0");
  require(own.graph.is_tree(), "label trees: a node has several parents");
  std::vector<bool> is_candidate(own.num_labels, false);
  for (const NodeId n : own.candidates) {
    require(own.graph.is_leaf(n), "label trees: candidate is node ", n, ", but must be a leaf");
    is_candidate[own.label_of_node[n]] = true;
  }
  std::vector<bool> counts(own.graph.num_nodes(), false);
  for (const NodeId leaf : own.graph.leaves()) {
    if (!is_candidate[own.label_of_node[leaf]]) continue;
    for (const NodeId n : own.graph.ancestors(leaf)) counts[n] = true;
  }
  children_.resize(own.graph.num_nodes());
  for (NodeId n = 0; n < own.graph.num_nodes(); ++n) {
    std::ranges::copy_if(own.graph.children(n), std::back_inserter(children_[n]),
                         [&](NodeId child) { return counts[child]; });
  }
}

void LabelTreesPredictor::search(NodeId root, std::span<const float> margins, std::size_t beam,
                                 Scratch& scratch) const {
  const LabelGraph& graph = parts().graph;
  auto& open = scratch.open;
  auto& longer = scratch.longer;
  open.assign(1, {root, 0});
  scratch.leaves.clear();
  while (!open.empty()) {
    longer.clear();
    for (const Path& path : open) {
      const std::vector<NodeId>& children = children_[path.end];
      for (const NodeId n : children) {
        const double log = children.size() == 1 ? 0 : -softplus(-kScale * margins[n]);
        (graph.is_leaf(n) ? scratch.leaves : longer).push_back({n, path.log + log});
      }
    }
    if (beam > 0) {
      keep_first(longer, beam, [](const Path& a, const Path& b) {
        return a.log != b.log ? a.log > b.log : a.end < b.end;
      });
    }
    std::swap(open, longer);
  }
}

void LabelTreesPredictor::score_row(const CsrView& X, std::size_t i, std::size_t beam,
                                    std::span<float> scores, Scratch& scratch) const {
  const auto margins = linear_.node_scores(X, i, scratch.linear);
  scratch.sums.resize(num_labels());
  scratch.reached.clear();
  const auto roots = parts().graph.roots();
  for (const NodeId root : roots) {
    search(root, margins, beam, scratch);
    for (const Path& path : scratch.leaves) {
      const LabelId label = parts().label_of_node[path.end];
      LogNumber& sum = scratch.sums[label];
      if (!std::isfinite(sum.log)) scratch.reached.push_back(label);
      sum += LogNumber{path.log};
    }
  }
  std::ranges::fill(scores, -std::numeric_limits<float>::infinity());
  const double log_trees = std::log(static_cast<double>(roots.size()));
  for (const LabelId label : scratch.reached) {
    const double score = log_odds_of(scratch.sums[label].log - log_trees);
    require_finite_scores(std::span(&score, 1), i);
    scores[label] = static_cast<float>(score);
    scratch.sums[label] = {};
  }
}

void LabelTreesPredictor::score_rows(const CsrView& X, std::size_t begin, std::size_t end, int beam,
                                     std::span<float> scores) const {
  Scratch scratch;
  for (std::size_t i = begin; i < end; ++i) {
    score_row(X, i, static_cast<std::size_t>(beam),
              scores.subspan((i - begin) * num_labels(), num_labels()), scratch);
  }
}

void LabelTreesPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                                 std::span<float> scores) const {
  score_rows(X, begin, end, beam_, scores);
}

void LabelTreesPredictor::probability_scores(const CsrView& X, std::size_t begin, std::size_t end,
                                             std::span<float> scores) const {
  score_rows(X, begin, end, 0, scores);
}

LabelSets LabelTreesPredictor::predict(const CsrView& X, Executor& executor) const {
  return collect_sets(
      X.num_rows(), rows_per_block(), executor, [] { return Scratch(); },
      [&](std::size_t i, Scratch& scratch, std::vector<LabelId>& set) {
        scratch.labels.resize(num_labels());
        score_row(X, i, static_cast<std::size_t>(beam_), scratch.labels, scratch);
        parts().decision.choose({scratch.labels}, set);
      });
}

Explanation LabelTreesPredictor::explain(const SparseRow& x, LabelId label,
                                         std::size_t num_strongest) const {
  linear_.candidate_of(label);  // or throws
  std::vector<NodeId> leaves;
  for (const NodeId leaf : parts().graph.leaves()) {
    if (parts().label_of_node[leaf] == label) leaves.push_back(leaf);
  }
  const std::vector<std::int64_t> pointers{0, static_cast<std::int64_t>(x.size())};
  std::vector<float> scores(num_labels());
  score_rows({linear_.num_features(), pointers, x.columns, x.values}, 0, 1, 0, scores);
  Explanation explanation = linear_.explain_nodes(x, label, leaves, num_strongest);
  explanation.score = scores[label];
  for (Explanation::Node& node : explanation.nodes) node.is_spawned = false;
  return explanation;
}

std::vector<Fact> LabelTreesPredictor::facts() const {
  std::vector<Fact> facts = linear_.facts();
  facts.push_back({"trees in all", concat(parts().graph.roots().size())});
  facts.push_back({"beam", concat(beam_)});
  return facts;
}

std::unique_ptr<Predictor> LabelTreesPredictor::compressed(
    const WeightCompression& compression) const {
  return std::make_unique<LabelTreesPredictor>(linear_.compressed_parts(compression), beam_);
}

void LabelTreesPredictor::save(TensorMap& out) const {
  linear_.save_parts(out, kTreesPrefix);
  out.put_text(kTreesPrefix + ".beam", concat(beam_));
}

std::unique_ptr<Predictor> LabelTreesPredictor::load(const TensorMap& tensors,
                                                     std::uint32_t num_labels) {
  const std::uint64_t beam =
      tensors.whole_number(kTreesPrefix + ".beam", std::numeric_limits<int>::max());
  return std::make_unique<LabelTreesPredictor>(
      LinearPredictor::load_parts(tensors, kTreesPrefix, num_labels), static_cast<int>(beam));
}

}  // namespace margrove
