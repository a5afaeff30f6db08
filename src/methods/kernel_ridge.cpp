// kernel-ridge: kernel ridge regression of all nodes of the hierarchy, in closed form.

#include "kernel/kernel_ridge.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <sstream>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "hierarchy/closed_sets.hpp"
#include "kernel/landmark_ridge.hpp"
#include "margrove/errors.hpp"
#include "margrove/kernel_estimators.hpp"
#include "methods/methods.hpp"
#include "model/ridge_predictor.hpp"

namespace margrove {
namespace {

constexpr std::array kRidgeStrengths{0.01, 0.05, 0.2, 0.7, 2.0, 6.0, 20.0, 60.0, kMeanOnly};

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// Rounding leaves the systems a residual, which is far below this unless they are nearly singular.
constexpr double kLargestGap = 1e-3;

struct RidgePlan {
  KernelRidgeOptions options;
  std::vector<double> widths;
  TrainingSet data;
  LabelGraph graph;
  std::vector<NodeId> nodes;  // that rows have, ascending
  RidgeTargets targets;       // of these
  std::vector<std::uint32_t> tuning_rows;
  std::vector<std::uint32_t> landmarks;  // rows; empty: all are
};

/// The mean of several kernels over the same rows.
struct KernelMean {
  std::vector<FittedKernel> kernels;
  SymmetricMatrix K;              // centred
  std::vector<double> row_means;  // of the uncentred mean
};

/// The regressions on the tuning rows, and how good they are.
struct Choice {
  double width = 0;  // in medians of the distance; 0: there are no regressions, only means
  double precision = -1;
  double threshold = 0.5;
  std::vector<FittedKernel> kernels;
  std::vector<double> row_means;
  KernelRidgeFit fit;
  RidgeGap gap{kUnknown, kUnknown};  // of the fit, if it is on all training rows
  CsrMatrix support;                 // rows whose kernels the fit adds up
};

std::vector<double> parse_widths(const std::string& widths) {
  std::vector<double> values;
  std::stringstream stream(widths);
  for (std::string part; std::getline(stream, part, ',');) {
    values.push_back(detail::parse_number("widths", part));
    require<InvalidOption>(values.back() > 0, "option widths is '", widths,
                           "', but must be numbers > 0 with commas between");
  }
  require<InvalidOption>(!values.empty(), "option widths is empty, but must name a width");
  return values;
}

std::vector<KernelType> kernel_types(RidgeKernel kernel) {
  switch (kernel) {
    case RidgeKernel::exponential:
      return {KernelType::exponential};
    case RidgeKernel::gaussian:
      return {KernelType::gaussian};
    case RidgeKernel::laplacian:
      return {KernelType::laplacian};
    case RidgeKernel::automatic:
      break;
  }
  return {KernelType::exponential, KernelType::gaussian, KernelType::laplacian};
}

/// Numbers the nodes at or above the labels of the rows, ascending.
void number_nodes(RidgePlan& plan) {
  const LabelSets closed = closed_sets(plan.graph, *plan.data.labels);
  std::vector<std::uint32_t> column(plan.graph.num_nodes(), 0);
  for (std::size_t i = 0; i < closed.num_rows(); ++i) {
    for (const NodeId n : closed[i]) column[n] = 1;
  }
  for (NodeId n = 0; n < column.size(); ++n) {
    if (column[n] == 0) continue;
    column[n] = static_cast<std::uint32_t>(plan.nodes.size());
    plan.nodes.push_back(n);
  }
  std::vector<LabelId> columns;
  for (std::size_t i = 0; i < closed.num_rows(); ++i) {
    columns.clear();
    for (const NodeId n : closed[i]) columns.push_back(column[n]);
    plan.targets.ones.append(columns);
  }
  plan.targets.num_columns = static_cast<std::uint32_t>(plan.nodes.size());
}

/// All rows, or `limit` random ones; ascending.
std::vector<std::uint32_t> choose_rows(std::size_t num_rows, std::size_t limit,
                                       std::uint64_t seed) {
  std::vector<std::uint32_t> rows(num_rows);
  std::iota(rows.begin(), rows.end(), 0U);
  if (num_rows <= limit) return rows;
  Random random(seed);
  random.shuffle(std::span(rows));
  rows.resize(limit);
  std::ranges::sort(rows);
  return rows;
}

MemoryEstimate ridge_memory(const RidgePlan& plan, int num_threads) {
  const std::size_t num_kernels = kernel_types(plan.options.kernel).size();
  const std::size_t num_exact =
      plan.landmarks.empty() ? plan.data.X.num_rows() : plan.tuning_rows.size();
  const auto n = static_cast<double>(num_exact);
  const auto t = static_cast<double>(plan.tuning_rows.size());
  const auto m = static_cast<double>(plan.nodes.size());
  // The matrices of the kernels, and after them their mean and a factor.
  const double per_kernel = 2.0 * static_cast<double>(num_kernels);
  MemoryEstimate memory;
  memory.add("kernel matrices", std::max(per_kernel, 6.0) * n * n);
  if (!plan.landmarks.empty()) {
    MemoryEstimate of_landmarks = landmark_ridge_memory(
        num_kernels, plan.data.X, plan.landmarks.size(), plan.nodes.size(), num_threads);
    if (of_landmarks.total() > memory.total()) memory = std::move(of_landmarks);
  }
  memory.add("coefficients and left-out scores", 16.0 * t * m + 8.0 * n * m);
  memory.add("combination of the nodes",
             plan.options.sharing > 0 ? 8.0 * m * m + 8.0 * t * m : 0.0);
  memory.add("rows by view, rows of the model",
             16.0 * static_cast<double>(plan.data.X.num_nonzeros()));
  memory.add("rows as arrays", pair_scratch_memory(plan.data.X, num_threads));
  return memory;
}

/// The kernels that the options name, of a width in medians of the distance.
std::vector<KernelSpec> kernels_of(RidgeKernel kernel, double width) {
  std::vector<KernelSpec> specs;
  for (const KernelType type : kernel_types(kernel)) {
    KernelSpec& spec = specs.emplace_back();
    spec.name = concat(name_of(type), "/", width);
    spec.type = type;
    spec.width = width;
    spec.scaling = KernelScaling::none;
    spec.centred = true;
  }
  return specs;
}

KernelMean kernel_mean(std::span<const KernelSpec> specs, const CsrView& X, Executor& executor,
                       RunControl& control) {
  std::vector<GramMatrix> grams = gram_matrices(specs, X, executor, control);
  std::vector<const SymmetricMatrix*> others;
  KernelMean mean;
  mean.row_means.assign(X.num_rows(), 0.0);
  for (GramMatrix& gram : grams) {
    if (&gram != &grams.front()) others.push_back(&gram.K);
    gram.kernel.spec.centred = false;  // at prediction: biases_of()
    mean.kernels.push_back(gram.kernel);
    for (std::size_t i = 0; i < mean.row_means.size(); ++i) {
      mean.row_means[i] +=
          static_cast<double>(gram.row_means[i]) / static_cast<double>(grams.size());
    }
  }
  mean.K = std::move(grams.front().K);
  average_with(mean.K, others);
  return mean;
}

/// Not known if there is no time for it.
RidgeGap gap_of(const SymmetricMatrix& K, const RidgeTargets& targets, const KernelRidgeFit& fit,
                Executor& executor, RunControl& control) {
  try {
    return ridge_gap(K, targets, fit, executor, control);
  } catch (const OutOfTime&) {
    return {kUnknown, kUnknown};
  }
}

/// Chooses the width on the tuning rows.
class Search {
 public:
  Search(const RidgePlan& plan, Executor& executor, RunControl& control)
      : plan_(plan),
        executor_(executor),
        control_(control),
        X_(select_rows(plan.data.X, plan.tuning_rows)),
        targets_{select_rows(plan.targets.ones, plan.tuning_rows), plan.targets.num_columns} {
    X_.set_num_columns(plan.data.X.num_columns());
    if (plan.options.lambda > 0) {
      strengths_ = {plan.options.lambda};
    } else {
      strengths_.assign(kRidgeStrengths.begin(), kRidgeStrengths.end());
    }
  }

