#include "margrove/solver/one_vs_rest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "margrove/base/errors.hpp"

namespace margrove {
namespace {

/// The rows of each label, ascending.
std::vector<std::vector<std::uint32_t>> rows_by_label(const LabelSets& labels,
                                                      std::uint32_t num_labels) {
  std::vector<std::vector<std::uint32_t>> rows(num_labels);
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId label : labels[i]) {
      require(label < num_labels, "one_vs_rest: label of row ", i, " is ", label,
              ", but must be < ", num_labels);
      rows[label].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return rows;
}

void check_input(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                 const OneVsRestExtras& extras) {
  require(labels.num_rows() == X.num_rows(), "one_vs_rest: ", labels.num_rows(),
          " label sets, but must be one for each of the ", X.num_rows(), " rows");
  require(extras.row_weights.empty() || extras.row_weights.size() == X.num_rows(),
          "one_vs_rest: ", extras.row_weights.size(), " row weights, but must be ", X.num_rows());
  for (std::size_t i = 0; i < extras.row_weights.size(); ++i) {
    const double weight = extras.row_weights[i];
    require(std::isfinite(weight) && weight >= 0, "one_vs_rest: weight of row ", i, " is ", weight,
            ", but must be >= 0");
  }
  require(extras.start_duals.empty() || extras.start_duals.size() == num_labels,
          "one_vs_rest: ", extras.start_duals.size(), " sets of dual variables, but must be ",
          num_labels);
  for (std::size_t l = 0; l < extras.start_duals.size(); ++l) {
    const LabelDuals& duals = extras.start_duals[l];
    require(duals.rows.size() == duals.values.size() &&
                (duals.rows.empty() ||
                 *std::max_element(duals.rows.begin(), duals.rows.end()) < X.num_rows()),
            "one_vs_rest: the dual variables of label ", l, " do not fit the rows");
  }
  if (extras.start_weights != nullptr) {
    require(extras.start_weights->num_features() == X.num_columns() &&
                extras.start_weights->num_nodes() == num_labels,
            "one_vs_rest: start weights are ", extras.start_weights->num_features(), " x ",
            extras.start_weights->num_nodes(), ", but must be ", X.num_columns(), " x ",
            num_labels);
  }
  if (extras.prior == nullptr) return;
  require(extras.prior->num_features() == X.num_columns(), "one_vs_rest: the prior has ",
          extras.prior->num_features(), " features, but must have ", X.num_columns());
  if (extras.prior_nodes.empty()) {
    require(extras.prior->num_nodes() == num_labels, "one_vs_rest: the prior has ",
            extras.prior->num_nodes(), " nodes, but must have ", num_labels);
    return;
  }
  require(extras.prior_nodes.size() == num_labels, "one_vs_rest: ", extras.prior_nodes.size(),
          " prior nodes, but must be ", num_labels);
  for (std::size_t l = 0; l < num_labels; ++l) {
    require(extras.prior_nodes[l] < extras.prior->num_nodes(), "one_vs_rest: prior node of label ",
            l, " is ", extras.prior_nodes[l], ", but must be < ", extras.prior->num_nodes());
  }
}

/// w_l, float32, without zeros.
struct SparseVector {
  std::vector<FeatureId> features;
  std::vector<float> values;
};

SparseVector to_sparse(std::span<const double> v) {
  SparseVector sparse;
  for (FeatureId j = 0; j < v.size(); ++j) {
    const auto value = static_cast<float>(v[j]);
    if (value == 0.0F) continue;
    sparse.features.push_back(j);
    sparse.values.push_back(value);
  }
  return sparse;
}

WeightMatrix assemble(std::uint32_t num_features, std::vector<SparseVector> columns) {
  const auto num_labels = static_cast<std::uint32_t>(columns.size());
  std::vector<std::int64_t> pointers(std::size_t{num_features} + 1, 0);
  for (const auto& column : columns) {
    for (const FeatureId j : column.features) ++pointers[j + 1];
  }
  for (std::size_t j = 0; j < num_features; ++j) pointers[j + 1] += pointers[j];
  const auto size = static_cast<std::size_t>(pointers.back());
  const std::size_t area = std::size_t{num_features} * num_labels;
  if (area * sizeof(float) <= size * (sizeof(float) + sizeof(FeatureId))) {
    WeightMatrix W = WeightMatrix::dense(num_features, num_labels);
    for (std::uint32_t l = 0; l < num_labels; ++l) {
      for (std::size_t k = 0; k < columns[l].features.size(); ++k) {
        W.dense_values()[std::size_t{columns[l].features[k]} * num_labels + l] =
            columns[l].values[k];
      }
      columns[l] = {};
    }
    return W;
  }
  std::vector<FeatureId> nodes(size);
  std::vector<float> values(size);
  std::vector<std::int64_t> next(pointers.begin(), pointers.end() - 1);
  for (std::uint32_t l = 0; l < num_labels; ++l) {
    for (std::size_t k = 0; k < columns[l].features.size(); ++k) {
      const auto slot = static_cast<std::size_t>(next[columns[l].features[k]]++);
      nodes[slot] = l;
      values[slot] = columns[l].values[k];
    }
    columns[l] = {};
  }
  return WeightMatrix::sparse(
      CsrMatrix(num_labels, std::move(pointers), std::move(nodes), std::move(values)));
}

/// p_l.x_i for all rows.
void prior_scores(const CsrView& X, const WeightMatrix& prior, std::uint32_t node,
                  std::vector<double>& scores) {
  std::vector<float> weights(X.num_columns());
  for (FeatureId j = 0; j < weights.size(); ++j) weights[j] = prior.at(j, node);
  scores.resize(X.num_rows());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const SparseRow x = X.row(i);
    double sum = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      sum += static_cast<double>(x.values[k]) * weights[x.columns[k]];
    }
    scores[i] = sum;
  }
}

