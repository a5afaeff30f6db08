#include "methods/level_stack.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "margrove/path_estimators.hpp"
#include "methods/linear_training.hpp"
#include "outputs/path/path_svm.hpp"
#include "outputs/structured.hpp"

namespace margrove {

namespace detail {
namespace {

constexpr std::string_view kNone = "none";
constexpr std::string_view kCentroids = "centroids";
constexpr std::array<std::string_view, 3> kStacked{"nhsvm", "flat-lr", kCentroids};

}  // namespace

Stack Stack::parse(std::string_view text) {
  if (text == kAutomatic) return {};
  Stack stack;
  stack.methods.emplace();
  if (text == kNone) return stack;
  while (true) {
    const std::size_t end = std::min(text.find_first_of(",+"), text.size());
    stack.methods->emplace_back(text.substr(0, end));
    if (end == text.size()) break;
    text.remove_prefix(end + 1);
  }
  stack.validate();
  return stack;
}

std::string Stack::to_text() const {
  if (!methods) return std::string(kAutomatic);
  return methods->empty() ? std::string(kNone) : join(*methods, ",");
}

void Stack::validate() const {
  if (!methods) return;
  for (auto method = methods->begin(); method != methods->end(); ++method) {
    require<InvalidOption>(std::ranges::find(kStacked, *method) != kStacked.end() &&
                               std::find(methods->begin(), method, *method) == method,
                           "option stack is '", to_text(),
                           "', but must be auto, none, or some of nhsvm, flat-lr and centroids, "
                           "each once, separated by "
                           "commas");
  }
}

}  // namespace detail

NodeFit to_node_fit(OneVsRestFit fit) {
  FitReport report = to_report(fit);
  return {std::move(fit.weights), std::move(report)};
}

void add_to(FitReport& sum, const FitReport& problem) {
  sum.primal += problem.primal;
  sum.dual += problem.dual;
  sum.passes = std::max(sum.passes, problem.passes);
  sum.stop = std::max(sum.stop, problem.stop);
  // NaN, not 0, where a problem has no objective because a limit ended it before.
  sum.relative_gap = sum.primal == 0 ? 0.0 : (sum.primal - sum.dual) / sum.primal;
  for (const std::string& warning : problem.warnings) {
    if (std::ranges::find(sum.warnings, warning) == sum.warnings.end()) {
      sum.warnings.push_back(warning);
    }
  }
}

namespace {

StackedMethod stacked_nhsvm(const LevelSvmOptions& options, double C, const LeafSets& leaves,
                            const CsrView& X, RunControl& control) {
  const NhSvmOptions defaults{
      .seed = options.seed, .tolerance = options.tolerance, .max_passes = options.max_passes};
  const LabelGraph& graph = leaves.tree.graph;
  // With it, sums were slightly better on held-out rows of clef than with the default share.
  std::vector<double> alpha = node_weights(graph, {.name = "maxmin"}, {}, &control).alpha;
  StackedMethod method;
  method.nodes.resize(graph.num_nodes());
  std::iota(method.nodes.begin(), method.nodes.end(), NodeId{0});
  const auto num_weighted = std::ranges::count_if(alpha, [](double a) { return a > 0; });
  method.num_weights = static_cast<double>(num_used_columns(X)) * static_cast<double>(num_weighted);
  const StructuredTraining solver = structured_training(defaults, C);
  method.train = [alpha, solver](const LeafSets& of_plan, const CsrView& rows,
                                 const LabelSets& sets, std::span<const double> row_weights,
                                 Executor& executor, RunControl& share) -> NodeFit {
    std::vector<NodeId> leaf_of_row;
    for (std::size_t i = 0; i < sets.num_rows(); ++i) leaf_of_row.push_back(sets[i].front());
    PathSvmResult found =
        train_path_svm(rows, leaf_of_row, of_plan.tree.graph, alpha, {TaskLoss::normalized, {}},
                       solver, executor, share, row_weights);
    return {std::move(found.weights), to_report(found.fit)};
  };
  method.memory = [alpha, solver](const LeafSets& of_plan, const CsrView& rows, int num_threads) {
    return path_svm_memory(rows, of_plan.tree.graph, alpha, false, solver, {}, num_threads);
  };
  return method;
}

/// The leaves of rows as positions among the candidates.
LabelSets among_candidates(const LeafSets& leaves, const LabelSets& sets) {
  std::vector<LabelId> position(leaves.tree.graph.num_nodes(), 0);
  for (LabelId k = 0; k < leaves.candidates.size(); ++k) position[leaves.candidates[k]] = k;
  LabelSets found;
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    set.clear();
    for (const NodeId leaf : sets[i]) set.push_back(position[leaf]);
    found.append(set);
  }
  return found;
}

StackedMethod stacked_flat_lr(const LevelSvmOptions& options, double C, const LeafSets& leaves,
                              const CsrView& X, RunControl& /*control*/) {
  const OneVsRestOptions solver{.loss = PointLossKind::logistic,
                                .C = C,
                                .tolerance = options.tolerance,
                                .max_passes = options.max_passes,
                                .seed = options.seed};
  StackedMethod method;
  method.nodes = leaves.candidates;
  method.num_weights =
      static_cast<double>(num_used_columns(X)) * static_cast<double>(leaves.candidates.size());
  method.train = [solver](const LeafSets& of_plan, const CsrView& rows, const LabelSets& sets,
                          std::span<const double> row_weights, Executor& executor,
                          RunControl& share) {
    OneVsRestExtras extras;
    extras.row_weights = row_weights;
    return to_node_fit(train_one_vs_rest(rows, among_candidates(of_plan, sets),
                                         static_cast<std::uint32_t>(of_plan.candidates.size()),
                                         solver, executor, share, extras));
  };
  method.memory = [solver](const LeafSets& of_plan, const CsrView& rows, int num_threads) {
    const LabelSets sets = among_candidates(of_plan, of_plan.sets);
    const auto num_labels = static_cast<std::uint32_t>(of_plan.candidates.size());
    return one_vs_rest_memory(rows, sets, num_labels, solver, num_threads,
                              expected_nonzeros(rows, sets, num_labels, solver.loss, solver.C));
  };
  return method;
}

/// Of a row without its intercept, which is its last value.
double length_of(const SparseRow& row, bool has_intercept) {
  const std::size_t size = row.size() - (has_intercept && row.size() > 0);
  return std::sqrt(squared_norm({row.columns.first(size), row.values.first(size)}));
}

/// A column for each leaf: the mean of its rows, which count at length 1, at length 1 itself.
WeightMatrix mean_rows(const LeafSets& leaves, const CsrView& X, const LabelSets& sets,
                       std::span<const double> row_weights, bool has_intercept) {
  const LabelSets leaves_of_row = among_candidates(leaves, sets);
  const auto num_leaves = static_cast<std::uint32_t>(leaves.candidates.size());
  std::vector<std::vector<std::uint32_t>> rows_of_leaf(num_leaves);
  for (std::uint32_t i = 0; i < X.num_rows(); ++i) {
    for (const LabelId leaf : leaves_of_row[i]) rows_of_leaf[leaf].push_back(i);
  }
  CsrMatrix sums(X.num_columns());
  WeightSums sum(X.num_columns());
  for (const std::vector<std::uint32_t>& rows : rows_of_leaf) {
    for (const std::uint32_t i : rows) {
      const SparseRow row = X.row(i);
      const std::size_t size = row.size() - (has_intercept && row.size() > 0);
      const double length = length_of(row, has_intercept);
      if (!(length > 0)) continue;
      const double factor = (row_weights.empty() ? 1 : row_weights[i]) / length;
      for (std::size_t k = 0; k < size; ++k) sum.add(row.columns[k], factor * row.values[k]);
    }
    sum.append_to(sums);
  }
  const std::vector<double> squares = squared_norms(sums.view());
  const CsrMatrix by_feature = transpose(sums.view());
  CsrMatrix means(num_leaves);
  std::vector<float> values;
  for (FeatureId feature = 0; feature < X.num_columns(); ++feature) {
    const SparseRow row = by_feature.view().row(feature);
    values.assign(row.values.begin(), row.values.end());
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(values[k] / std::sqrt(squares[row.columns[k]]));
    }
    means.append_row(row.columns, values);
  }
  return WeightMatrix::sparse(std::move(means));
}

