#include "model/ridge_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/simd.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "model/finite_scores.hpp"
#include "model/saved_rows.hpp"
#include "model/tensor_parts.hpp"

namespace margrove {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr std::size_t kRowsAtOnce = 64;

MARGROVE_MULTIVERSION
double dot(const float* coefficients, const double* kernel, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(coefficients[i]) * kernel[i];
  return sum;
}

}  // namespace

std::vector<double> RidgePredictor::kernel_rows(const CsrView& X, std::size_t begin,
                                                std::size_t end) const {
  Executor serial(1);
  const CsrView known(num_features(), X.row_pointers(), X.columns(), X.values());
  const auto values =
      cross_kernels(parts_.kernels, row_range(known, begin, end), parts_.support, serial);
  std::vector<double> mean(values.front().size());
  for (std::size_t k = 0; k < mean.size(); ++k) {
    double sum = 0;
    for (const auto& each : values) sum += static_cast<double>(each[k]);
    mean[k] = sum / static_cast<double>(values.size());
  }
  return mean;
}

void RidgePredictor::scores(const CsrView& X, std::size_t begin, std::size_t end,
                            std::span<float> scores) const {
  const std::size_t num_support = parts_.support.num_rows();
  const std::vector<double> kernel = kernel_rows(X, begin, end);
  std::ranges::fill(scores, 0.0F);
  for (std::size_t c = 0; c < parts_.nodes.size(); ++c) {
    const float* const coefficients = parts_.coefficients.data() + c * num_support;
    for (std::size_t r = 0; r < end - begin; ++r) {
      scores[r * num_labels() + parts_.nodes[c]] = static_cast<float>(
          parts_.biases[c] + dot(coefficients, kernel.data() + r * num_support, num_support));
    }
  }
  const auto order = parts_.graph.topological_order();
  for (std::size_t r = 0; r < end - begin; ++r) {
    const auto row = scores.subspan(r * num_labels(), num_labels());
    require_finite_scores(std::span<const float>(row), begin + r);
    for (std::size_t k = order.size(); k-- > 0;) {
      for (const NodeId parent : parts_.graph.parents(order[k])) {
        row[parent] = std::max(row[parent], row[order[k]]);
      }
    }
  }
}

float RidgePredictor::ranking_score(std::span<const float> nodes, LabelId label) const {
  if (parts_.is_answer[label] == 0) return kNever;
  float below = 0;
  for (const NodeId child : parts_.graph.children(label)) {
    below = parts_.one_label ? below + nodes[child] : std::max(below, nodes[child]);
  }
  return nodes[label] - below;
}

LabelId RidgePredictor::best_label(std::span<const float> nodes) const {
  LabelId best = 0;
  float best_score = kNever;
  for (LabelId label = 0; label < num_labels(); ++label) {
    const float score = ranking_score(nodes, label);
    if (score <= best_score) continue;
    best = label;
    best_score = score;
  }
  return best;
}

void RidgePredictor::ranking_scores(const CsrView& X, std::size_t begin, std::size_t end,
                                    std::span<float> scores) const {
  this->scores(X, begin, end, scores);
  std::vector<float> nodes(num_labels());
  for (std::size_t r = 0; r < end - begin; ++r) {
    const auto row = scores.subspan(r * num_labels(), num_labels());
    std::ranges::copy(row, nodes.begin());
    for (LabelId label = 0; label < num_labels(); ++label) row[label] = ranking_score(nodes, label);
  }
}

void RidgePredictor::append_set(std::span<const float> nodes, LabelSets& sets) const {
  std::vector<LabelId> set;
  const auto is_in = [&](NodeId n) { return static_cast<double>(nodes[n]) >= parts_.threshold; };
  for (const NodeId n : parts_.nodes) {
    if (!parts_.one_label && is_in(n) && std::ranges::none_of(parts_.graph.children(n), is_in)) {
      set.push_back(n);
    }
  }
  if (set.empty()) set.push_back(best_label(nodes));
  sets.append(set);
}

LabelSets RidgePredictor::predict(const CsrView& X, Executor& executor) const {
  return collect_blocks(X.num_rows(), kRowsAtOnce, executor,
                        [&](std::size_t begin, std::size_t end, LabelSets& sets) {
                          std::vector<float> nodes((end - begin) * num_labels());
                          scores(X, begin, end, nodes);
                          for (std::size_t r = 0; r < end - begin; ++r) {
                            append_set(std::span(nodes).subspan(r * num_labels(), num_labels()),
                                       sets);
                          }
                        });
}