/// The warm start of one label.
void start(const OneVsRestExtras& extras, std::uint32_t label, std::size_t num_rows,
           BinaryState& state) {
  state = {};
  if (!extras.start_duals.empty()) {
    state.a.assign(num_rows, 0.0);
    const LabelDuals& duals = extras.start_duals[label];
    for (std::size_t k = 0; k < duals.rows.size(); ++k) state.a[duals.rows[k]] = duals.values[k];
  }
  if (extras.start_weights != nullptr) {
    state.v.resize(extras.start_weights->num_features());
    for (FeatureId j = 0; j < state.v.size(); ++j) state.v[j] = extras.start_weights->at(j, label);
  }
}

LabelDuals to_sparse_duals(std::span<const double> a) {
  LabelDuals duals;
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    if (a[i] <= 0) continue;
    duals.rows.push_back(i);
    duals.values.push_back(a[i]);
  }
  return duals;
}

struct Scratch {
  BinaryState state;
  std::vector<double> prior_scores;
};

}  // namespace

OneVsRestFit train_one_vs_rest(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                               const OneVsRestOptions& options, Executor& executor,
                               RunControl& control, const OneVsRestExtras& extras) {
  validate(options);
  check_input(X, labels, num_labels, extras);
  const PointLossKind loss = point_loss_from_string(options.loss);
  const std::vector<std::vector<std::uint32_t>> positives = rows_by_label(labels, num_labels);
  const std::vector<double> norms = squared_norms(X);

  OneVsRestFit fit;
  fit.labels.resize(num_labels);
  if (extras.keep_duals) fit.duals.resize(num_labels);
  std::vector<SparseVector> weights(num_labels);
  std::vector<Scratch> scratch(static_cast<std::size_t>(executor.size()));
  std::atomic<std::int64_t> done = 0;

  executor.for_each(num_labels, [&](std::size_t index, int worker) {
    const auto label = static_cast<std::uint32_t>(index);
    auto& [state, scores] = scratch[static_cast<std::size_t>(worker)];
    BinaryProblem problem{X, norms, positives[label], options.C, extras.row_weights, {}};
    if (extras.prior != nullptr) {
      const std::uint32_t node = extras.prior_nodes.empty() ? label : extras.prior_nodes[label];
      prior_scores(X, *extras.prior, node, scores);
      problem.prior_scores = scores;
    }
    start(extras, label, X.num_rows(), state);
    const BinaryOptions binary{options.tolerance, options.max_passes, options.seed + label};
    fit.labels[label] = solve_binary(problem, loss, binary, state, control);
    weights[label] = to_sparse(state.v);
    if (extras.keep_duals && loss == PointLossKind::hinge) {
      fit.duals[label] = to_sparse_duals(state.a);
    }
    Progress progress{.stage = "one-vs-rest", .unit = "labels"};
    progress.done = ++done;
    progress.total = num_labels;
    progress.objective = fit.labels[label].primal;
    progress.relative_gap = fit.labels[label].relative_gap();
    control.proceed(progress);
  });

  fit.weights = assemble(X.num_columns(), std::move(weights));
  for (const BinaryFit& label : fit.labels) {
    fit.primal += label.primal;
    fit.dual += label.dual;
    fit.stop = std::max(fit.stop, label.stop);
  }
  return fit;
}

}  // namespace margrove
