#include "outputs/label_set/label_set_decision.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "data/csr_operations.hpp"
#include "model/offset_tuning.hpp"

namespace margrove {
namespace {

/// The label sets of some rows under a linear model.
class LabelSetSearch final : public OffsetSearch {
 public:
  /// Shares its arguments.
  LabelSetSearch(std::shared_ptr<const LinearPredictor> model,
                 std::shared_ptr<const CsrMatrix> rows)
      : model_(std::move(model)), rows_(std::move(rows)), decoder_(*model_->label_sets()) {}

  void start(std::size_t held_out) override {
    nodes_ = model_->node_scores(*rows_, held_out, scratch_);
  }
  OffsetAnswer best(double offset) override {
    OffsetAnswer answer;
    answer.score = decoder_.best(nodes_, offset, answer.labels);
    answer.count = static_cast<std::uint32_t>(answer.labels.size());
    return answer;
  }

 private:
  std::shared_ptr<const LinearPredictor> model_;
  std::shared_ptr<const CsrMatrix> rows_;
  LabelSetDecoder decoder_;
  LinearPredictor::Scratch scratch_;
  std::span<const float> nodes_;
};

bool is_tuned(const DecisionOptions& options, const LabelSets& sets) {
  return options.resolved(sets, DecisionKind::offset) == DecisionKind::offset;
}

/// The labels of the rows, as the predictor numbers them.
LabelSets true_labels(const LeafSets& leaves) {
  LabelSets truth;
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < leaves.sets.num_rows(); ++i) {
    set.clear();
    for (const NodeId leaf : leaves.sets[i]) set.push_back(leaves.tree.label_of_node[leaf]);
    truth.append(set);
  }
  return truth;
}

}  // namespace

Decision label_set_decision(const LabelSetTuning& tuning, const LeafSets& leaves,
                            const PlannedRows& rows, const FitLabelSets& fit, Executor& executor,
                            RunControl& control) {
  if (!is_tuned(tuning.options, leaves.sets)) return LabelSetDecision{};
  if (leaves.sets.num_rows() < 2) return OffsetDecision{};
  const CsrView X = rows.X;
  const LabelSets truth = true_labels(leaves);
  std::vector<std::uint32_t> sizes;
  LabelId num_labels = 0;
  for (const LabelId label : leaves.tree.label_of_node)
    num_labels = std::max(num_labels, label + 1);
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    sizes.push_back(static_cast<std::uint32_t>(truth[i].size()));
  }
  const FitSearch fit_search = [&](const Split& split, RunControl& share) -> MakeSearch {
    const auto& training = split.training;
    WeightMatrix weights = fit({select_rows(X, training), kept_weights(rows.weights, training)},
                               select_rows(leaves.sets, training), share);
    const auto model = std::make_shared<const LinearPredictor>(
        path_parts(leaves, std::move(weights), 0, num_labels, LabelSetDecision{}));
    const auto held_out = std::make_shared<const CsrMatrix>(select_rows(X, split.validation));
    return [model, held_out] { return std::make_unique<LabelSetSearch>(model, held_out); };
  };
  const auto metric =
      label_set_metric(tuning.options.metric, truth, rows.weights, tuning.hierarchy);
  return OffsetDecision{
      tuned_offset(tuning.options, {leaves.sets, sizes}, *metric, fit_search, executor, control)};
}

MemoryEstimate label_set_decision_memory(const LabelSetTuning& tuning, const LeafSets& leaves,
                                         const PlannedRows& rows, MemoryEstimate training) {
  if (!is_tuned(tuning.options, leaves.sets)) return training;
  const CsrView X = rows.X;
  return offset_memory(counts_of(leaves.sets),
                       8.0 * static_cast<double>(X.num_nonzeros() + X.num_rows()),
                       std::move(training));
}

void require_label_sets(const DecisionOptions& options, const LeafSets& leaves) {
  require<InvalidOption>(options.rule != DecisionKind::offset || !leaves.sets.single_label(),
                         "option decision is offset, which is for rows with several labels, but "
                         "every row has one");
}

}  // namespace margrove
