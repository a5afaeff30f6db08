#include "methods/label_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "data/weight_matrix.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr int kMostPasses = 20;      // of a division
constexpr double kLeastGain = 1e-4;  // of the mean similarity, in a pass

/// One row for each label: the mean of its rows, each of length 1, itself of length 1.
CsrMatrix centroids_of(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels) {
  std::vector<std::vector<std::uint32_t>> rows(num_labels);
  for (std::uint32_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId label : labels[i]) rows[label].push_back(i);
  }
  CsrMatrix sums(X.num_columns());
  WeightSums sum(X.num_columns());
  for (const auto& own : rows) {
    for (const std::uint32_t i : own) {
      const SparseRow x = X.row(i);
      const double length = std::sqrt(squared_norm(x));
      for (std::size_t k = 0; k < x.size() && length > 0; ++k) {
        sum.add(x.columns[k], x.values[k] / length);
      }
    }
    sum.append_to(sums);
  }
  CsrMatrix centroids(X.num_columns());
  std::vector<float> values;
  for (std::uint32_t label = 0; label < num_labels; ++label) {
    const SparseRow row = sums.row(label);
    const double length = std::sqrt(squared_norm(row));
    values.clear();
    for (const float value : row.values) values.push_back(static_cast<float>(value / length));
    centroids.append_row(row.columns, values);
  }
  return centroids;
}

class Division {
 public:
  Division(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
           const LabelTreeOptions& options, int num_trees, RunControl& control)
      : options_(options),
        control_(control),
        centroids_(centroids_of(X, labels, num_labels)),
        random_(options.seed),
        middles_{std::vector<double>(X.num_columns()), std::vector<double>(X.num_columns())},
        next_(num_labels * static_cast<NodeId>(num_trees)) {}

  /// Adds a tree whose leaf of label l is node first_leaf + l.
  void add_tree(NodeId first_leaf) {
    std::vector<LabelId> labels(centroids_.view().num_rows());
    std::iota(labels.begin(), labels.end(), LabelId{0});
    first_leaf_ = first_leaf;
    divide(labels);
  }
  /// Adds one whose root has all leaves below it.
  void add_flat_tree(NodeId first_leaf) {
    const NodeId root = next_++;
    for (NodeId label = 0; label < centroids_.view().num_rows(); ++label) {
      edges.push_back({root, first_leaf + label});
    }
  }
  NodeId num_nodes() const { return next_; }

  std::vector<LabelEdge> edges;

 private:
  struct Similarity {
    double difference;  // to the second middle less to the first
    LabelId label;
    double to[2];
  };

  /// The node above some labels, whose order is that of the leaves below it then.
  NodeId divide(std::span<LabelId> labels) {
    const NodeId node = next_++;
    if (labels.size() <= static_cast<std::size_t>(options_.max_leaves)) {
      for (const LabelId label : labels) edges.push_back({node, first_leaf_ + label});
      return node;
    }
    const std::size_t first = labels.size() / 2;
    end_if_out_of_time(&control_);
    separate(labels);
    for (const auto half : {labels.first(first), labels.subspan(first)}) {
      const std::size_t edge = edges.size();
      edges.push_back({node, 0});
      edges[edge].child = divide(half);
    }
    return node;
  }

  /// Brings the labels of the first half to the front.
  void separate(std::span<LabelId> labels) {
    begin_with_two(labels);
    const std::size_t first = labels.size() / 2;
    double last = -1;
    std::vector<Similarity> similar(labels.size());
    for (int pass = 0; pass < kMostPasses; ++pass) {
      for (std::size_t k = 0; k < labels.size(); ++k) similar[k] = similarity_of(labels[k]);
      std::sort(similar.begin(), similar.end(), [](const Similarity& a, const Similarity& b) {
        return a.difference != b.difference ? a.difference < b.difference : a.label < b.label;
      });
      double mean = 0;
      for (std::size_t k = 0; k < labels.size(); ++k) {
        labels[k] = similar[k].label;
        mean += similar[k].to[k < first ? 0 : 1] / static_cast<double>(labels.size());
      }
      if (mean - last < kLeastGain) return;
      end_if_out_of_time(&control_);
      last = mean;
      set_middle(0, labels.first(first));
      set_middle(1, labels.subspan(first));
    }
  }

  void begin_with_two(std::span<const LabelId> labels) {
    const std::uint64_t a = random_.below(labels.size());
    std::uint64_t b = random_.below(labels.size() - 1);
    if (b >= a) ++b;
    set_middle(0, labels.subspan(a, 1));
    set_middle(1, labels.subspan(b, 1));
  }

  void set_middle(std::size_t m, std::span<const LabelId> labels) {
    std::vector<double>& middle = middles_[m];
    std::fill(middle.begin(), middle.end(), 0.0);
    for (const LabelId label : labels) {
      const SparseRow centroid = centroids_.row(label);
      for (std::size_t k = 0; k < centroid.size(); ++k) {
        middle[centroid.columns[k]] += centroid.values[k];
      }
    }
    double square = 0;
    for (const double each : middle) square += each * each;
    if (square == 0) return;
    for (double& each : middle) each /= std::sqrt(square);
  }

  Similarity similarity_of(LabelId label) const {
    const SparseRow centroid = centroids_.row(label);
    Similarity similarity{0, label, {0, 0}};
    for (std::size_t k = 0; k < centroid.size(); ++k) {
      const FeatureId j = centroid.columns[k];
      const double value = centroid.values[k];
      similarity.to[0] += value * middles_[0][j];
      similarity.to[1] += value * middles_[1][j];
    }
    similarity.difference = similarity.to[1] - similarity.to[0];
    return similarity;
  }

  const LabelTreeOptions& options_;
  RunControl& control_;
  CsrMatrix centroids_;
  Random random_;
  std::vector<double> middles_[2];  // of the halves, of length 1
  NodeId next_;                     // number of the next inner node
  NodeId first_leaf_ = 0;           // of the present tree
};

}  // namespace

LabelGraph learned_label_trees(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                               const LabelTreeOptions& options, RunControl& control) {
  require<InvalidOption>(options.trees >= 1, "option trees is ", options.trees,
                         ", but must be >= 1");
  require<InvalidOption>(options.max_leaves >= 2, "option max_leaves is ", options.max_leaves,
                         ", but must be >= 2");
  const bool is_divided = num_labels > static_cast<std::uint32_t>(options.max_leaves);
  const int num_learned = is_divided ? options.trees : 1;
  const bool has_flat = is_divided && options.one_vs_rest;
  Division division(X, labels, num_labels, options, num_learned + (has_flat ? 1 : 0), control);
  for (int tree = 0; tree < num_learned; ++tree) {
    division.add_tree(num_labels * static_cast<NodeId>(tree));
  }
  if (has_flat) division.add_flat_tree(num_labels * static_cast<NodeId>(num_learned));
  return LabelGraph::build(division.num_nodes(), division.edges);
}

}  // namespace margrove