  /// The best one by left-out average precision; without regressions if the time is up before the
  /// first one is there.
  Choice run() {
    Choice best = means();
    try {
      for (const double width : plan_.widths) {
        Choice choice = attempt(width);
        if (choice.precision > best.precision) best = std::move(choice);
        if (!control_.proceed()) break;
      }
    } catch (const OutOfTime&) {
      return best;
    }
    return best;
  }
  const RidgeTargets& targets() const { return targets_; }
  CsrMatrix take_rows() { return std::move(X_); }

 private:
  Choice means() const {
    Choice choice;
    for (KernelSpec& spec : kernels_of(plan_.options.kernel, 1.0)) {
      spec.centred = false;
      spec.width_in_medians = false;
      choice.kernels.push_back({std::move(spec), 1.0, nullptr});
    }
    choice.row_means.assign(X_.num_rows(), 0.0);
    choice.fit = mean_fit(targets_);
    return choice;
  }
  Choice attempt(double width) {
    KernelMean mean = kernel_mean(kernels_of(plan_.options.kernel, width), X_, executor_, control_);
    Choice choice{width, 0, 0.5, std::move(mean.kernels), std::move(mean.row_means), {}, {}, {}};
    choice.fit = fit_ridge_path(mean.K, targets_, strengths_, executor_, control_);
    const ScoreThresholds thresholds = left_out_thresholds(choice.fit, targets_, control_);
    choice.precision = thresholds.average_precision();
    choice.threshold = thresholds.best_for_f1();
    if (plan_.tuning_rows.size() == plan_.data.X.num_rows()) {
      choice.gap = gap_of(mean.K, targets_, choice.fit, executor_, control_);
    }
    Progress progress{
        .stage = KernelRidgeOptions::kMethod, .done = ++tried_, .unit = Progress::Unit::widths};
    progress.total = std::ssize(plan_.widths);
    progress.objective = choice.precision;
    control_.proceed(progress);
    return choice;
  }

