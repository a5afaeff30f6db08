#include <algorithm>
#include <limits>
#include <sstream>

#include "kernel/mkl.hpp"
#include "margrove/errors.hpp"
#include "margrove/kernel_estimators.hpp"
#include "methods/methods.hpp"
#include "model/kernel_predictor.hpp"

namespace margrove {
namespace {

/// Gaussians of all columns; with views, a group of Gaussians for each.
SumProductNetwork default_network(const std::string& widths, std::span<const View> views) {
  std::vector<KernelSpec> specs;
  std::stringstream stream(widths);
  for (std::string part; std::getline(stream, part, ',');) {
    KernelSpec spec;
    spec.width = detail::parse_number("widths", part);
    require<InvalidOption>(spec.width > 0, "option widths is '", widths,
                           "', but must be numbers > 0 with commas between");
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

/// Classes are the labels that occur, in ascending order.
struct Classes {
  std::vector<std::uint32_t> class_of;
  std::vector<LabelId> label_of_class;
};

Classes classes_of(const TrainingSet& data, std::string_view method) {
  require(data.labels != nullptr && data.codec != nullptr, method,
          ": the training data have no labels, but must");
  require(data.row_weights.empty(), method, ": row weights are given, but it takes none");
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

template <class Options>
MklControl control_of(const Options& options) {
  MklControl control;
  control.svm.C = options.C;
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

FitReport report_of(const MklFit& fit) {
  FitReport report;
  report.stop = fit.stop;
  report.passes = fit.rounds;
  report.primal = fit.primal;
  report.dual = fit.dual;
  report.relative_gap = fit.relative_gap;
  for (const auto& point : fit.curve) {
    report.curve.push_back({point.round, point.primal, point.dual});
  }
  return report;
}

/// `network` has weight fit.weights at its product nodes; `lists` are the kernels of fit's paths.
TrainResult result_of(SumProductNetwork network, const std::vector<GramMatrix>& grams,
                      const std::vector<std::vector<std::uint32_t>>& lists, const MklFit& fit,
                      const Classes& classes, const TrainingSet& data) {
  KernelPredictor::Parts parts;
  parts.machine = make_kernel_machine(grams, lists, fit, data.X);
  parts.network = std::move(network);
  parts.beta = fit.weights;
  parts.label_of_class = classes.label_of_class;
  parts.num_labels = static_cast<std::uint32_t>(data.codec->size());
  parts.views.assign(data.views.begin(), data.views.end());
  return {std::make_unique<KernelPredictor>(std::move(parts)), report_of(fit), nullptr};
}

TrainResult train_spn(const SpnMklOptions& options, const TrainingSet& data, Executor& executor,
                      RunControl& control) {
  const auto classes = classes_of(data, SpnMklOptions::kMethod);
  auto network = network_of(options, data);
  const auto paths = network.paths(options.max_paths);
  std::vector<std::vector<std::uint32_t>> lists;
  for (const auto& path : paths) lists.push_back(path.kernels);
  check_centred_kernels(network.kernels(), lists);
  std::vector<double> p;
  for (const auto v : network.products()) p.push_back(network.nodes()[v].p.value_or(options.p));
  const auto grams = gram_matrices(network.kernels(), data.X, executor, control);
  const ClassLabels labels{classes.class_of,
                           static_cast<std::uint32_t>(classes.label_of_class.size())};
  const auto fit = fit_network(matrices_of(grams), paths, p, options.weight_penalty, labels,
                               control_of(options), executor, control);
  return result_of(std::move(network), grams, lists, fit, classes, data);
}

/// Methods over single kernels take the kernels of the network and leave its shape.
template <class Options, class Fit>
TrainResult train_one_layer(const Options& options, const TrainingSet& data, Executor& executor,
                            RunControl& control, const Fit& fit_kernels) {
  const auto classes = classes_of(data, Options::kMethod);
  auto network = one_layer_network(network_of(options, data).kernels());
  std::vector<std::vector<std::uint32_t>> lists;
  for (std::uint32_t k = 0; k < network.kernels().size(); ++k) lists.push_back({k});
  const auto grams = gram_matrices(network.kernels(), data.X, executor, control);
  const ClassLabels labels{classes.class_of,
                           static_cast<std::uint32_t>(classes.label_of_class.size())};
  const MklFit fit = fit_kernels(matrices_of(grams), labels);
  return result_of(std::move(network), grams, lists, fit, classes, data);
}

TrainResult train_lp(const LpMklOptions& options, const TrainingSet& data, Executor& executor,
                     RunControl& control) {
  return train_one_layer(
      options, data, executor, control, [&](const auto& kernels, const ClassLabels& labels) {
        return fit_lp(kernels, options.p, labels, control_of(options), executor, control);
      });
}

TrainResult train_simple(const SimpleMklOptions& options, const TrainingSet& data,
                         Executor& executor, RunControl& control) {
  return train_one_layer(
      options, data, executor, control, [&](const auto& kernels, const ClassLabels& labels) {
        return fit_lp(kernels, 1.0, labels, control_of(options), executor, control);
      });
}

TrainResult train_average(const AverageMklOptions& options, const TrainingSet& data,
                          Executor& executor, RunControl& control) {
  return train_one_layer(
      options, data, executor, control, [&](const auto& kernels, const ClassLabels& labels) {
        return fit_average(kernels, labels, control_of(options).svm, executor, control);
      });
}

template <class Options>
std::uint64_t memory(const Options& options, const TrainingSet& data) {
  const auto network = network_of(options, data);
  const std::size_t machines =
      data.codec == nullptr || data.codec->size() <= 2 ? 1 : data.codec->size();
  // Whoever asks does not know the threads yet: as if every machine had its own.
  constexpr int kWorkers = 8;
  return kernel_training_bytes(data.X.num_rows(), network.kernels().size(), machines, kWorkers) +
         2 * static_cast<std::uint64_t>(data.X.num_nonzeros()) * 8;  // rows by view; the model's
}

}  // namespace

Method spn_mkl() {
  return make_method<SpnMklOptions>(
      "kernel weights of a sum-product network, learned with the machines", train_spn,
      memory<SpnMklOptions>);
}
Method lp_mkl() {
  return make_method<LpMklOptions>("multiple kernel learning with an l_p norm", train_lp,
                                   memory<LpMklOptions>);
}
Method simple_mkl() {
  return make_method<SimpleMklOptions>("multiple kernel learning with an l_1 norm: few kernels",
                                       train_simple, memory<SimpleMklOptions>);
}
Method average_mkl() {
  return make_method<AverageMklOptions>("machines of the average of all kernels", train_average,
                                        memory<AverageMklOptions>);
}

}  // namespace margrove
