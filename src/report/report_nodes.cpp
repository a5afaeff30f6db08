// Counts of nodes, levels and confused siblings.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "eval/set_metrics.hpp"
#include "eval/sibling_confusion.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/metrics.hpp"
#include "report/report_parts.hpp"

namespace margrove::detail {
namespace {

/// Rows at or below each node, in ancestor-closed sets with all roots.
struct NodeCounts {
  std::vector<std::int64_t> support;    // rows that have it
  std::vector<std::int64_t> predicted;  // rows for which it is predicted
  std::vector<std::int64_t> both;
};

NodeCounts count_nodes(const EvaluatedRows& rows, const LabelSets& predicted) {
  NodeCounts counts;
  for (auto* numbers : {&counts.support, &counts.predicted, &counts.both}) {
    numbers->assign(rows.hierarchy.num_nodes(), 0);
  }
  SetCloser closer(rows.hierarchy, SetCloser::Nodes::all);
  std::vector<NodeId> y, p;
  for (std::size_t i = 0; i < rows.truth.num_rows(); ++i) {
    closer.close(rows.truth[i], y);
    closer.close(predicted[i], p);
    for (const NodeId n : y) {
      ++counts.support[n];
      counts.both[n] += std::ranges::binary_search(p, n);
    }
    for (const NodeId n : p) ++counts.predicted[n];
  }
  return counts;
}

}  // namespace

Json nodes_json(const ReportInputs& inputs, std::span<const std::string> names) {
  const EvaluatedRows& rows = inputs.rows;
  const std::size_t num_nodes = rows.hierarchy.num_nodes();
  Json parents = Json::array();
  for (NodeId n = 0; n < num_nodes; ++n) {
    Json above = Json::array();
    for (const NodeId parent : rows.hierarchy.parents(n)) above.push_back(parent);
    parents.push_back(std::move(above));
  }
  const NodeCounts counts = count_nodes(rows, rows.predicted);
  Json nodes{{"names", names.first(num_nodes)},
             {"parents", std::move(parents)},
             {"support", counts.support},
             {"predicted", counts.predicted},
             {"both", counts.both},
             {"training_rows", std::span(rows.training_rows).first(num_nodes)}};
  if (inputs.other != nullptr) {
    const NodeCounts others = count_nodes(rows, inputs.other->labels);
    nodes["other_predicted"] = others.predicted;
    nodes["other_both"] = others.both;
  }
  return nodes;
}

Json levels_json(const EvaluatedRows& rows, const LabelSets& predicted) {
  Json list = Json::array();
  for (const LevelScore& level :
       level_scores(closed_sets(rows.hierarchy, rows.truth), closed_sets(rows.hierarchy, predicted),
                    rows.hierarchy)) {
    const LabelScore nodes{0, level.support, level.predicted, level.true_positives};
    const double accuracy =
        level.rows == 0 ? 0.0
                        : static_cast<double>(level.right_rows) / static_cast<double>(level.rows);
    list.push_back({{"rows", level.rows},
                    {"accuracy", accuracy},
                    {"precision", nodes.precision()},
                    {"recall", nodes.recall()}});
  }
  return list;
}

std::vector<ConfusedPair> confused_pairs(const EvaluatedRows& rows, const ReportOptions& options) {
  std::map<std::pair<NodeId, NodeId>, ConfusedPair> pairs;
  SetCloser closer(rows.hierarchy, SetCloser::Nodes::all);
  std::vector<NodeId> y, p;
  SiblingConfusion of_row;
  for (std::uint32_t i = 0; i < rows.truth.num_rows(); ++i) {
    closer.close(rows.truth[i], y);
    closer.close(rows.predicted[i], p);
    of_row.clear();
    count_confused(rows.hierarchy, y, p, of_row);
    for (const auto& [key, number] : of_row) {
      const auto [truth, given] = key;
      ConfusedPair& pair = pairs[std::minmax(truth, given)];
      std::tie(pair.a, pair.b) = std::minmax(truth, given);
      std::int64_t& count = truth == pair.a ? pair.a_as_b : pair.b_as_a;
      if (count < options.num_pair_examples) pair.rows.push_back(i);
      count += number;
    }
  }
  std::vector<ConfusedPair> sorted;
  for (auto& [key, pair] : pairs) sorted.push_back(std::move(pair));
  std::ranges::stable_sort(sorted, std::greater<>{},
                           [](const ConfusedPair& each) { return each.a_as_b + each.b_as_a; });
  sorted.resize(std::min(sorted.size(), static_cast<std::size_t>(std::max(options.num_pairs, 0))));
  for (ConfusedPair& pair : sorted) {
    pair.rows.erase(std::ranges::unique(pair.rows).begin(), pair.rows.end());
  }
  return sorted;
}

}  // namespace margrove::detail