  const RidgePlan& plan_;
  Executor& executor_;
  RunControl& control_;
  CsrMatrix X_;
  RidgeTargets targets_;
  std::vector<double> strengths_;
  std::int64_t tried_ = 0;
};

/// b = mean - sum_i a_i (mean of row i of the uncentred kernel), because the coefficients sum to 0.
std::vector<double> biases_of(const KernelRidgeFit& fit, std::span<const double> row_means) {
  std::vector<double> biases(fit.means);
  for (std::size_t c = 0; c < biases.size(); ++c) {
    for (std::size_t i = 0; i < row_means.size(); ++i) {
      biases[c] -= static_cast<double>(fit.coefficients[c * row_means.size() + i]) * row_means[i];
    }
  }
  return biases;
}

/// Regressions on all rows with the width and the strengths of the choice.
void fit_all_rows(const RidgePlan& plan, Choice& choice, Executor& executor, RunControl& control) {
  KernelMean mean =
      kernel_mean(kernels_of(plan.options.kernel, choice.width), plan.data.X, executor, control);
  KernelRidgeFit fit = fit_ridge(mean.K, plan.targets, choice.fit.strengths, executor, control);
  choice.gap = gap_of(mean.K, plan.targets, fit, executor, control);
  choice.kernels = std::move(mean.kernels);
  choice.row_means = std::move(mean.row_means);
  choice.fit = std::move(fit);
  choice.support = with_intercept(plan.data.X, 0);  // a copy
}

/// The same as sums over the landmarks, with the kernels of the tuning rows.
void fit_landmarks(const RidgePlan& plan, Choice& choice, Executor& executor, RunControl& control) {
  CsrMatrix landmarks = select_rows(plan.data.X, plan.landmarks);
  landmarks.set_num_columns(plan.data.X.num_columns());
  LandmarkRidgeFit found = fit_landmark_ridge(choice.kernels, plan.data.X, landmarks, plan.targets,
                                              choice.fit.strengths, executor, control);
  choice.gap = found.gap;
  choice.row_means = std::move(found.column_means);
  choice.fit = std::move(found.fit);
  choice.support = std::move(landmarks);
}

/// Regressions on all rows; the choice stays as it was if there is no time for them.
void fit_further_rows(const RidgePlan& plan, Choice& choice, Executor& executor,
                      RunControl& control) {
  try {
    if (plan.landmarks.empty()) {
      fit_all_rows(plan, choice, executor, control);
    } else {
      fit_landmarks(plan, choice, executor, control);
    }
  } catch (const OutOfTime&) {
    return;
  }
}

/// None if there are only means, if the options ask for none, or if there is no time for it.
std::optional<ColumnCombination> combination_of(const RidgePlan& plan, const Choice& choice,
                                                const RidgeTargets& targets, Executor& executor,
                                                RunControl& control) {
  if (plan.options.sharing <= 0 || choice.width <= 0) return {};
  try {
    return ColumnCombination(choice.fit, targets, plan.options.sharing, executor, control);
  } catch (const OutOfTime&) {
    return {};
  }
}

/// The fit stays as it is if there is no time for it.
void combine(const ColumnCombination& combination, KernelRidgeFit& fit, Executor& executor,
             RunControl& control) {
  try {
    combination.apply(fit, executor, control);
  } catch (const OutOfTime&) {
    return;
  }
}

FitReport report_of(const Choice& choice, const RunControl& control) {
  FitReport report;
  report.passes = 1;
  report.stop = control.stop_reason();
  report.primal = choice.gap.primal;
  report.dual = choice.gap.dual;
  report.relative_gap = choice.gap.relative();
  if (report.stop == Stop::converged && !(report.relative_gap <= kLargestGap)) {
    report.stop = Stop::stalled;
  }
  return report;
}

TrainResult train_ridge(const RidgePlan& plan, Executor& executor, RunControl& control) {
  Search search(plan, executor, control);
  Choice choice = search.run();
  const auto combination = combination_of(plan, choice, search.targets(), executor, control);
  choice.support = search.take_rows();
  if (plan.tuning_rows.size() < plan.data.X.num_rows() && choice.width > 0) {
    fit_further_rows(plan, choice, executor, control);
  }
  if (combination) combine(*combination, choice.fit, executor, control);
  TrainResult result;
  result.report = report_of(choice, control);
  RidgePredictor::Parts parts;
  parts.support = std::move(choice.support);
  parts.kernels = std::move(choice.kernels);
  parts.nodes = plan.nodes;
  parts.biases = biases_of(choice.fit, choice.row_means);
  parts.coefficients = std::move(choice.fit.coefficients);
  parts.graph = plan.graph;
  parts.is_answer.assign(plan.graph.num_nodes(), 0);
  for (std::size_t i = 0; i < plan.data.labels->num_rows(); ++i) {
    for (const LabelId label : (*plan.data.labels)[i]) parts.is_answer[label] = 1;
  }
  parts.one_label = plan.data.labels->single_label();
  parts.threshold = choice.threshold;
  result.predictor = std::make_unique<RidgePredictor>(std::move(parts));
  return result;
}

Plan plan_ridge(const KernelRidgeOptions& options, const TrainingSet& data, Executor& executor,
                RunControl&) {
  constexpr auto kMethod = KernelRidgeOptions::kMethod;
  require(data.labels != nullptr && data.codec != nullptr, kMethod,
          ": the training data have no labels, but must");
  require_no_row_weights(data, kMethod);
  const std::size_t num_rows = data.X.num_rows();
  require(num_rows >= 2, kMethod, ": ", data.source, " has ", num_rows,
          " rows, but must have at least 2");
  RidgePlan plan{options, parse_widths(options.widths), data, {}, {}, {}, {}, {}};
  plan.graph = data.hierarchy != nullptr
                   ? *data.hierarchy
                   : LabelGraph::flat(static_cast<std::uint32_t>(data.codec->size()));
  number_nodes(plan);
  require(!plan.nodes.empty(), data.source, ": no row has a label");
  const auto most = static_cast<std::size_t>(options.max_rows);
  plan.tuning_rows = choose_rows(
      num_rows, std::min(static_cast<std::size_t>(options.tuning_rows), most), options.seed);
  if (num_rows > most) {
    plan.landmarks =
        choose_rows(num_rows, static_cast<std::size_t>(options.landmarks), options.seed);
  }
  MemoryEstimate memory = ridge_memory(plan, executor.size());
  return planned(std::move(memory), std::move(plan), train_ridge);
}

}  // namespace

Method kernel_ridge() {
  Method method = make_method<KernelRidgeOptions>(
      "kernel ridge regression of all nodes, for rows with several labels", plan_ridge);
  method.row_weights = false;
  method.kernel_features = false;
  method.empty_sets = true;
  return method;
}

}  // namespace margrove
