// hsvm and nhsvm: structured SVMs over root-to-leaf paths, or over unions of them where rows have
// several labels (NHSVM, sections 3 to 5).

#include <variant>

#include "hierarchy/graph_operations.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/path_estimators.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {
namespace {

/// Of both methods, the one without a surrogate as the other with this one.
NhSvmOptions with_surrogate(const HSvmOptions& options, PathSurrogate surrogate) {
  return {.C = options.C,
          .lambda = options.lambda,
          .bias = options.bias,
          .seed = options.seed,
          .alpha = options.alpha,
          .merge_duplicates = options.merge_duplicates,
          .inference = options.inference,
          .solver = options.solver,
          .tolerance = options.tolerance,
          .max_passes = options.max_passes,
          .epochs = options.epochs,
          .surrogate = surrogate};
}

/// For whichever of the two problems the rows pose.
struct PathPlan {
  std::variant<PathSvmOptions, LabelSetSvmOptions> solver;
  double bias;
  Continuation continuation;
  LeafSets leaves;
  std::vector<double> alpha;
  PlannedRows rows;
  std::uint32_t num_known_labels;
};

PathSvmOptions path_solver(const NhSvmOptions& options, TaskLoss task_loss) {
  return {.task_loss = std::string(name_of(task_loss)),
          .surrogate = std::string(name_of(options.surrogate)),
          .C = loss_weight(options),
          .solver = std::string(name_of(options.solver)),
          .tolerance = options.tolerance,
          .max_passes = options.max_passes,
          .epochs = options.epochs,
          .seed = options.seed};
}

LabelSetSvmOptions label_set_solver(const NhSvmOptions& options) {
  require<InvalidOption>(options.surrogate == PathSurrogate::margin, "option surrogate is ",
                         name_of(options.surrogate),
                         ", but must be margin where rows have several labels");
  return {.C = loss_weight(options),
          .inference = std::string(name_of(options.inference)),
          .solver = std::string(name_of(options.solver)),
          .tolerance = options.tolerance,
          .max_passes = options.max_passes,
          .epochs = options.epochs,
          .seed = options.seed};
}

PathSvmResult fit(const PathPlan& plan, Executor& executor, RunControl& control) {
  const LeafSets& leaves = plan.leaves;
  if (const auto* solver = std::get_if<PathSvmOptions>(&plan.solver)) {
    return train_path_svm(plan.rows.X, leaf_of_row(leaves), leaves.tree.graph, plan.alpha, *solver,
                          executor, control, plan.rows.weights, plan.continuation);
  }
  return train_label_set_svm(plan.rows.X, leaves.sets, leaves.tree.graph, plan.alpha,
                             std::get<LabelSetSvmOptions>(plan.solver), executor, control,
                             plan.rows.weights, plan.continuation);
}

TrainResult train(const PathPlan& plan, Executor& executor, RunControl& control) {
  PathSvmResult found = fit(plan, executor, control);
  TrainResult result;
  result.report = to_report(found.fit);
  result.report.warnings = plan.leaves.warnings;
  std::string warning = unweighted_leaves(plan.leaves.tree.graph, plan.alpha);
  if (!warning.empty()) result.report.warnings.push_back(std::move(warning));
  auto parts = path_parts(plan.leaves, std::move(found.weights), plan.bias, plan.num_known_labels);
  parts.alpha = plan.alpha;
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  result.state = std::move(found.state);
  return result;
}

MemoryEstimate memory_of(const PathPlan& plan, bool is_sgd, int num_threads) {
  const LeafSets& leaves = plan.leaves;
  MemoryEstimate memory = planned_rows_memory(plan.rows, leaves.sets);
  if (const auto* solver = std::get_if<PathSvmOptions>(&plan.solver)) {
    memory.add(path_svm_memory(plan.rows.X, leaves.tree.graph, plan.alpha, *solver,
                               plan.continuation, num_threads));
  } else {
    memory.add(label_set_svm_memory(plan.rows.X, leaves.sets, leaves.tree.graph, plan.alpha, is_sgd,
                                    plan.continuation, num_threads));
  }
  return memory;
}

Plan make_plan(const NhSvmOptions& options, TaskLoss task_loss, const TrainingSet& data,
               Executor& executor, RunControl& control) {
  PathPlan plan{.solver = {},
                .bias = options.bias,
                .continuation = data.continuation,
                .leaves = without_common_roots(leaf_sets(data)),
                .alpha = {},
                .rows = {},
                .num_known_labels = static_cast<std::uint32_t>(data.codec->size())};
  if (plan.leaves.sets.single_label()) {
    plan.solver = path_solver(options, task_loss);
  } else {
    plan.solver = label_set_solver(options);
  }
  plan.alpha = node_weights(plan.leaves.tree.graph, options.alpha,
                            {.merge_duplicates = options.merge_duplicates}, &control)
                   .alpha;
  plan.rows = planned_rows(data, plan.leaves.kept, options.bias);
  MemoryEstimate memory = memory_of(plan, options.solver == PathSolver::sgd, executor.size());
  return planned(std::move(memory), std::move(plan), train);
}

}  // namespace

Method hsvm() {
  Method method =
      make_method<HSvmOptions>("hierarchical SVM: a structured SVM over paths with Hamming loss",
                               [](const HSvmOptions& options, const TrainingSet& data,
                                  Executor& executor, RunControl& control) {
                                 return make_plan(with_surrogate(options, PathSurrogate::margin),
                                                  TaskLoss::hamming, data, executor, control);
                               });
  method.needs_hierarchy = true;
  return method;
}

Method nhsvm() {
  Method method = make_method<NhSvmOptions>(
      "normalized hierarchical SVM: paths of equal weight, normalized loss",
      [](const NhSvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return make_plan(options, TaskLoss::normalized, data, executor, control);
      });
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
