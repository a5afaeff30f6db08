#include "kernel/kernel_function.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <utility>

#include "kernel/pairwise.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::array<std::pair<KernelType, std::string_view>, 9> kTypes{{
    {KernelType::linear, "linear"},
    {KernelType::polynomial, "polynomial"},
    {KernelType::gaussian, "gaussian"},
    {KernelType::laplacian, "laplacian"},
    {KernelType::chi2, "chi2"},
    {KernelType::exponential_chi2, "exponential-chi2"},
    {KernelType::intersection, "intersection"},
    {KernelType::cosine, "cosine"},
    {KernelType::precomputed, "precomputed"},
}};
constexpr std::array<std::pair<KernelScaling, std::string_view>, 3> kScalings{{
    {KernelScaling::none, "none"},
    {KernelScaling::trace, "trace"},
    {KernelScaling::diagonal, "diagonal"},
}};

template <class Table>
auto by_name(const Table& table, std::string_view what, std::string_view name) {
  std::string known;
  for (const auto& [value, text] : table) {
    if (text == name) return value;
    if (!known.empty()) known += ", ";
    known += text;
  }
  throw InvalidInput(concat(what, " is '", name, "', but must be one of ", known));
}

template <class Table, class Value>
std::string_view name_of(const Table& table, Value wanted) {
  for (const auto& [value, text] : table) {
    if (value == wanted) return text;
  }
  return "";
}

bool needs_non_negative(KernelType type) {
  return type == KernelType::chi2 || type == KernelType::exponential_chi2 ||
         type == KernelType::intersection;
}

/// Rows of one batch of A against all of B, for every kernel that shares their columns.
constexpr std::size_t kRowsPerTask = 16;

}  // namespace

std::string_view to_string(KernelType type) { return name_of(kTypes, type); }
KernelType kernel_type(std::string_view name) { return by_name(kTypes, "kernel: type", name); }
std::string_view to_string(KernelScaling scaling) { return name_of(kScalings, scaling); }
KernelScaling kernel_scaling(std::string_view name) {
  return by_name(kScalings, "kernel: scaling", name);
}

bool has_width(KernelType type) {
  return type == KernelType::gaussian || type == KernelType::laplacian ||
         type == KernelType::exponential_chi2;
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
  std::vector<bool> done(kernels.size(), false);
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (done[k]) continue;
    const auto& columns = kernels[k].spec.columns;
    const PairQuantity quantity = quantity_of(kernels[k].spec.type);
    const bool dense = ViewRows::worth_dense(B, columns);
    const ViewRows rows_a(A, columns, dense);
    const ViewRows rows_b(B, columns, dense);
    std::vector<std::size_t> alike;
    for (std::size_t l = k; l < kernels.size(); ++l) {
      if (kernels[l].spec.columns == columns && quantity_of(kernels[l].spec.type) == quantity) {
        alike.push_back(l);
        done[l] = true;
        result[l].resize(rows_a.size() * rows_b.size());
        if (needs_non_negative(kernels[l].spec.type)) {
          rows_a.require_non_negative(kernels[l].spec.name);
          rows_b.require_non_negative(kernels[l].spec.name);
        }
      }
    }
    std::vector<std::vector<float>> scratch(executor.size());
    executor.for_ranges(
        rows_a.size(), kRowsPerTask, [&](std::size_t begin, std::size_t end, int worker) {
          std::vector<double> quantities(rows_b.size());
          for (std::size_t i = begin; i < end; ++i) {
            pair_quantities(quantity, rows_a, i, rows_b, 0, quantities, scratch[worker]);
            for (const std::size_t l : alike) {
              const auto out = std::span(result[l]).subspan(i * rows_b.size(), rows_b.size());
              kernel_row(kernels[l], quantities, rows_a, i, rows_b, 0, out);
              if (kernels[l].spec.scaling == KernelScaling::diagonal) {
                const double own = kernel_diagonal(kernels[l], rows_a, i);
                for (std::size_t j = 0; j < out.size(); ++j) {
                  const double lengths = std::sqrt(own * kernel_diagonal(kernels[l], rows_b, j));
                  out[j] = lengths > 0 ? static_cast<float>(out[j] / lengths) : 0.0F;
                }
              } else {
                const auto factor = static_cast<float>(kernels[l].factor);
                for (float& value : out) value *= factor;
              }
            }
          }
        });
  }
  return result;
}

}  // namespace margrove