/// At most so many values of centroids are not zero: those of a row once for each of its leaves.
double most_means(const CsrView& X, const LabelSets& sets) {
  double most = 0;
  for (std::uint32_t i = 0; i < X.num_rows(); ++i) {
    most += static_cast<double>(X.row(i).size()) * static_cast<double>(sets[i].size());
  }
  return most;
}

StackedMethod stacked_centroids(const LevelSvmOptions& options, double /*C*/,
                                const LeafSets& leaves, const CsrView& X, RunControl& /*control*/) {
  StackedMethod method;
  method.nodes = leaves.candidates;
  method.num_weights = most_means(X, leaves.sets);
  const bool has_intercept = options.bias > 0;
  method.train = [has_intercept](const LeafSets& of_plan, const CsrView& rows,
                                 const LabelSets& sets, std::span<const double> row_weights,
                                 Executor& /*executor*/, RunControl& /*share*/) -> NodeFit {
    FitReport report;
    report.primal = report.dual = report.relative_gap = 0;
    return {mean_rows(of_plan, rows, sets, row_weights, has_intercept), std::move(report)};
  };
  method.memory = [](const LeafSets& of_plan, const CsrView& rows, int /*num_threads*/) {
    MemoryEstimate memory;
    memory.add("means of rows", 24 * most_means(rows, of_plan.sets));
    return memory;
  };
  return method;
}