Explanation RidgePredictor::explain(const SparseRow& x, LabelId label,
                                    std::size_t num_strongest) const {
  const auto found = std::ranges::lower_bound(parts_.nodes, label);
  require(found != parts_.nodes.end() && *found == label, "explain: label ", label,
          " is never predicted");
  const auto c = static_cast<std::size_t>(found - parts_.nodes.begin());
  const std::vector<std::int64_t> pointers{0, static_cast<std::int64_t>(x.size())};
  const auto kernel = kernel_rows({num_features(), pointers, x.columns, x.values}, 0, 1);
  Explanation explanation;
  explanation.label = label;
  Explanation::Source rows{"training rows", 0, {}};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const double weight = parts_.coefficients[c * kernel.size() + i];
    rows.strongest.push_back({concat("row ", i + 1), weight, weight * kernel[i]});
    rows.score += weight * kernel[i];
  }
  keep_strongest(rows.strongest, num_strongest);
  explanation.score = rows.score + parts_.biases[c];
  explanation.sources = {std::move(rows), {"(intercept)", parts_.biases[c], {}}};
  return explanation;
}

std::vector<Fact> RidgePredictor::facts() const {
  std::vector<Fact> facts{{"nodes with a regression", concat(parts_.nodes.size())},
                          {"training rows kept", concat(parts_.support.num_rows())}};
  for (const FittedKernel& kernel : parts_.kernels) {
    facts.push_back({"kernel", concat(name_of(kernel.spec.type), ", width ", kernel.spec.width)});
  }
  if (!parts_.one_label) facts.push_back({"threshold of the scores", concat(parts_.threshold)});
  return facts;
}

void RidgePredictor::save(TensorMap& out) const {
  save_support(out, "kernel-ridge", parts_.support);
  std::vector<std::string> types;
  std::vector<double> widths;
  for (const FittedKernel& kernel : parts_.kernels) {
    types.emplace_back(name_of(kernel.spec.type));
    widths.push_back(kernel.spec.width);
  }
  out.put_strings("kernel-ridge.types", types);
  out.put<double>("kernel-ridge.widths", widths);
  out.put_view<NodeId>("kernel-ridge.nodes", parts_.nodes);
  out.put_view<float>("kernel-ridge.coefficients", parts_.coefficients,
                      {parts_.nodes.size(), parts_.support.num_rows()});
  out.put_view<double>("kernel-ridge.biases", parts_.biases);
  out.put_view<std::uint8_t>("kernel-ridge.is_answer", parts_.is_answer);
  save_graph(out, "kernel-ridge", parts_.graph);
  out.put_truth("kernel-ridge.one_label", parts_.one_label);
  out.put_number("kernel-ridge.threshold", parts_.threshold);
}

std::unique_ptr<Predictor> RidgePredictor::load(const TensorMap& in, std::uint32_t num_labels) {
  Parts parts;
  parts.support = load_support(in, "kernel-ridge");
  const auto types = in.get_strings("kernel-ridge.types");
  const auto widths = in.get<double>("kernel-ridge.widths", types.size());
  in.check(!types.empty(), "kernel-ridge.types must name a kernel");
  for (std::size_t k = 0; k < types.size(); ++k) {
    FittedKernel kernel;
    kernel.spec.name = types[k];
    kernel.spec.scaling = KernelScaling::none;
    kernel.spec.width_in_medians = false;
    kernel.spec.width = widths[k];
    try {
      kernel.spec.type = kernel_type(types[k]);
      check_kernel(kernel.spec, parts.support.num_columns());
    } catch (const InvalidInput& error) {
      in.fail(error.what());
    }
    in.check(has_width(kernel.spec.type), "kernel-ridge.types[", k, "] is '", types[k],
             "', but must be a kernel of distances");
    parts.kernels.push_back(std::move(kernel));
  }
  parts.nodes = in.get<NodeId>("kernel-ridge.nodes");
  for (std::size_t c = 0; c < parts.nodes.size(); ++c) {
    in.check(parts.nodes[c] < num_labels && (c == 0 || parts.nodes[c - 1] < parts.nodes[c]),
             "kernel-ridge.nodes[", c, "] is ", parts.nodes[c], ", but must ascend and stay below ",
             num_labels);
  }
  parts.coefficients = in.get_matrix<float>("kernel-ridge.coefficients", parts.nodes.size(),
                                            parts.support.num_rows());
  parts.biases = in.get<double>("kernel-ridge.biases", parts.nodes.size());
  for (const double bias : parts.biases) {
    in.check(std::isfinite(bias), "kernel-ridge.biases must hold finite numbers");
  }
  for (const float each : parts.coefficients) {
    in.check(std::isfinite(each), "kernel-ridge.coefficients must hold finite numbers");
  }
  parts.is_answer = in.get<std::uint8_t>("kernel-ridge.is_answer", num_labels);
  in.check(std::ranges::count(parts.is_answer, 0) < std::ssize(parts.is_answer),
           "kernel-ridge.is_answer must have a label");
  parts.graph = load_graph(in, "kernel-ridge", num_labels);
  parts.one_label = in.truth("kernel-ridge.one_label");
  parts.threshold = in.number("kernel-ridge.threshold");
  return std::make_unique<RidgePredictor>(std::move(parts));
}

}  // namespace margrove
