#pragma once
// PathModel for trees with many leaves: the search for the most violating leaf skips subtrees by a
// bound and is still exact.
//
// The tree is cut into parts (hierarchy/subtree_parts.hpp). With U_n = sqrt(alpha_n) W_n and S_l
// the sum of U_n over the nodes of l's path that are in its part p,
//
//   f(x, l) <= f(x, node above p) + sum_j x_j B_jp,   B_jp = max_{l in p} S_lj
//
// with the smallest S_lj where x_j < 0.
//
// The bounds B are stored with the weights and updated in each step. An oracle visits the parts in
// descending order of their bounds on score plus loss until no other part can have the maximum.

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "hierarchy/subtree_parts.hpp"
#include "outputs/path/path_oracle.hpp"

namespace margrove {

class BoundedPathModel {
 public:
  using Labelling = NodeId;  // a leaf
  /// Nodes per part. Smaller parts have more bounds to sum up, larger parts have more nodes to
  /// score.
  static constexpr std::uint32_t kPartNodes = 32;

  struct Workspace {
    PathModel::Workspace paths;
    std::vector<float> node_scores;         // one per column
    std::vector<double> scores, distances;  // one per place: score and distance from the true leaf
    std::vector<std::uint32_t> on_path;     // place -> the last visit whose true path has it
    std::vector<std::uint32_t> scored;      // part -> the last visit that scored it
    std::uint32_t visit = 0;
    std::vector<float> reach;  // part -> bound on what its nodes add to a score
    std::vector<std::pair<double, std::uint32_t>> queue;  // bound, part
    std::vector<float> sums;                              // one per node of a part
    std::vector<std::uint32_t> touched;                   // parts
  };

  /// Scores a part when a call needs one of its leaves.
  class Oracle {
   public:
    using Labelling = NodeId;
    Candidate<NodeId> argmax(double w_m, double w_g) const;
    Candidate<NodeId> truth() const { return {truth_, 0.0, 0.0}; }
    Candidate<NodeId> evaluate(NodeId leaf) const;
    /// How many of the model's parts have been scored.
    std::size_t num_scored() const;

   private:
    friend class BoundedPathModel;
    struct Best;
    void score(std::uint32_t part) const;
    void walk(std::uint32_t begin, std::uint32_t end) const;
    void compare(std::uint32_t part, double w_m, double w_g, Best& best) const;
    void queue_parts(double w_m, double w_g, double floor) const;

    const BoundedPathModel* model_ = nullptr;
    Workspace* ws_ = nullptr;
    std::size_t i_ = 0;
    ScaledWeights w_;
    std::span<const float> bounds_;
    NodeId truth_ = 0;
    double truth_score_ = 0.0;
    double truth_weight_ = 0.0;  // node weights of the true leaf's path, summed
  };

  /// As PathModel's. Throws InvalidInput also if the graph is not a tree.
  BoundedPathModel(const CsrView& X, std::span<const NodeId> leaf_of_row, const LabelGraph& tree,
                   std::span<const double> alpha, TaskLoss loss,
                   std::uint32_t part_nodes = kPartNodes);

  std::size_t num_examples() const { return paths_.num_examples(); }
  std::size_t num_weights() const { return paths_.num_weights(); }
  NodeId truth(std::size_t i) const { return paths_.truth(i); }
  std::size_t num_parts() const { return parts_.parts.size(); }

  /// Two floats, the largest and the smallest S_lj, per part and feature that occurs.
  std::size_t num_bounds() const;
  /// Computes the bounds of w. O(weights).
  void bound_weights(std::span<const float> w, std::span<float> bounds) const;

  /// bounds: those of w, or empty, in which case all parts are scored. The oracle refers to its
  /// arguments, and no other oracle may use the workspace meanwhile. O(nonzeros x (parts + nodes
  /// visited)).
  Oracle oracle(std::size_t i, ScaledWeights w, std::span<const float> bounds,
                Workspace& workspace) const;
  Oracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const {
    return oracle(i, w, {}, workspace);
  }

  // As PathModel's.
  void difference(std::size_t i, NodeId leaf, SparseVector& difference) const {
    paths_.difference(i, leaf, difference);
  }
  void margins(std::size_t i, std::span<const NodeId> leaves, ScaledWeights w, Workspace& workspace,
               std::span<double> margins) const {
    paths_.margins(i, leaves, w, workspace.paths, margins);
  }
  void difference_products(std::size_t i, std::span<const NodeId> leaves,
                           std::span<double> products) const {
    paths_.difference_products(i, leaves, products);
  }
  void add_differences(std::size_t i, std::span<const NodeId> leaves,
                       std::span<const double> coefficients, Workspace& workspace,
                       std::vector<float>& w) const {
    paths_.add_differences(i, leaves, coefficients, workspace.paths, w);
  }
  /// The same, and updates the bounds. O(nonzeros x nodes of the parts that changed).
  void add_differences(std::size_t i, std::span<const NodeId> leaves,
                       std::span<const double> coefficients, Workspace& workspace,
                       std::vector<float>& w, std::span<float> bounds) const;
  const NodeScorer& scorer() const { return paths_.scorer(); }

 private:
  std::size_t bound_row(FeatureId row) const { return row * 2 * num_parts(); }
  void bound_part(FeatureId row, std::uint32_t part, std::span<const float> w,
                  std::vector<float>& sums, std::span<float> bounds) const;

  SubtreeParts parts_;
  PathModel paths_;
  std::vector<std::uint32_t> column_;  // place -> column of the scorer, or kNoColumn
  std::vector<std::uint32_t>
      column_pointers_;               // part -> its first column; those of the top are before
  std::vector<double> weight_;        // place -> what the node adds to a distance
  std::vector<char> is_leaf_;         // one per place
  std::vector<double> longest_;       // part -> largest weight of a path within it
  std::vector<std::uint32_t> place_;  // node -> place
  std::vector<std::uint32_t> part_;   // leaf -> its part; undefined for other nodes
};

}  // namespace margrove