/// A method that can be stacked.
struct Kind {
  std::string_view name;
  bool is_trained;  // for rows with one label; others take next to no time
  LossWeightRule loss_weight;
  StackedMethod (*make)(const LevelSvmOptions& options, double C, const LeafSets& leaves,
                        const CsrView& X, RunControl& control);
};
constexpr std::array kKinds{Kind{"nhsvm", true, kNormalizedPathWeight, stacked_nhsvm},
                            Kind{"flat-lr", true, kLogisticWeight, stacked_flat_lr},
                            Kind{"centroids", false, kHingeWeight, stacked_centroids}};

const Kind& kind_of(const std::string& name) {
  return *std::ranges::find(kKinds, name, &Kind::name);
}

bool has_trained(const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [](const auto& name) { return kind_of(name).is_trained; });
}

/// Weights that are fitted on fewer rows may be chance.
constexpr std::size_t kLeastRows = 1000;

/// Equal rows count once: where rows have weights, they are merged before.
std::size_t num_distinct_rows(const LeafSets& leaves, const CsrView& X, RunControl& control) {
  const auto merged = merge_equal_rows(X, leaves.sets, {}, &control);
  return merged ? merged->rows.size() : X.num_rows();
}

/// Lengths of rows count as equal up to this factor.
constexpr double kEqualLengths = 1.01;

/// As of texts: then the scores of centroids are cosines.
bool have_one_length(const CsrView& X, bool has_intercept) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::uint32_t i = 0; i < X.num_rows(); ++i) {
    const double length = length_of(X.row(i), has_intercept);
    if (!(length > 0)) continue;
    least = std::min(least, length);
    most = std::max(most, length);
  }
  return most <= kEqualLengths * least;
}

/// Whether methods are stacked that are trained: on dense rows with more rows than columns, linear
/// classifiers underfit, and differ.
bool stacks_trained_methods(const LevelSvmOptions& options, bool has_names, const LeafSets& leaves,
                            const CsrView& X, RunControl& control) {
  if (options.multiclass == MulticlassKind::ovr || options.intercept_penalty == 0) return false;
  if (has_names || !leaves.sets.single_label() || X.num_rows() < kLeastRows) return false;
  const std::size_t num_rows = num_distinct_rows(leaves, X, control);
  return num_rows >= kLeastRows && num_rows > X.num_columns();
}

}  // namespace

void require_stack(const LevelSvmOptions& options) {
  if (!excludes_names(options)) return;
  const std::string given = options.stack.to_text();
  require<InvalidOption>(!options.match_names.value.value_or(false), "option stack is ", given,
                         ", but match_names is given, too, and scores of names are fitted beside "
                         "those of centroids only");
  require<InvalidOption>(options.intercept_penalty > 0, "option stack is ", given,
                         ", but intercept_penalty is 0, and stacked methods have no free "
                         "intercepts");
}

bool excludes_names(const LevelSvmOptions& options) {
  return options.stack.methods && has_trained(*options.stack.methods);
}

std::vector<std::string> stacked_names(const LevelSvmOptions& options, bool has_names,
                                       const LeafSets& leaves, const CsrView& X,
                                       RunControl& control) {
  if (!options.stack.methods) {
    if (is_dense(X)) {
      if (!stacks_trained_methods(options, has_names, leaves, X, control)) return {};
      return {"nhsvm", "flat-lr"};
    }
    if (X.num_rows() < kLeastRows || !have_one_length(X, options.bias > 0)) return {};
    return {std::string(detail::kCentroids)};
  }
  require<InvalidOption>(!has_trained(*options.stack.methods) || leaves.sets.single_label(),
                         "option stack is ", options.stack.to_text(),
                         ", which is for rows with one label, but some rows have several");
  return *options.stack.methods;
}

std::vector<StackedMethod> stacked_methods(const std::vector<std::string>& names,
                                           const LevelSvmOptions& options, const TrainingSet& data,
                                           const LeafSets& leaves, const CsrView& X,
                                           RunControl& control) {
  std::vector<StackedMethod> methods;
  if (names.empty()) return methods;
  const double ratio =
      loss_weight(options) / automatic_loss_weight(data, weight_of_hinge(options.loss));
  for (const std::string& name : names) {
    const Kind& kind = kind_of(name);
    const double C = automatic_loss_weight(data, kind.loss_weight) * ratio;
    methods.push_back(kind.make(options, C, leaves, X, control));
    methods.back().is_trained = kind.is_trained;
  }
  return methods;
}

}  // namespace margrove
