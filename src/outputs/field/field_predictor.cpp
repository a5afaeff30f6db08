#include "outputs/field/field_predictor.hpp"

#include "margrove/errors.hpp"
#include "model/finite_scores.hpp"
#include "outputs/field/pairwise_field.hpp"

namespace margrove {

namespace {
constexpr std::size_t kRowsAtOnce = 64;

/// Adds the offset to the scores of the labels in the workspace, writes the labels of the best set,
/// and returns its score without the offsets.
double best_set(FieldWorkspace& workspace, double offset, std::vector<LabelId>& labels) {
  for (double& score : workspace.unary) score += offset;
  workspace.table_m.clear();
  const FieldOracle oracle(workspace, {}, FieldOptions{});
  const LabelVector y = oracle.decode();
  labels.clear();
  for (LabelId l = 0; l < y.size(); ++l) {
    if (y[l]) labels.push_back(l);
  }
  return oracle.score(y) - offset * static_cast<double>(labels.size());
}

class FieldSearch final : public OffsetSearch {
 public:
  struct Shared {
    CsrMatrix rows;
    std::uint32_t num_labels;
    std::vector<float> weights;
  };
  explicit FieldSearch(std::shared_ptr<const Shared> shared) : shared_(std::move(shared)) {}
  void start(std::size_t held_out) override {
    const CsrView X = shared_->rows;
    score_field(X.row(held_out), X.num_columns(), shared_->num_labels, {shared_->weights, 1.0},
                workspace_);
    unary_ = workspace_.unary;
  }
  OffsetAnswer best(double offset) override {
    OffsetAnswer answer;
    workspace_.unary = unary_;
    answer.score = best_set(workspace_, offset, answer.labels);
    answer.count = static_cast<std::uint32_t>(answer.labels.size());
    return answer;
  }

 private:
  std::shared_ptr<const Shared> shared_;
  FieldWorkspace workspace_;
  std::vector<double> unary_;  // without an offset
};
}  // namespace

FieldPredictor::FieldPredictor(RowShape rows, std::uint32_t num_labels, std::vector<float> weights,
                               Decision decision)
    : rows_(rows),
      num_labels_(num_labels),
      weights_(std::move(weights)),
      decision_(std::move(decision)) {}

void FieldPredictor::save(TensorMap& out) const {
  rows_.save("field", out);
  out.put_view<float>("field.weights", weights_);
  save_offset(decision_, "field", out);
}

std::unique_ptr<Predictor> FieldPredictor::load(const TensorMap& tensors,
                                                std::uint32_t num_labels) {
  const RowShape rows = RowShape::load("field", tensors);
  tensors.check(num_labels > 0, "the model has no labels, but a field must have one");
  auto weights = finite_weights(tensors, "field.weights",
                                FieldModel::num_weights(rows.num_columns(), num_labels));
  return std::make_unique<FieldPredictor>(rows, num_labels, std::move(weights),
                                          load_offset(tensors, "field", num_labels));
}

std::vector<Fact> FieldPredictor::facts() const {
  std::vector<Fact> facts{{"features", concat(rows_.num_features)},
                          {"pairs", concat(std::uint64_t{num_labels_} * (num_labels_ - 1) / 2)},
                          weight_fact(weights_)};
  for (Fact& fact : decision_.facts()) facts.push_back(std::move(fact));
  return facts;
}

void FieldPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                            std::span<float> scores) const {
  FieldWorkspace workspace;
  RowWithBias with_bias(rows_);
  for (std::size_t i = begin; i < end; ++i) {
    score_field(with_bias(X.row(i)), rows_.num_columns(), num_labels_, {weights_, 1.0}, workspace);
    require_finite_scores(std::span<const double>(workspace.unary), i);
    for (std::uint32_t l = 0; l < num_labels_; ++l) {
      scores[(i - begin) * num_labels_ + l] = static_cast<float>(workspace.unary[l]);
    }
  }
}

LabelSets FieldPredictor::predict(const CsrView& X, Executor& executor) const {
  std::vector<std::vector<LabelId>> found(X.num_rows());
  executor.for_ranges(X.num_rows(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    FieldWorkspace workspace;
    RowWithBias with_bias(rows_);
    for (std::size_t i = begin; i < end; ++i) {
      score_field(with_bias(X.row(i)), rows_.num_columns(), num_labels_, {weights_, 1.0},
                  workspace);
      require_finite_scores(std::span<const double>(workspace.unary), i);
      best_set(workspace, decision_.offset(), found[i]);
    }
  });
  LabelSets sets;
  for (const auto& set : found) sets.append(set);
  return sets;
}

MakeSearch field_searches(CsrMatrix rows, std::uint32_t num_labels, std::vector<float> weights) {
  const auto shared = std::make_shared<const FieldSearch::Shared>(
      FieldSearch::Shared{std::move(rows), num_labels, std::move(weights)});
  return [shared] { return std::make_unique<FieldSearch>(shared); };
}

}  // namespace margrove
