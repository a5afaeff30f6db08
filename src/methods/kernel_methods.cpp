#include <algorithm>
#include <limits>
#include <sstream>

#include "base/out_of_time.hpp"
#include "kernel/mkl.hpp"
#include "margrove/errors.hpp"
#include "margrove/kernel_estimators.hpp"
#include "methods/methods.hpp"
#include "model/kernel_predictor.hpp"
#include "model/loss_weight.hpp"

namespace margrove {
namespace {

/// One Gaussian kernel per width over all columns; with views, one such group of kernels per view.
SumProductNetwork default_network(const std::string& widths, std::span<const View> views) {
  std::vector<KernelSpec> specs;
  std::stringstream stream(widths);
  for (std::string part; std::getline(stream, part, ',');) {
    KernelSpec spec;
    spec.width = detail::parse_number("widths", part);
    require<InvalidOption>(spec.width > 0, "option widths is '", widths,
                           "', but must be numbers > 0, separated by commas");
    spec.name = concat("gaussian/", spec.width);
    specs.push_back(std::move(spec));
  }
  require<InvalidOption>(!specs.empty(), "option widths is empty, but must name a width");
  if (views.empty()) return one_layer_network(specs);
  std::vector<KernelGroup> groups;
  for (const View& view : views) {
    KernelGroup group{view.name, specs};
    for (auto& spec : group.kernels) {
      spec.name = concat(view.name, "/", spec.name);
      spec.columns = {{view.begin, view.end}};
    }
    groups.push_back(std::move(group));
  }
  return group_network(groups);
}

template <class Options>
SumProductNetwork network_of(const Options& options, const TrainingSet& data) {
  if (options.network.empty()) return default_network(options.widths, data.views);
  std::vector<NamedView> views;
  for (const View& view : data.views) views.push_back({view.name, {{view.begin, view.end}}});
  if (options.network.starts_with('{')) {
    return parse_network(options.network, "network", data.X.num_columns(), views);
  }
  return read_network(options.network, data.X.num_columns(), views);
}

/// The class of each row. Classes are the labels that occur, in ascending order.
struct Classes {
  std::vector<std::uint32_t> class_of;
  std::vector<LabelId> label_of_class;
};

Classes classes_of(const TrainingSet& data, std::string_view method) {
  require(data.labels != nullptr && data.codec != nullptr, method,
          ": the training data have no labels, but must have labels");
  require_no_row_weights(data, method);
  Classes classes;
  for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
    const auto labels = (*data.labels)[i];
    require(labels.size() == 1, method, ": row ", i, " of ", data.source, " has ", labels.size(),
            " labels, but must have one");
    classes.label_of_class.push_back(labels[0]);
  }
  std::sort(classes.label_of_class.begin(), classes.label_of_class.end());
  classes.label_of_class.erase(
      std::unique(classes.label_of_class.begin(), classes.label_of_class.end()),
      classes.label_of_class.end());
  const std::size_t num_classes = classes.label_of_class.size();
  require(num_classes >= 2, method, ": ", data.source, " has rows of ", num_classes,
          num_classes == 1 ? " class" : " classes", ", but must have at least 2 classes");
  for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
    const auto found = std::lower_bound(classes.label_of_class.begin(),
                                        classes.label_of_class.end(), (*data.labels)[i][0]);
    classes.class_of.push_back(static_cast<std::uint32_t>(found - classes.label_of_class.begin()));
  }
  return classes;
}

/// C of spn-mkl for all rows together. At the optimal weights its penalties, with p = 1, are a
/// norm, not squared, beside C times a sum over the rows (docs/notation.md, "The default of C").
constexpr double kLossWeightOfRows = 50;
/// Where no kernel has a weight with that C, as of classes that are nearly the same or rare, it is
/// raised by this factor until one has, and once more, because the first weights are small.
constexpr double kRaise = 4;
constexpr int kMostRaises = 12;

/// The options with a number for C.
SpnMklOptions settled_options(SpnMklOptions options, const TrainingSet& data) {
  if (!options.C) {
    const auto num_rows = static_cast<double>(std::max<std::size_t>(1, data.X.num_rows()));
    options.C = to_three_digits(kLossWeightOfRows / num_rows);
  }
  return options;
}

