#include "model/kernel_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "data/csr_operations.hpp"
#include "kernel/network_drawing.hpp"
#include "margrove/errors.hpp"
#include "model/finite_scores.hpp"
#include "model/saved_rows.hpp"
#include "model/tensor_parts.hpp"

namespace margrove {
namespace {

std::vector<std::uint64_t> flat_lists(const std::vector<std::vector<std::uint32_t>>& lists,
                                      std::vector<std::uint32_t>& items) {
  std::vector<std::uint64_t> pointers{0};
  for (const auto& list : lists) {
    items.insert(items.end(), list.begin(), list.end());
    pointers.push_back(items.size());
  }
  return pointers;
}

std::vector<std::vector<std::uint32_t>> load_lists(const TensorMap& in, std::size_t num_kernels) {
  const auto pointers = in.get<std::uint64_t>("kernel.paths.pointers");
  const auto items = in.get<std::uint32_t>("kernel.paths.kernels");
  in.check(!pointers.empty() && pointers.front() == 0 && pointers.back() == items.size(),
           "kernel.paths.pointers must run from 0 to ", items.size());
  std::vector<std::vector<std::uint32_t>> lists;
  for (std::size_t m = 0; m + 1 < pointers.size(); ++m) {
    in.check(pointers[m] < pointers[m + 1] && pointers[m + 1] <= items.size(),
             "kernel.paths.pointers[", m + 1, "] is ", pointers[m + 1],
             ", but pointers must ascend");
    lists.emplace_back(items.begin() + static_cast<std::ptrdiff_t>(pointers[m]),
                       items.begin() + static_cast<std::ptrdiff_t>(pointers[m + 1]));
    for (const auto k : lists.back()) {
      in.check(k < num_kernels, "kernel.paths.kernels holds ", k, ", but must stay below ",
               num_kernels);
    }
  }
  return lists;
}

std::string table_name(std::size_t kernel) { return concat("kernel.table.", kernel); }

/// The table of the precomputed kernel k. Model files hold it, so that no other file is read.
std::shared_ptr<const KernelTable> load_table(const TensorMap& in, std::size_t k,
                                              const std::string& kernel) {
  const std::string name = table_name(k);
  in.check(in.has(name), "the table of the precomputed kernel ", kernel,
           " is not in the file, as before version 0.2; train again");
  auto table = std::make_shared<KernelTable>();
  table->values = in.get_matrix<float>(name, TensorMap::kAnySize, TensorMap::kAnySize);
  table->num_rows = in.shape(name)[0];
  table->num_columns = in.shape(name)[1];
  for (const float value : table->values) {
    in.check(std::isfinite(value), "tensor ", name, " must hold finite numbers");
  }
  return table;
}

void check_finite(const TensorMap& in, std::string_view name, const std::vector<double>& values,
                  double lowest) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    in.check(std::isfinite(values[k]) && values[k] >= lowest, name, "[", k, "] is ", values[k],
             ", but must be a number", lowest == 0 ? " >= 0" : "");
  }
}

}  // namespace

KernelPredictor::KernelPredictor(Parts parts) : parts_(std::move(parts)) {}

void KernelPredictor::save(TensorMap& out) const {
  const KernelClassifiers& classifiers = parts_.classifiers;
  save_support(out, "kernel", classifiers.support);
  out.put_text("kernel.network", format_network(parts_.network));
  std::vector<std::string> names;
  for (const auto v : parts_.network.products()) names.push_back(parts_.network.nodes()[v].name);
  out.put_strings("kernel.products", names);
  out.put_view<double>("kernel.beta", parts_.beta);
  // Kernels with the numbers that fitting gave them.
  std::vector<std::string> kernel_names;
  std::vector<double> widths, factors;
  for (const auto& kernel : classifiers.kernels) {
    kernel_names.push_back(kernel.spec.name);
    widths.push_back(kernel.spec.width);
    factors.push_back(kernel.factor);
    if (kernel.table) {
      out.put_view<float>(table_name(widths.size() - 1), kernel.table->values,
                          {kernel.table->num_rows, kernel.table->num_columns});
    }
  }
  out.put_strings("kernel.names", kernel_names);
  out.put<double>("kernel.widths", widths);
  out.put<double>("kernel.factors", factors);
  std::vector<std::uint32_t> items;
  const auto pointers = flat_lists(classifiers.paths, items);
  out.put<std::uint64_t>("kernel.paths.pointers", pointers);
  out.put<std::uint32_t>("kernel.paths.kernels", items);
  out.put_view<double>("kernel.paths.weights", classifiers.weights);
  out.put_view<double>("kernel.u", classifiers.u,
                       {classifiers.num_classifiers(), classifiers.support.num_rows()});
  out.put_view<double>("kernel.biases", classifiers.biases);
  out.put_view<LabelId>("kernel.label_of_class", parts_.label_of_class);
}

