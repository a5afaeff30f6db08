#include "kernel/kernel_function.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "kernel/pairwise.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::size_t kRowsPerTask = 16;

template <NamedEnum E>
E by_name(std::string_view what, std::string_view name) {
  std::string known;
  for (const auto& each : kEnumNames<E>) {
    if (each.name == name) return each.value;
    known += concat(known.empty() ? "" : ", ", each.name);
  }
  throw InvalidInput(concat(what, " is '", name, "', but must be one of ", known));
}

/// K(a_i, b_j) of row i of A with all rows of B, scaled.
void scaled_row(const FittedKernel& kernel, std::span<const double> quantities, const ViewRows& A,
                std::size_t i, const ViewRows& B, std::span<float> out) {
  kernel_row(kernel, quantities, A, i, B, 0, out);
  if (kernel.spec.scaling == KernelScaling::diagonal) {
    const double own = kernel_diagonal(kernel, A, i);
    for (std::size_t j = 0; j < out.size(); ++j) {
      const double lengths = std::sqrt(own * kernel_diagonal(kernel, B, j));
      out[j] = lengths > 0 ? static_cast<float>(out[j] / lengths) : 0.0F;
    }
  } else {
    const auto factor = static_cast<float>(kernel.factor);
    for (float& value : out) value *= factor;
  }
}

}  // namespace

KernelType kernel_type(std::string_view name) { return by_name<KernelType>("kernel: type", name); }
KernelScaling kernel_scaling(std::string_view name) {
  return by_name<KernelScaling>("kernel: scaling", name);
}

bool has_width(KernelType type) {
  return type == KernelType::gaussian || type == KernelType::laplacian ||
         type == KernelType::exponential || type == KernelType::exponential_chi2;
}

bool refuses_negative(KernelType type) {
  return type == KernelType::chi2 || type == KernelType::exponential_chi2 ||
         type == KernelType::intersection;
}

std::string format_columns(std::span<const ColumnRange> ranges) {
  std::string text;
  for (const auto& range : ranges) {
    if (!text.empty()) text += ',';
    text +=
        range.end == range.begin + 1 ? concat(range.end) : concat(range.begin + 1, '-', range.end);
  }
  return text;
}

void check_kernel(const KernelSpec& spec, std::uint32_t num_columns) {
  const auto where = concat("kernel ", spec.name, ": ");
  if (has_width(spec.type)) {
    require(spec.width > 0 && std::isfinite(spec.width), where, "width is ", spec.width,
            ", but must be > 0");
  }
  if (spec.type == KernelType::polynomial) {
    require(spec.degree >= 1 && spec.degree <= 64, where, "degree is ", spec.degree,
            ", but must be from 1 to 64");
    require(spec.slope > 0 && std::isfinite(spec.slope), where, "slope is ", spec.slope,
            ", but must be > 0");
    require(spec.offset >= 0 && std::isfinite(spec.offset), where, "offset is ", spec.offset,
            ", but must be >= 0");
  }
  require(!(spec.centred && spec.scaling == KernelScaling::diagonal), where,
          "is centred and scaled to unit diagonal, but must be only one of them: the diagonal of a "
          "centred kernel at test time needs all training rows");
  FeatureId last = 0;
  for (const auto& range : spec.columns) {
    require(range.begin < range.end && range.end <= num_columns, where, "columns are ",
            range.begin + 1, "-", range.end, ", but must lie within 1-", num_columns);
    require(range.begin >= last, where, "columns ", range.begin + 1, "-", range.end,
            " overlap or come before others, but must ascend");
    last = range.end;
  }
  if (spec.type == KernelType::given) {
    require(spec.columns.size() == 1, where,
            "is given, so its columns must be one range, with a column for each training row");
    require(spec.scaling != KernelScaling::diagonal, where,
            "is given, so that K(x, x) is unknown of other rows, and must not be scaled to unit "
            "diagonal");
  }
  if (spec.type == KernelType::precomputed) {
    require(!spec.file.empty(), where, "is precomputed, but no file is given");
    require(spec.columns.size() == 1 && spec.columns[0].end == spec.columns[0].begin + 1, where,
            "is precomputed, so its columns must be the one that holds each row's number");
  }
}

KernelTable read_kernel_table(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), "kernel file ", path, ": cannot be read");
  KernelTable table;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const char* at = line.data();
    const char* const end = at + line.size();
    std::size_t count = 0;
    for (;;) {
      while (at != end && (*at == ' ' || *at == '\t' || *at == ',' || *at == '\r')) ++at;
      if (at == end) break;
      float value = 0;
      const auto [next, error] = std::from_chars(at, end, value);
      require(error == std::errc() && std::isfinite(value), path, ":", number, ": entry ",
              count + 1, " is not a finite number");
      table.values.push_back(value);
      at = next;
      ++count;
    }
    if (count == 0) continue;
    if (table.num_rows == 0) table.num_columns = count;
    require(count == table.num_columns, path, ":", number, ": has ", count,
            " numbers, but must have ", table.num_columns, " like the first row");
    ++table.num_rows;
  }
  require(table.num_rows > 0, "kernel file ", path, ": is empty");
  return table;
}

std::vector<std::vector<float>> cross_kernels(std::span<const FittedKernel> kernels,
                                              const CsrView& A, const CsrView& B,
                                              Executor& executor) {
  require(A.num_columns() == B.num_columns(), "kernels: the rows have ", A.num_columns(),
          " columns, but must have ", B.num_columns(), " like the support vectors");
  std::vector<std::vector<float>> result(kernels.size());
  std::vector<const KernelSpec*> specs;
  for (const auto& kernel : kernels) specs.push_back(&kernel.spec);
  for (const auto& family : kernel_families(specs)) {
    const KernelSpec& first = *specs[family.front()];
    const bool dense = ViewRows::worth_dense(B, first.columns);
    const ViewRows rows_a(A, first.columns, dense);
    const ViewRows rows_b(B, first.columns, dense);
    for (const std::size_t k : family) {
      rows_a.check(*specs[k]);
      rows_b.check(*specs[k]);
      result[k].resize(rows_a.size() * rows_b.size());
    }
    std::vector<std::vector<float>> scratch(executor.size());
    executor.for_ranges(
        rows_a.size(), kRowsPerTask, [&](std::size_t begin, std::size_t end, int worker) {
          std::vector<double> quantities(rows_b.size());
          for (std::size_t i = begin; i < end; ++i) {
            pair_quantities(quantity_of(first.type), rows_a, i, rows_b, 0, quantities,
                            scratch[worker]);
            for (const std::size_t k : family) {
              scaled_row(kernels[k], quantities, rows_a, i, rows_b,
                         std::span(result[k]).subspan(i * rows_b.size(), rows_b.size()));
            }
          }
        });
  }
  return result;
}

}  // namespace margrove
