#pragma once
// Random rows and labels for the tests of kernel/.

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "kernel/gram.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove::testing_kernel {

/// Dense-ish rows in classes that overlap; non-negative if asked for.
struct Rows {
  CsrMatrix X;
  std::vector<std::uint32_t> class_of;
};

inline Rows random_rows(std::size_t num_rows, std::uint32_t num_columns, std::uint32_t num_classes,
                        std::uint64_t seed, bool non_negative = false, double zeros = 0.1) {
  Random random(seed);
  Rows rows{CsrMatrix(num_columns), {}};
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto label = static_cast<std::uint32_t>(i % num_classes);
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < num_columns; ++j) {
      double value = random.normal() + (j % num_classes == label ? 1.0 : 0.0);
      if (non_negative) value = std::abs(value);
      if (random.uniform() < zeros) continue;
      columns.push_back(j);
      values.push_back(static_cast<float>(value));
    }
    rows.X.append_row(columns, values);
    rows.class_of.push_back(label);
  }
  return rows;
}

inline std::vector<std::int8_t> signs(const std::vector<std::uint32_t>& class_of,
                                      std::uint32_t positive = 1) {
  std::vector<std::int8_t> y;
  for (const auto each : class_of) y.push_back(each == positive ? 1 : -1);
  return y;
}

inline std::vector<float> full_matrix(const SymmetricMatrix& K) {
  std::vector<float> full(K.size() * K.size());
  for (std::size_t i = 0; i < K.size(); ++i) {
    for (std::size_t j = 0; j < K.size(); ++j) full[i * K.size() + j] = K.at(i, j);
  }
  return full;
}

inline KernelSpec gaussian(double width, const std::string& name = "") {
  KernelSpec spec;
  spec.name = name.empty() ? "gaussian" + std::to_string(width) : name;
  spec.width = width;
  return spec;
}

inline KernelSpec polynomial(int degree, std::vector<ColumnRange> columns = {}) {
  KernelSpec spec;
  spec.type = KernelType::polynomial;
  spec.degree = degree;
  spec.columns = std::move(columns);
  spec.name = "polynomial" + std::to_string(degree) + "/" +
              (spec.columns.empty() ? "all" : std::to_string(spec.columns[0].begin));
  return spec;
}

inline std::vector<const SymmetricMatrix*> matrices(const std::vector<GramMatrix>& grams) {
  std::vector<const SymmetricMatrix*> result;
  for (const auto& gram : grams) result.push_back(&gram.K);
  return result;
}

}  // namespace margrove::testing_kernel