template <class Options>
MklControl control_of(const Options& options) {
  MklControl control;
  control.svm.C = loss_weight(options);
  control.svm.tolerance = options.svm_tolerance;
  control.gap_tolerance = options.tolerance;
  control.change_tolerance = options.tolerance / 1000;
  control.max_rounds = options.max_rounds;
  return control;
}

std::vector<const SymmetricMatrix*> matrices_of(const std::vector<GramMatrix>& grams) {
  std::vector<const SymmetricMatrix*> matrices;
  for (const auto& gram : grams) matrices.push_back(&gram.K);
  return matrices;
}

bool has_kernel(const MklFit& fit) {
  return std::ranges::any_of(fit.path_weights, [](double weight) { return weight > 0; });
}

FitReport report_of(const MklFit& fit) {
  FitReport report;
  report.stop = fit.stop;
  // The first round has the classifiers of the first weights.
  const bool has_steps =
      std::ranges::any_of(fit.classifiers, [](const auto& each) { return each.iterations > 0; });
  report.passes = fit.rounds == 1 && !has_steps ? 0 : fit.rounds;
  report.primal = fit.primal;
  report.dual = fit.dual;
  report.relative_gap = fit.relative_gap;
  if (std::ranges::any_of(fit.classifiers,
                          [](const auto& each) { return each.stop == Stop::stalled; })) {
    report.warnings.emplace_back(
        "the support vector machines came no nearer to their optimum; lower C or scale the "
        "columns");
  }
  if (!is_cut_short(fit.stop) && !has_kernel(fit)) {
    report.warnings.emplace_back(
        "no kernel has a weight, so that all rows have the same scores; raise C");
  }
  return report;
}

/// The plan of a kernel method.
struct KernelPlan {
  TrainingSet data;
  MklControl control;
  Classes classes;
  SumProductNetwork network;
  std::vector<NetworkPath> paths;  // empty if single kernels are weighted
  std::vector<std::vector<std::uint32_t>> kernels_of_path;
  ClassLabels labels() const {
    return {classes.class_of, static_cast<std::uint32_t>(classes.label_of_class.size())};
  }
};

/// Weights and classifiers, and the options that their training settled.
struct KernelFit {
  MklFit fit;
  OptionValues settled;
};

TrainResult result_of(const KernelPlan& plan, const std::vector<GramMatrix>& grams,
                      KernelFit fitted) {
  const MklFit& fit = fitted.fit;
  KernelPredictor::Parts parts;
  parts.classifiers = make_kernel_classifiers(grams, plan.kernels_of_path, fit, plan.data.X);
  parts.network = plan.network;
  parts.beta = fit.weights;
  parts.label_of_class = plan.classes.label_of_class;
  parts.num_labels = static_cast<std::uint32_t>(plan.data.codec->size());
  parts.views.assign(plan.data.views.begin(), plan.data.views.end());
  return {std::make_unique<KernelPredictor>(std::move(parts)), report_of(fit), nullptr,
          std::move(fitted.settled)};
}

/// Fits with the C of `options`, which is raised as long as no kernel has a weight, and says with
/// which C it did.
template <class Fit>
KernelFit fit_with_raised_loss(MklControl options, RunControl& control, const Fit& fit) {
  KernelFit found{fit(options), {}};
  bool is_last = has_kernel(found.fit);
  for (int k = 0; k < kMostRaises && !is_last && control.proceed(); ++k) {
    is_last = has_kernel(found.fit);
    options.svm.C = to_three_digits(kRaise * options.svm.C);
    MklFit next = fit(options);
    if (is_last && is_cut_short(next.stop)) break;
    found = {std::move(next), {{"C", concat(options.svm.C)}}};
  }
  return found;
}

/// `fit` computes the weights and classifiers: KernelFit(const KernelPlan&, matrices, executor,
/// control).
template <class Fit>
Plan planned_fit(KernelPlan plan, int num_threads, Fit fit) {
  const std::size_t classes = plan.classes.label_of_class.size();
  MemoryEstimate memory = kernel_training_memory(plan.data.X, plan.network.kernels().size(),
                                                 classes == 2 ? 1 : classes, num_threads);
  return planned(std::move(memory), std::move(plan),
                 [fit](const KernelPlan& settled, Executor& executor, RunControl& control) {
                   const auto grams =
                       gram_matrices(settled.network.kernels(), settled.data.X, executor, control);
                   return result_of(settled, grams,
                                    fit(settled, matrices_of(grams), executor, control));
                 });
}

