#include "model/kernel_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "data/csr_operations.hpp"
#include "kernel/network_drawing.hpp"
#include "margrove/errors.hpp"
#include "model/finite_scores.hpp"
#include "model/saved_kernel.hpp"
#include "model/saved_rows.hpp"
#include "model/tensor_parts.hpp"

namespace margrove {
namespace {

void check_finite(const TensorMap& in, std::string_view name, const std::vector<double>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    in.check(std::isfinite(values[k]), name, "[", k, "] is ", values[k], ", but must be a number");
  }
}

}  // namespace

KernelPredictor::KernelPredictor(Parts parts) : parts_(std::move(parts)) {}

void KernelPredictor::save(TensorMap& out) const {
  const KernelClassifiers& classifiers = parts_.classifiers;
  save_support(out, "kernel", classifiers.support);
  save_kernel(out, "kernel", classifiers, parts_.network, parts_.beta);
  out.put_view<double>("kernel.u", classifiers.u,
                       {classifiers.num_classifiers(), classifiers.support.num_rows()});
  out.put_view<double>("kernel.biases", classifiers.biases);
  out.put_view<LabelId>("kernel.label_of_class", parts_.label_of_class);
}

namespace {

// The numbers of the classifiers.
void load_classifiers(const TensorMap& in, KernelClassifiers& classifiers) {
  classifiers.biases = in.get<double>("kernel.biases");
  classifiers.u =
      in.get_matrix<double>("kernel.u", classifiers.biases.size(), classifiers.support.num_rows());
  check_finite(in, "kernel.biases", classifiers.biases);
  check_finite(in, "kernel.u", classifiers.u);
}

}  // namespace

std::unique_ptr<Predictor> KernelPredictor::load(const TensorMap& in, std::uint32_t num_labels) {
  Parts parts;
  KernelClassifiers& classifiers = parts.classifiers;
  classifiers.support = load_support(in, "kernel");
  LearnedKernel kernel = load_kernel(in, "kernel", classifiers.support.num_columns());
  parts.network = std::move(kernel.network);
  parts.beta = std::move(kernel.beta);
  static_cast<CombinedKernel&>(classifiers) = std::move(kernel);
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
