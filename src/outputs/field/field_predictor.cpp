#include "outputs/field/field_predictor.hpp"

#include "margrove/errors.hpp"
#include "outputs/field/pairwise_field.hpp"

namespace margrove {

namespace {
constexpr std::size_t kRowsAtOnce = 64;
}  // namespace

FieldPredictor::FieldPredictor(RowShape rows, std::uint32_t num_labels, std::vector<float> weights)
    : rows_(rows), num_labels_(num_labels), weights_(std::move(weights)) {}

void FieldPredictor::save(TensorMap& out) const {
  rows_.save("field", out);
  out.put_view<float>("field.weights", weights_);
}

std::unique_ptr<Predictor> FieldPredictor::load(const TensorMap& tensors,
                                                std::uint32_t num_labels) {
  const RowShape rows = RowShape::load("field", tensors);
  tensors.check(num_labels > 0, "the model has no labels, but a field must have one");
  auto weights = finite_weights(tensors, "field.weights",
                                FieldModel::num_weights(rows.num_columns(), num_labels));
  return std::make_unique<FieldPredictor>(rows, num_labels, std::move(weights));
}

std::vector<Fact> FieldPredictor::facts() const {
  return {{"features", concat(rows_.num_features)},
          {"pairs", concat(std::uint64_t{num_labels_} * (num_labels_ - 1) / 2)},
          weight_fact(weights_)};
}

void FieldPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                            std::span<float> scores) const {
  FieldWorkspace workspace;
  RowWithBias with_bias(rows_);
  for (std::size_t i = begin; i < end; ++i) {
    score_field(with_bias(X.row(i)), rows_.num_columns(), num_labels_, {weights_, 1.0}, workspace);
    for (std::uint32_t l = 0; l < num_labels_; ++l) {
      scores[(i - begin) * num_labels_ + l] = static_cast<float>(workspace.unary[l]);
    }
  }
}

LabelSets FieldPredictor::predict(const CsrView& X, Executor& executor) const {
  std::vector<LabelVector> found(X.num_rows());
  executor.for_ranges(X.num_rows(), kRowsAtOnce, [&](std::size_t begin, std::size_t end, int) {
    FieldWorkspace workspace;
    RowWithBias with_bias(rows_);
    for (std::size_t i = begin; i < end; ++i) {
      score_field(with_bias(X.row(i)), rows_.num_columns(), num_labels_, {weights_, 1.0},
                  workspace);
      found[i] = FieldOracle(workspace, {}, FieldOptions{}).decode();
    }
  });
  LabelSets sets;
  std::vector<LabelId> set;
  for (const LabelVector& y : found) {
    set.clear();
    for (LabelId l = 0; l < y.size(); ++l) {
      if (y[l]) set.push_back(l);
    }
    sets.append(set);
  }
  return sets;
}

}  // namespace margrove
