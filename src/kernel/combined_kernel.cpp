#include "kernel/combined_kernel.hpp"

#include <algorithm>

#include "data/csr_operations.hpp"
#include "kernel/gram.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::size_t kBytesPerBlock = 64'000'000;  // of kernel values at once

}  // namespace

void CombinedKernel::require_values_of_any_rows() const {
  for (const FittedKernel& kernel : kernels) {
    const KernelSpec& spec = kernel.spec;
    require(!spec.centred && spec.type != KernelType::given, "kernel values: kernel ", spec.name,
            spec.centred ? " is centred" : " is given",
            ", so that its values are known with training rows only");
  }
}

void CombinedKernel::check_rows(const CsrView& X) const {
  for (const FittedKernel& kernel : kernels) {
    const KernelSpec& spec = kernel.spec;
    for (std::size_t i = 0; refuses_negative(spec.type) && i < X.num_rows(); ++i) {
      const SparseRow x = X.row(i);
      for (std::size_t k = 0; k < x.size(); ++k) {
        const auto reads = [&](const ColumnRange& range) {
          return range.begin <= x.columns[k] && x.columns[k] < range.end;
        };
        require(x.values[k] >= 0 || std::ranges::none_of(spec.columns, reads), "kernel ", spec.name,
                ": row ", i, " has the value ", x.values[k], ", but must be >= 0");
      }
    }
  }
}

std::size_t CombinedKernel::rows_per_block(std::size_t num_others) const {
  const std::size_t bytes_per_row = kernels.size() * num_others * sizeof(float);
  return std::max<std::size_t>(1, kBytesPerBlock / std::max<std::size_t>(1, bytes_per_row));
}

void CombinedKernel::for_rows(const CsrView& X, const CsrMatrix& others, Executor& executor,
                              const UseRow& use) const {
  const std::size_t num_others = others.num_rows();
  if (num_others == 0 || paths.empty()) return;
  check_rows(X);
  const CsrView known{others.num_columns(), X.row_pointers(), X.columns(), X.values()};
  const std::size_t block = rows_per_block(num_others);
  for (std::size_t begin = 0; begin < X.num_rows(); begin += block) {
    const std::size_t end = std::min(X.num_rows(), begin + block);
    const auto values = cross_kernels(kernels, row_range(known, begin, end), others, executor);
    executor.for_each(end - begin, [&](std::size_t r, int) {
      std::vector<double> combined(num_others, 0.0);
      for (std::size_t m = 0; m < paths.size(); ++m) {
        for (std::size_t i = 0; i < num_others; ++i) {
          double product = weights[m];
          for (const std::uint32_t k : paths[m]) {
            product *= static_cast<double>(values[k][r * num_others + i]);
          }
          combined[i] += product;
        }
      }
      use(begin + r, combined);
    });
  }
}

std::vector<float> CombinedKernel::values(const CsrView& X, const CsrMatrix& others,
                                          Executor& executor) const {
  require_values_of_any_rows();
  std::vector<float> result(X.num_rows() * others.num_rows());
  for_rows(X, others, executor, [&](std::size_t row, std::span<const double> combined) {
    std::ranges::transform(combined,
                           result.begin() + static_cast<std::ptrdiff_t>(row * others.num_rows()),
                           [](double value) { return static_cast<float>(value); });
  });
  return result;
}

MemoryEstimate CombinedKernel::values_memory(const CsrView& X, const CsrMatrix& others,
                                             int num_threads) const {
  const auto nonzeros = static_cast<double>(X.num_nonzeros() + others.num_nonzeros());
  return values_memory(X.num_rows(), others.num_rows(), nonzeros, X, num_threads);
}

MemoryEstimate CombinedKernel::values_memory(std::size_t num_rows, std::size_t num_others,
                                             double nonzeros, const CsrView& X,
                                             int num_threads) const {
  const auto others = static_cast<double>(num_others);
  const double values = sizeof(float) * others;  // of a row by one kernel
  const std::size_t block = std::min(num_rows, rows_per_block(num_others));
  MemoryEstimate memory;
  memory.add("kernel values", values * static_cast<double>(num_rows));
  memory.add("kernels of a block", values * static_cast<double>(block * kernels.size()));
  memory.add("sums of a row", 2 * sizeof(double) * others * num_threads);
  // Of the columns of one kernel; as arrays they take at most 16 bytes for each nonzero.
  memory.add("rows by view", 16 * nonzeros + 16 * (others + static_cast<double>(block)));
  memory.add("rows as arrays", pair_scratch_memory(X, num_threads));
  return memory;
}

}  // namespace margrove
