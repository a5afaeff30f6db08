#pragma once
// Kernel ridge regressions of the nodes of a hierarchy as a model.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/kernel_function.hpp"
#include "margrove/label_graph.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// Kind "kernel-ridge". Node n has the score b_n + sum_i a_ni K(x_i, x), K the mean of the kernels
/// and x_i the support rows; then a parent's score is raised to the largest of its children. It
/// estimates the probability that a row has a label at or below the node.
class RidgePredictor final : public RowPredictor {
 public:
  struct Parts {
    std::vector<FittedKernel> kernels;  // of all columns
    CsrMatrix support;
    std::vector<NodeId> nodes;            // with a regression, ascending; the others have score 0
    std::vector<float> coefficients;      // a: [node * support rows + i]
    std::vector<double> biases;           // b
    LabelGraph graph;                     // over all labels
    std::vector<std::uint8_t> is_answer;  // of each label: whether training rows have it
    bool one_label = false;               // per row
    double threshold = 0.5;               // of the scores of nodes in a label set
  };
  explicit RidgePredictor(Parts parts) : parts_(std::move(parts)) {}
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);

  std::string_view kind() const override { return "kernel-ridge"; }
  bool gives_one_label() const override { return parts_.one_label; }
  bool estimates_nodes() const override { return true; }
  void save(TensorMap& out) const override;
  std::vector<Fact> facts() const override;
  std::uint32_t num_features() const override { return parts_.support.num_columns(); }
  std::uint32_t num_labels() const override { return parts_.graph.num_nodes(); }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  /// Of the labels that training rows have: the score less that of the children, their sum where
  /// rows have one label and otherwise the largest. It estimates the probability that the label is
  /// one of the row's own.
  void ranking_scores(const CsrView& X, std::size_t begin, std::size_t end,
                      std::span<float> scores) const override;
  /// The lowest nodes whose score reaches the threshold. Where there is none, and where each
  /// training row has one label: the label of the highest ranking score.
  LabelSets predict(const CsrView& X, Executor& executor) const override;
  /// Explains the score of the node's regression before coherence, as a sum over training rows and
  /// the intercept.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const override;

 private:
  /// The kernels' mean of the rows [begin, end) with all support rows.
  std::vector<double> kernel_rows(const CsrView& X, std::size_t begin, std::size_t end) const;
  /// From the scores of all nodes of a row.
  float ranking_score(std::span<const float> nodes, LabelId label) const;
  LabelId best_label(std::span<const float> nodes) const;
  void append_set(std::span<const float> nodes, LabelSets& sets) const;
  Parts parts_;
};

}  // namespace margrove
