#include "kernel/kernel_classifiers.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// The same rows as of a matrix with so many columns.
CsrView with_columns(const CsrView& X, std::uint32_t num_columns) {
  return {num_columns, X.row_pointers(), X.columns(), X.values()};
}

}  // namespace

std::vector<double> KernelClassifiers::scores(const CsrView& X, Executor& executor) const {
  const std::size_t num_support = support.num_rows();
  std::vector<double> result(X.num_rows() * num_classifiers());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    std::copy(biases.begin(), biases.end(),
              result.begin() + static_cast<std::ptrdiff_t>(i * num_classifiers()));
  }
  for_rows(X, support, executor, [&](std::size_t row, std::span<const double> combined) {
    for (std::size_t c = 0; c < num_classifiers(); ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < num_support; ++i) sum += u[c * num_support + i] * combined[i];
      result[row * num_classifiers() + c] += sum;
    }
  });
  return result;
}

std::vector<double> KernelClassifiers::path_scores(const CsrView& x, std::size_t classifier) const {
  const std::size_t num_support = support.num_rows();
  std::vector<double> scores(paths.size(), 0.0);
  if (num_support == 0) return scores;
  Executor serial(1);
  const auto values =
      cross_kernels(kernels, with_columns(x, support.num_columns()), support, serial);
  for (std::size_t m = 0; m < paths.size(); ++m) {
    for (std::size_t i = 0; i < num_support; ++i) {
      double product = weights[m] * u[classifier * num_support + i];
      for (const std::uint32_t k : paths[m]) product *= static_cast<double>(values[k][i]);
      scores[m] += product;
    }
  }
  return scores;
}

void check_centred_kernels(std::span<const KernelSpec> kernels,
                           std::span<const std::vector<std::uint32_t>> paths) {
  for (const auto& path : paths) {
    for (const std::uint32_t k : path) {
      require(path.size() == 1 || !kernels[k].centred, "kernel ", kernels[k].name,
              ": is centred and multiplied with other kernels, but must be only one of them");
    }
  }
}

namespace {

/// The rows of X. In the columns of a given kernel, row i has a 1 in column i alone.
CsrMatrix support_of(std::span<const GramMatrix> grams, const CsrView& X,
                     std::span<const std::uint32_t> rows) {
  std::vector<ColumnRange> given;  // ascending, without repetitions
  for (const GramMatrix& gram : grams) {
    if (gram.kernel.spec.type == KernelType::given) given.push_back(gram.kernel.spec.columns[0]);
  }
  if (given.empty()) return select_rows(X, rows);
  std::ranges::sort(given, {}, &ColumnRange::begin);
  given.erase(std::unique(given.begin(), given.end()), given.end());
  CsrMatrix support(X.num_columns());
  std::vector<std::pair<FeatureId, float>> entries;
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (const std::uint32_t i : rows) {
    entries.clear();
    for (const ColumnRange& range : given) entries.emplace_back(range.begin + i, 1.0F);
    const SparseRow row = X.row(i);
    for (std::size_t k = 0; k < row.size(); ++k) {
      const FeatureId column = row.columns[k];
      const bool is_given = std::ranges::any_of(given, [&](const ColumnRange& range) {
        return range.begin <= column && column < range.end;
      });
      if (!is_given) entries.emplace_back(column, row.values[k]);
    }
    std::sort(entries.begin(), entries.end());
    columns.clear();
    values.clear();
    for (const auto& [column, value] : entries) {
      columns.push_back(column);
      values.push_back(value);
    }
    support.append_row(columns, values);
  }
  return support;
}

}  // namespace

KernelClassifiers make_kernel_classifiers(std::span<const GramMatrix> grams,
                                          std::span<const std::vector<std::uint32_t>> paths,
                                          const MklFit& fit, const CsrView& X) {
  KernelClassifiers classifiers;
  std::vector<std::uint32_t> new_number(grams.size(), 0);
  std::vector<bool> used(grams.size(), false);
  for (std::size_t m = 0; m < paths.size(); ++m) {
    if (fit.path_weights[m] <= 0) continue;
    classifiers.weights.push_back(fit.path_weights[m]);
    classifiers.paths.push_back(paths[m]);
    for (const std::uint32_t k : paths[m]) used[k] = true;
  }
  for (std::size_t k = 0; k < grams.size(); ++k) {
    if (!used[k]) continue;
    new_number[k] = static_cast<std::uint32_t>(classifiers.kernels.size());
    classifiers.kernels.push_back(grams[k].kernel);
    auto& columns = classifiers.kernels.back().spec.columns;
    if (columns.empty() && X.num_columns() > 0) columns = {{0, X.num_columns()}};
  }
  for (const auto& each : fit.classifiers) classifiers.biases.push_back(each.bias);
  for (std::size_t m = 0; m < classifiers.paths.size(); ++m) {
    for (std::uint32_t& k : classifiers.paths[m]) {
      const auto& means = grams[k].row_means;
      // sum_i u_i (K_i. - mean_i) with sum u = 0: the function of the uncentred kernel, less a
      // constant.
      for (std::size_t c = 0; c < fit.classifiers.size() && !means.empty(); ++c) {
        double shift = 0;
        for (std::size_t i = 0; i < means.size(); ++i) {
          shift += fit.classifiers[c].u[i] * static_cast<double>(means[i]);
        }
        classifiers.biases[c] -= classifiers.weights[m] * shift;
      }
      k = new_number[k];
    }
  }
  std::vector<std::uint32_t> support_rows;
  for (std::uint32_t i = 0; i < X.num_rows(); ++i) {
    if (std::any_of(fit.classifiers.begin(), fit.classifiers.end(),
                    [i](const SvmSolution& each) { return each.u[i] != 0; })) {
      support_rows.push_back(i);
    }
  }
  classifiers.support = support_of(grams, X, support_rows);
  classifiers.support.set_num_columns(X.num_columns());
  for (const auto& each : fit.classifiers) {
    for (const std::uint32_t i : support_rows) classifiers.u.push_back(each.u[i]);
  }
  return classifiers;
}

std::vector<std::uint32_t> predicted_classes(std::span<const double> scores,
                                             std::size_t num_classifiers) {
  std::vector<std::uint32_t> classes;
  for (std::size_t begin = 0; begin < scores.size(); begin += num_classifiers) {
    const auto row = scores.subspan(begin, num_classifiers);
    classes.push_back(
        num_classifiers == 1
            ? (row[0] > 0 ? 1U : 0U)
            : static_cast<std::uint32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return classes;
}

}  // namespace margrove