namespace {

// The network and the weights of its product nodes.
void load_network(const TensorMap& in, KernelPredictor::Parts& parts) {
  try {
    parts.network = parse_network(in.text("kernel.network"), "kernel.network",
                                  parts.classifiers.support.num_columns());
  } catch (const InvalidInput& error) {
    in.fail(error.what());
  }
  // parse_network() may number the product nodes in another order, so they are found by name.
  const auto names = in.get_strings("kernel.products");
  const auto beta = in.get<double>("kernel.beta", names.size());
  check_finite(in, "kernel.beta", beta, 0);
  in.check(names.size() == parts.network.num_products(), "kernel.products has ", names.size(),
           " names, but must have ", parts.network.num_products());
  std::map<std::string, double> beta_of;
  for (std::size_t v = 0; v < names.size(); ++v) beta_of[names[v]] = beta[v];
  for (const auto v : parts.network.products()) {
    const auto found = beta_of.find(parts.network.nodes()[v].name);
    in.check(found != beta_of.end(), "kernel.products lacks '", parts.network.nodes()[v].name, "'");
    parts.beta.push_back(found->second);
  }
}

// The kernels in use, with the parameters that training fitted.
void load_kernels(const TensorMap& in, const SumProductNetwork& network,
                  KernelClassifiers& classifiers) {
  const auto kernel_names = in.get_strings("kernel.names");
  const auto widths = in.get<double>("kernel.widths", kernel_names.size());
  const auto factors = in.get<double>("kernel.factors", kernel_names.size());
  check_finite(in, "kernel.widths", widths, 0);
  check_finite(in, "kernel.factors", factors, 0);
  for (std::size_t k = 0; k < kernel_names.size(); ++k) {
    const auto specs = network.kernels();
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const KernelSpec& each) {
      return each.name == kernel_names[k];
    });
    in.check(spec != specs.end(), "kernel.names[", k, "] is '", kernel_names[k],
             "', which is not in the network");
    FittedKernel kernel{*spec, factors[k], nullptr};
    kernel.spec.width = widths[k];
    in.check(!has_width(kernel.spec.type) || widths[k] > 0, "kernel.widths[", k, "] must be > 0");
    kernel.spec.width_in_medians = false;
    if (kernel.spec.columns.empty() && classifiers.support.num_columns() > 0) {
      kernel.spec.columns = {{0, classifiers.support.num_columns()}};
    }
    if (kernel.spec.type == KernelType::precomputed) {
      kernel.table = load_table(in, k, kernel_names[k]);
    }
    classifiers.kernels.push_back(std::move(kernel));
  }
}

// The classifiers over paths of these kernels.
void load_classifiers(const TensorMap& in, KernelClassifiers& classifiers) {
  classifiers.paths = load_lists(in, classifiers.kernels.size());
  classifiers.weights = in.get<double>("kernel.paths.weights", classifiers.paths.size());
  classifiers.biases = in.get<double>("kernel.biases");
  classifiers.u =
      in.get_matrix<double>("kernel.u", classifiers.biases.size(), classifiers.support.num_rows());
  check_finite(in, "kernel.paths.weights", classifiers.weights, 0);
  check_finite(in, "kernel.biases", classifiers.biases, -std::numeric_limits<double>::infinity());
  check_finite(in, "kernel.u", classifiers.u, -std::numeric_limits<double>::infinity());
}

}  // namespace

std::unique_ptr<Predictor> KernelPredictor::load(const TensorMap& in, std::uint32_t num_labels) {
  Parts parts;
  KernelClassifiers& classifiers = parts.classifiers;
  classifiers.support = load_support(in, "kernel");
  load_network(in, parts);
  load_kernels(in, parts.network, classifiers);
  load_classifiers(in, classifiers);
  parts.num_labels = num_labels;
  parts.views = load_views(in);
  parts.label_of_class = in.get<LabelId>("kernel.label_of_class");
  const std::size_t classes = parts.label_of_class.size();
  in.check(classes >= 2 && classifiers.num_classifiers() == (classes == 2 ? 1 : classes),
           "kernel.biases has ", classifiers.num_classifiers(), " values for ", classes,
           " classes");
  for (std::size_t c = 0; c < classes; ++c) {
    in.check(parts.label_of_class[c] < num_labels &&
                 (c == 0 || parts.label_of_class[c - 1] < parts.label_of_class[c]),
             "kernel.label_of_class[", c, "] is ", parts.label_of_class[c],
             ", but must ascend and stay below ", num_labels);
  }
  return std::make_unique<KernelPredictor>(std::move(parts));
}

std::vector<Fact> KernelPredictor::facts() const {
  std::size_t with_weight = 0;
  for (const double each : parts_.beta) with_weight += each > 0 ? 1 : 0;
  std::vector<Fact> facts{
      {"classes", concat(parts_.label_of_class.size())},
      {"support vectors", concat(parts_.classifiers.support.num_rows())},
      {"kernels in use",
       concat(parts_.classifiers.kernels.size(), " of ", parts_.network.kernels().size())},
      {"paths in use", concat(parts_.classifiers.paths.size())},
      {"product nodes with weight", concat(with_weight, " of ", parts_.beta.size())}};
  for (const auto& line : lines()) facts.push_back({"network", line});
  return facts;
}

