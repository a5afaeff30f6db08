#include "model/answer_metrics.hpp"

#include <algorithm>
#include <utility>

#include "hierarchy/closed_sets.hpp"

namespace margrove {
namespace {

Overlap overlap_of_sets(AnsweredSet truth, AnsweredSet answer) {
  Overlap sizes{.answered = static_cast<double>(answer.size()),
                .wanted = static_cast<double>(truth.size())};
  for (const std::uint32_t label : answer) {
    sizes.common += std::binary_search(truth.begin(), truth.end(), label) ? 1.0 : 0.0;
  }
  return sizes;
}

class PooledF1 final : public AnswerMetric {
 public:
  PooledF1(OverlapOf overlap, std::span<const double> weights)
      : overlap_(std::move(overlap)), weights_(weights) {}
  void add(std::size_t example, AnsweredSet answer) override { count(example, answer, 1); }
  void remove(std::size_t example, AnsweredSet answer) override { count(example, answer, -1); }
  double value() const override { return sums_.f1(); }

 private:
  void count(std::size_t example, AnsweredSet answer, double sign) {
    const Overlap sizes = overlap_(example, answer);
    const double weight = sign * weight_of(weights_, example);
    sums_.common += weight * sizes.common;
    sums_.answered += weight * sizes.answered;
    sums_.wanted += weight * sizes.wanted;
  }

  OverlapOf overlap_;
  std::span<const double> weights_;
  Overlap sums_;
};

/// The weighted mean of a function of each example's overlap.
class MeanOverlap final : public AnswerMetric {
 public:
  using Value = double (*)(const Overlap&);
  MeanOverlap(Value of_example, OverlapOf overlap, std::span<const double> weights)
      : value_(of_example), overlap_(std::move(overlap)), weights_(weights) {}
  void add(std::size_t example, AnsweredSet answer) override { count(example, answer, 1); }
  void remove(std::size_t example, AnsweredSet answer) override { count(example, answer, -1); }
  double value() const override { return total_ > 0 ? sum_ / total_ : 0.0; }

 private:
  void count(std::size_t example, AnsweredSet answer, double sign) {
    const double weight = sign * weight_of(weights_, example);
    sum_ += weight * value_(overlap_(example, answer));
    total_ += weight;
  }

  Value value_;
  OverlapOf overlap_;
  std::span<const double> weights_;
  double sum_ = 0, total_ = 0;
};

double instance_f1(const Overlap& sizes) {
  return sizes.answered + sizes.wanted > 0 ? sizes.f1() : 1.0;
}

double is_exact(const Overlap& sizes) {
  return sizes.common == sizes.answered && sizes.common == sizes.wanted ? 1.0 : 0.0;
}

/// The mean over the labels that examples with an answer have. Keeps the sum of their F1.
class MacroF1 final : public AnswerMetric {
 public:
  MacroF1(const LabelSets& truth, std::span<const double> weights)
      : truth_(truth), weights_(weights) {}
  void add(std::size_t example, AnsweredSet answer) override { count(example, answer, 1); }
  void remove(std::size_t example, AnsweredSet answer) override { count(example, answer, -1); }
  double value() const override { return num_wanted_ > 0 ? sum_ / num_wanted_ : 0.0; }

 private:
  void count(std::size_t example, AnsweredSet answer, double sign) {
    const AnsweredSet truth = truth_[example];
    const double weight = sign * weight_of(weights_, example);
    for (const LabelId label : answer) {
      const bool is_true = std::binary_search(truth.begin(), truth.end(), label);
      move(label, {is_true ? weight : 0.0, weight, is_true ? weight : 0.0}, is_true ? sign : 0);
    }
    for (const LabelId label : truth) {
      if (!std::binary_search(answer.begin(), answer.end(), label)) {
        move(label, {0, 0, weight}, sign);
      }
    }
  }

  void move(LabelId label, const Overlap& by, double examples) {
    if (label >= labels_.size()) labels_.resize(label + std::size_t{1});
    OfLabel& own = labels_[label];
    if (own.examples > 0) sum_ -= own.sizes.f1();
    num_wanted_ -= own.examples > 0 ? 1 : 0;
    own.sizes.common += by.common;
    own.sizes.answered += by.answered;
    own.sizes.wanted += by.wanted;
    own.examples += examples;
    if (own.examples > 0) sum_ += own.sizes.f1();
    num_wanted_ += own.examples > 0 ? 1 : 0;
  }

  struct OfLabel {
    Overlap sizes;
    double examples = 0;  // that have the label
  };
  const LabelSets& truth_;
  std::span<const double> weights_;
  std::vector<OfLabel> labels_;
  double sum_ = 0, num_wanted_ = 0;
};

/// The overlap of closed sets; without a hierarchy a label has no ancestors.
OverlapOf closed_overlap(const LabelSets& truth, const LabelGraph* hierarchy) {
  if (hierarchy == nullptr) {
    return
        [&truth](std::size_t i, AnsweredSet answer) { return overlap_of_sets(truth[i], answer); };
  }
  return [&truth, closer = SetCloser(*hierarchy), y = std::vector<NodeId>(),
          p = std::vector<NodeId>()](std::size_t i, AnsweredSet answer) mutable {
    closer.close(truth[i], y);
    closer.close(answer, p);
    return overlap_of_sets(y, p);
  };
}

}  // namespace

std::unique_ptr<AnswerMetric> pooled_f1(OverlapOf overlap, std::span<const double> weights) {
  return std::make_unique<PooledF1>(std::move(overlap), weights);
}

std::unique_ptr<AnswerMetric> label_set_metric(DecisionMetric metric, const LabelSets& truth,
                                               std::span<const double> weights,
                                               const LabelGraph* hierarchy) {
  switch (metric) {
    case DecisionMetric::macro_f1:
      return std::make_unique<MacroF1>(truth, weights);
    case DecisionMetric::hierarchical_f1:
      return pooled_f1(closed_overlap(truth, hierarchy), weights);
    case DecisionMetric::instance_f1:
      return std::make_unique<MeanOverlap>(instance_f1, closed_overlap(truth, nullptr), weights);
    case DecisionMetric::accuracy:
      return std::make_unique<MeanOverlap>(is_exact, closed_overlap(truth, nullptr), weights);
    case DecisionMetric::micro_f1:
      break;
  }
  return pooled_f1(closed_overlap(truth, nullptr), weights);
}

}  // namespace margrove