using Matrices = std::span<const SymmetricMatrix* const>;

Plan plan_spn(const SpnMklOptions& given, const TrainingSet& data, Executor& executor,
              RunControl&) {
  const SpnMklOptions options = settled_options(given, data);
  KernelPlan plan{data,
                  control_of(options),
                  classes_of(data, SpnMklOptions::kMethod),
                  network_of(options, data),
                  {},
                  {}};
  plan.paths = plan.network.paths(options.max_paths);
  for (const auto& path : plan.paths) plan.kernels_of_path.push_back(path.kernels);
  check_centred_kernels(plan.network.kernels(), plan.kernels_of_path);
  std::vector<double> p;
  for (const auto v : plan.network.products()) {
    p.push_back(plan.network.nodes()[v].p.value_or(options.p));
  }
  Plan made = planned_fit(
      std::move(plan), executor.size(),
      [p, penalty = options.weight_penalty, is_automatic = !given.C](
          const KernelPlan& settled, Matrices kernels, Executor& workers, RunControl& control) {
        const auto fit = [&](const MklControl& with) {
          return fit_network(kernels, settled.paths, p, penalty, settled.labels(), with, workers,
                             control);
        };
        if (!is_automatic) return KernelFit{fit(settled.control), {}};
        return fit_with_raised_loss(settled.control, control, fit);
      });
  if (!given.C) made.settled_options.emplace_back("C", concat(*options.C));
  return made;
}

/// For methods over single kernels, which use only the kernels of the network.
template <class Options, class Fit>
Plan plan_one_layer(const Options& options, const TrainingSet& data, Executor& executor, Fit fit) {
  KernelPlan plan{data,
                  control_of(options),
                  classes_of(data, Options::kMethod),
                  one_layer_network(network_of(options, data).kernels()),
                  {},
                  {}};
  for (std::uint32_t k = 0; k < plan.network.kernels().size(); ++k) {
    plan.kernels_of_path.push_back({k});
  }
  return planned_fit(std::move(plan), executor.size(), fit);
}

/// l_p-norm multiple kernel learning over single kernels.
auto fit_with_norm(double p) {
  return [p](const KernelPlan& plan, Matrices kernels, Executor& executor, RunControl& control) {
    return KernelFit{fit_lp(kernels, p, plan.labels(), plan.control, executor, control), {}};
  };
}

Plan plan_lp(const LpMklOptions& options, const TrainingSet& data, Executor& executor,
             RunControl&) {
  return plan_one_layer(options, data, executor, fit_with_norm(options.p));
}

Plan plan_simple(const SimpleMklOptions& options, const TrainingSet& data, Executor& executor,
                 RunControl&) {
  return plan_one_layer(options, data, executor, fit_with_norm(1.0));
}

Plan plan_average(const AverageMklOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl&) {
  return plan_one_layer(
      options, data, executor,
      [](const KernelPlan& plan, Matrices kernels, Executor& workers, RunControl& control) {
        return KernelFit{fit_average(kernels, plan.labels(), plan.control.svm, workers, control),
                         {}};
      });
}

template <class Options, class MakePlan>
Method kernel_method(std::string summary, MakePlan make_plan) {
  Method method = make_method<Options>(std::move(summary), make_plan);
  method.column_options = {"network"};
  method.label_sets = false;
  method.row_weights = false;
  method.kernel_features = false;
  return method;
}

}  // namespace

Method spn_mkl() {
  return kernel_method<SpnMklOptions>(
      "kernel weights of a sum-product network, learned together with the SVMs", plan_spn);
}
Method lp_mkl() {
  return kernel_method<LpMklOptions>("multiple kernel learning with an l_p norm", plan_lp);
}
Method simple_mkl() {
  return kernel_method<SimpleMklOptions>(
      "multiple kernel learning with an l_1 norm, which selects few kernels", plan_simple);
}
Method average_mkl() {
  return kernel_method<AverageMklOptions>("SVMs with the average of all kernels", plan_average);
}

}  // namespace margrove