std::vector<double> KernelPredictor::classifier_scores(const CsrView& X, std::size_t begin,
                                                       std::size_t end, Executor& executor) const {
  std::vector<double> values = parts_.classifiers.scores(row_range(X, begin, end), executor);
  const std::size_t num_classifiers = parts_.classifiers.num_classifiers();
  for (std::size_t i = begin; i < end; ++i) {
    require_finite_scores(
        std::span<const double>(values).subspan((i - begin) * num_classifiers, num_classifiers), i);
  }
  return values;
}

void KernelPredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                             std::span<float> scores) const {
  Executor serial(1);
  const auto values = classifier_scores(X, begin, end, serial);
  const std::size_t classifiers = parts_.classifiers.num_classifiers();
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  for (std::size_t r = 0; r < end - begin; ++r) {
    const auto row = scores.subspan(r * parts_.num_labels, parts_.num_labels);
    for (std::size_t c = 0; c < parts_.label_of_class.size(); ++c) {
      const double value =
          classifiers == 1 ? (c == 1 ? values[r] : -values[r]) : values[r * classifiers + c];
      row[parts_.label_of_class[c]] = static_cast<float>(value);
    }
  }
}

LabelSets KernelPredictor::predict(const CsrView& X, Executor& executor) const {
  const auto classes = predicted_classes(classifier_scores(X, 0, X.num_rows(), executor),
                                         parts_.classifiers.num_classifiers());
  LabelSets result;
  for (const auto c : classes) {
    const LabelId label = parts_.label_of_class[c];
    result.append(std::span(&label, 1));
  }
  return result;
}

/// "all columns", "columns 1-20", a view's name; of several kernels joined by " * ".
std::string KernelPredictor::columns_of_path(const std::vector<std::uint32_t>& path) const {
  std::vector<std::string> names;
  for (const std::uint32_t k : path) {
    const auto& columns = parts_.classifiers.kernels[k].spec.columns;
    const auto view = std::find_if(parts_.views.begin(), parts_.views.end(), [&](const View& each) {
      return columns == std::vector<ColumnRange>{{each.begin, each.end}};
    });
    std::string name;
    if (view != parts_.views.end()) {
      name = concat("view ", view->name);
    } else if (columns.empty() || columns == std::vector<ColumnRange>{{0, num_features()}}) {
      name = "all columns";
    } else {
      name = concat("columns ", format_columns(columns));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::string joined;
  for (const auto& name : names) joined += concat(joined.empty() ? "" : " * ", name);
  return joined;
}

Explanation KernelPredictor::explain(const SparseRow& x, LabelId label,
                                     std::size_t num_strongest) const {
  const auto& classes = parts_.label_of_class;
  const auto found = std::find(classes.begin(), classes.end(), label);
  require(found != classes.end(), "explain: label ", label, " is never predicted");
  const KernelClassifiers& classifiers = parts_.classifiers;
  const auto c = static_cast<std::size_t>(found - classes.begin());
  const bool is_single = classifiers.num_classifiers() == 1;
  const double sign = is_single && c == 0 ? -1 : 1;
  const std::size_t which = is_single ? 0 : c;

  const std::vector<std::int64_t> pointers{0, static_cast<std::int64_t>(x.size())};
  const auto scores =
      classifiers.path_scores({num_features(), pointers, x.columns, x.values}, which);
  std::map<std::string, Explanation::Source> sources;
  for (std::size_t m = 0; m < scores.size(); ++m) {
    std::string name;
    for (const std::uint32_t k : classifiers.paths[m]) {
      name += concat(name.empty() ? "" : " * ", classifiers.kernels[k].spec.name);
    }
    const std::string columns = columns_of_path(classifiers.paths[m]);
    auto& source = sources.try_emplace(columns, Explanation::Source{columns, 0, {}}).first->second;
    source.strongest.push_back({std::move(name), classifiers.weights[m], sign * scores[m]});
    source.score += sign * scores[m];
  }
  Explanation explanation;
  explanation.label = label;
  for (auto& [name, source] : sources) {
    keep_strongest(source.strongest, num_strongest);
    explanation.score += source.score;
    explanation.sources.push_back(std::move(source));
  }
  keep_strongest(explanation.sources, explanation.sources.size());
  const double bias = sign * classifiers.biases[which];
  explanation.sources.push_back({"(intercept)", bias, {}});
  explanation.score += bias;
  return explanation;
}

std::vector<std::string> KernelPredictor::lines() const {
  return network_lines(parts_.network, parts_.beta);
}
std::string KernelPredictor::dot() const { return network_dot(parts_.network, parts_.beta); }
std::string KernelPredictor::svg() const { return network_svg(parts_.network, parts_.beta); }

}  // namespace margrove
