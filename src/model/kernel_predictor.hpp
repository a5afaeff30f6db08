#pragma once
// Trained kernel classifiers as a model: support vectors, kernels and the network's learned
// weights.

#include <span>
#include <string>
#include <vector>

#include "data/views.hpp"
#include "kernel/kernel_classifiers.hpp"
#include "kernel/network.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// Kind "kernel". One classifier for two classes (positive: the second), else one per class.
/// Labels without training rows are never predicted. The model file holds the tables of precomputed
/// kernels.
class KernelPredictor final : public RowPredictor {
 public:
  struct Parts {
    KernelClassifiers classifiers;
    SumProductNetwork network;
    std::vector<double> beta;             // one per product node
    std::vector<LabelId> label_of_class;  // ascending
    std::uint32_t num_labels = 0;
    std::vector<View> views;  // for names in explanations
  };
  explicit KernelPredictor(Parts parts);
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);

  std::string_view kind() const override { return "kernel"; }
  const KernelPredictor* kernels() const override { return this; }
  bool gives_one_label() const override { return true; }
  void save(TensorMap& out) const override;
  std::vector<Fact> facts() const override;
  std::uint32_t num_features() const override { return parts_.classifiers.support.num_columns(); }
  std::uint32_t num_labels() const override { return parts_.num_labels; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;
  /// The sources are the paths grouped by the columns that their kernels read.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const override;

  const KernelClassifiers& classifiers() const { return parts_.classifiers; }
  const CsrMatrix& support() const { return parts_.classifiers.support; }
  const SumProductNetwork& network() const { return parts_.network; }
  std::span<const double> beta() const { return parts_.beta; }
  /// The network with its weights, for `margrove explain`: lines of text, Graphviz, SVG.
  std::vector<std::string> lines() const;
  std::string dot() const;
  std::string svg() const;

 private:
  /// Those of rows [begin, end), one after the other. Throws NonFiniteScores.
  std::vector<double> classifier_scores(const CsrView& X, std::size_t begin, std::size_t end,
                                        Executor& executor) const;
  std::string columns_of_path(const std::vector<std::uint32_t>& path) const;
  Parts parts_;
};

}  // namespace margrove
