#include "kernel/gram.hpp"

#include "base/out_of_time.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernel/pairwise.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::size_t kRowsForMedian = 1000;

/// The distance whose median is a kernel's unit of width.
double distance(KernelType type, double quantity, const ViewRows& rows, std::size_t i,
                std::size_t j) {
  if (quantity_of(type) != PairQuantity::dot) return quantity;
  return std::sqrt(squared_distance(quantity, rows, i, rows, j));
}

/// Median over the pairs of at most kRowsForMedian evenly spaced rows; 1 if it is 0, so that
/// constant columns give a kernel instead of an error.
double median_distance(KernelType type, const ViewRows& rows, RunControl* control) {
  const std::size_t count = std::min(rows.size(), kRowsForMedian);
  std::vector<double> distances;
  distances.reserve(count * count / 2);
  std::vector<float> scratch;
  double quantity = 0;
  for (std::size_t a = 0; a < count; ++a) {
    end_if_out_of_time(control);
    for (std::size_t b = 0; b < a; ++b) {
      const std::size_t i = a * rows.size() / count;
      const std::size_t j = b * rows.size() / count;
      pair_quantities(quantity_of(type), rows, i, rows, j, std::span(&quantity, 1), scratch);
      distances.push_back(distance(type, quantity, rows, i, j));
    }
  }
  if (distances.empty()) return 1.0;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle > 0 ? *middle : 1.0;
}

/// Entry j of row i.
double value_at(const ViewRows& rows, std::size_t i, std::size_t j) {
  if (rows.is_dense()) return static_cast<double>(rows.dense_row(i)[j]);
  const SparseRow row = rows.sparse_row(i);
  const auto at = std::lower_bound(row.columns.begin(), row.columns.end(), j);
  if (at == row.columns.end() || *at != j) return 0;
  return static_cast<double>(row.values[static_cast<std::size_t>(at - row.columns.begin())]);
}

/// Throws unless the rows are a symmetric matrix, but for rounding.
void check_given(const KernelSpec& spec, const ViewRows& rows) {
  constexpr double kRounding = 1e-4;
  require(rows.num_columns() == rows.size(), "kernel ", spec.name, ": has ", rows.num_columns(),
          " columns, but must have ", rows.size(), ", one for each training row");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double a = value_at(rows, i, j), b = value_at(rows, j, i);
      require(std::abs(a - b) <= kRounding * (std::abs(a) + std::abs(b)) + kRounding * kRounding,
              "kernel ", spec.name, ": row ", j, " has the value ", b, " with row ", i,
              ", which has ", a, " with it, but both must be equal");
    }
  }
}

/// Throws if a column of a given kernel is one of another kernel of another type.
void check_columns_of_given(std::span<const KernelSpec> kernels, std::uint32_t num_columns) {
  for (const KernelSpec& given : kernels) {
    if (given.type != KernelType::given) continue;
    const ColumnRange own = given.columns.front();
    for (const KernelSpec& other : kernels) {
      if (other.type == KernelType::given) continue;
      const auto overlaps = [&](const ColumnRange& range) {
        return range.begin < own.end && own.begin < range.end;
      };
      require(!other.columns.empty() && std::ranges::none_of(other.columns, overlaps), "kernel ",
              other.name, ": has columns of the given kernel ", given.name,
              ", which are kernel values, but must have columns of its own, of the ", num_columns);
    }
  }
}

/// The matrices of a family of kernels over `rows`.
void fill_tiles(std::span<const std::size_t> family, const ViewRows& rows,
                std::vector<GramMatrix>& grams, Executor& executor, RunControl& control) {
  const PairQuantity quantity = quantity_of(grams[family.front()].kernel.spec.type);
  std::vector<std::vector<float>> scratch(executor.size());
  executor.for_each(SymmetricMatrix::num_tiles(rows.size()), [&](std::size_t t, int worker) {
    if (!control.proceed()) return;
    const auto tile = SymmetricMatrix::tile_at(rows.size(), t);
    std::vector<double> quantities(tile.num_columns);
    for (std::size_t r = 0; r < tile.num_rows; ++r) {
      pair_quantities(quantity, rows, tile.row + r, rows, tile.column, quantities, scratch[worker]);
      for (const std::size_t k : family) {
        const auto out = grams[k].K.values(t).subspan(r * tile.num_columns, tile.num_columns);
        if (grams[k].kernel.spec.type == KernelType::given) {
          for (std::size_t c = 0; c < out.size(); ++c) {
            out[c] = static_cast<float>(value_at(rows, tile.row + r, tile.column + c));
          }
        } else {
          kernel_row(grams[k].kernel, quantities, rows, tile.row + r, rows, tile.column, out);
        }
      }
    }
  });
}

/// visit(i, j, value) for the entries that are stored.
template <class Visit>
void for_entries(SymmetricMatrix& K, const Visit& visit) {
  for (std::size_t t = 0; t < K.num_tiles(); ++t) {
    const auto tile = K.tile(t);
    const auto values = K.values(t);
    for (std::size_t r = 0; r < tile.num_rows; ++r) {
      for (std::size_t c = 0; c < tile.num_columns; ++c) {
        visit(tile.row + r, tile.column + c, values[r * tile.num_columns + c]);
      }
    }
  }
}

/// K_ij becomes change(i, j, K_ij).
template <class Change>
void change_entries(SymmetricMatrix& K, const Change& change) {
  for_entries(K, [&](std::size_t i, std::size_t j, float& value) {
    value = static_cast<float>(change(i, j, static_cast<double>(value)));
  });
}

double mean_diagonal(const SymmetricMatrix& K) {
  double sum = 0;
  for (std::size_t i = 0; i < K.size(); ++i) sum += static_cast<double>(K.at(i, i));
  return sum / static_cast<double>(K.size());
}

/// K_ij - mean_i - mean_j + mean: inner products of features minus their mean.
std::vector<double> centre(SymmetricMatrix& K) {
  const auto n = static_cast<double>(K.size());
  std::vector<double> means(K.size(), 0.0);
  for_entries(K, [&](std::size_t i, std::size_t j, float value) {
    means[i] += static_cast<double>(value) / n;
    const bool on_diagonal = i / SymmetricMatrix::kTile == j / SymmetricMatrix::kTile;
    if (!on_diagonal) means[j] += static_cast<double>(value) / n;
  });
  double mean = 0;
  for (const double each : means) mean += each / n;
  change_entries(K, [&](std::size_t i, std::size_t j, double value) {
    return value - means[i] - means[j] + mean;
  });
  return means;
}

void scale_diagonal(SymmetricMatrix& K) {
  std::vector<double> inverse_lengths(K.size());
  for (std::size_t i = 0; i < K.size(); ++i) {
    const double own = K.at(i, i);
    inverse_lengths[i] = own > 0 ? 1 / std::sqrt(own) : 0.0;
  }
  change_entries(K, [&](std::size_t i, std::size_t j, double value) {
    return value * inverse_lengths[i] * inverse_lengths[j];
  });
}

void centre_and_scale(GramMatrix& gram) {
  const KernelSpec& spec = gram.kernel.spec;
  std::vector<double> means;
  if (spec.centred) means = centre(gram.K);
  if (spec.scaling == KernelScaling::diagonal) scale_diagonal(gram.K);
  if (spec.scaling == KernelScaling::trace) {
    const double mean = mean_diagonal(gram.K);
    require(mean > 0, "kernel ", spec.name, ": its trace over the training rows is ", mean,
            ", but must be > 0 to be scaled by it; are its columns constant?");
    gram.kernel.factor = 1 / mean;
    change_entries(gram.K, [&](std::size_t, std::size_t, double value) { return value / mean; });
  }
  for (const double mean : means) {
    gram.row_means.push_back(static_cast<float>(mean * gram.kernel.factor));
  }
}

}  // namespace

SymmetricMatrix::SymmetricMatrix(std::size_t size)
    : size_(size), values_(num_bytes(size) / sizeof(float)) {}

std::size_t SymmetricMatrix::num_tiles(std::size_t size) {
  const std::size_t blocks = (size + kTile - 1) / kTile;
  return blocks * (blocks + 1) / 2;
}

SymmetricMatrix::Tile SymmetricMatrix::tile_at(std::size_t size, std::size_t tile) {
  // tile = I (I + 1) / 2 + J with J <= I
  auto block_row =
      static_cast<std::size_t>((std::sqrt(8.0 * static_cast<double>(tile) + 1.0) - 1.0) / 2.0);
  while (block_row * (block_row + 1) / 2 > tile) --block_row;
  while ((block_row + 1) * (block_row + 2) / 2 <= tile) ++block_row;
  const std::size_t block_column = tile - block_row * (block_row + 1) / 2;
  const std::size_t row = block_row * kTile;
  const std::size_t column = block_column * kTile;
  return {row, std::min(kTile, size - row), column, std::min(kTile, size - column)};
}

std::size_t SymmetricMatrix::num_bytes(std::size_t size) {
  const std::size_t blocks = size / kTile;
  const std::size_t rest = size % kTile;
  return (blocks * (blocks + 1) / 2 * kTile * kTile + rest * (blocks * kTile + rest)) *
         sizeof(float);
}

std::size_t SymmetricMatrix::offset(const Tile& tile) const {
  const std::size_t block_row = tile.row / kTile;
  return block_row * (block_row + 1) / 2 * kTile * kTile + tile.column * tile.num_rows;
}

std::span<float> SymmetricMatrix::values(std::size_t t) {
  const Tile tile_t = tile(t);
  return std::span(values_).subspan(offset(tile_t), tile_t.num_rows * tile_t.num_columns);
}
std::span<const float> SymmetricMatrix::values(std::size_t t) const {
  const Tile tile_t = tile(t);
  return std::span(values_).subspan(offset(tile_t), tile_t.num_rows * tile_t.num_columns);
}

float SymmetricMatrix::at(std::size_t i, std::size_t j) const {
  if (i < j) std::swap(i, j);
  const std::size_t block_row = i / kTile;
  const std::size_t block_column = j / kTile;
  const std::size_t t = block_row * (block_row + 1) / 2 + block_column;
  const Tile tile_t = tile(t);
  return values(t)[(i - tile_t.row) * tile_t.num_columns + (j - tile_t.column)];
}

double median_distance(KernelType type, const CsrView& X, RunControl* control) {
  const std::size_t count = std::min(X.num_rows(), kRowsForMedian);
  std::vector<std::uint32_t> chosen(count);
  for (std::size_t a = 0; a < count; ++a) {
    chosen[a] = static_cast<std::uint32_t>(a * X.num_rows() / count);
  }
  CsrMatrix rows = select_rows(X, chosen);
  rows.set_num_columns(X.num_columns());
  return median_distance(type, ViewRows(rows, {}, ViewRows::worth_dense(X, {})), control);
}

double pair_scratch_memory(const CsrView& X, int num_threads) {
  return static_cast<double>(pair_scratch_bytes(X.num_columns())) * num_threads;
}

MemoryEstimate kernel_training_memory(const CsrView& X, std::size_t num_kernels,
                                      std::size_t num_classifiers, int num_threads) {
  const std::size_t num_rows = X.num_rows();
  const double full = 4.0 * static_cast<double>(num_rows) * static_cast<double>(num_rows);
  const std::size_t at_once = std::min(num_classifiers, static_cast<std::size_t>(num_threads));
  MemoryEstimate memory;
  memory.add("Gram matrices",
             static_cast<double>(num_kernels * SymmetricMatrix::num_bytes(num_rows)));
  memory.add("combined kernel", full);
  // A shrunk classifier copies at most 0.7 x 0.7 of the matrix, and there are two copies while it
  // shrinks further: 0.49 + 0.24. Vectors take about 16 doubles per row and classifier.
  memory.add("shrunk classifiers", 0.75 * full * static_cast<double>(at_once));
  memory.add("vectors of the classifiers", 128.0 * static_cast<double>(num_classifiers * num_rows));
  memory.add("rows by view, rows of the model", 16.0 * static_cast<double>(X.num_nonzeros()));
  memory.add("rows as arrays", pair_scratch_memory(X, num_threads));
  return memory;
}

std::vector<GramMatrix> gram_matrices(std::span<const KernelSpec> kernels, const CsrView& X,
                                      Executor& executor, RunControl& control) {
  require(X.num_rows() > 0, "kernels: the number of rows is 0, but must be > 0");
  std::vector<GramMatrix> grams(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    end_if_out_of_time(&control);
    check_kernel(kernels[k], X.num_columns());
    grams[k].kernel.spec = kernels[k];
    grams[k].K = SymmetricMatrix(X.num_rows());
    if (kernels[k].type == KernelType::precomputed) {
      auto table = std::make_shared<KernelTable>(read_kernel_table(kernels[k].file));
      require(table->num_rows == table->num_columns, "kernel ", kernels[k].name, ": ",
              kernels[k].file, " is ", table->num_rows, " x ", table->num_columns,
              ", but must be square");
      grams[k].kernel.table = std::move(table);
    }
  }
  check_columns_of_given(kernels, X.num_columns());
  std::vector<const KernelSpec*> specs;
  for (const auto& spec : kernels) specs.push_back(&spec);
  for (const auto& family : kernel_families(specs)) {
    const auto& columns = specs[family.front()]->columns;
    const ViewRows rows(X, columns, ViewRows::worth_dense(X, columns));
    std::map<KernelType, double> medians;
    for (const std::size_t k : family) {
      KernelSpec& spec = grams[k].kernel.spec;
      rows.check(spec);
      if (spec.type == KernelType::given) check_given(spec, rows);
      if (!has_width(spec.type) || !spec.width_in_medians) continue;
      if (!medians.contains(spec.type)) {
        medians[spec.type] = median_distance(spec.type, rows, nullptr);
      }
      spec.width *= medians[spec.type];
      spec.width_in_medians = false;
    }
    fill_tiles(family, rows, grams, executor, control);
  }
  executor.for_each(grams.size(), [&](std::size_t k, int) {
    end_if_out_of_time(&control);
    centre_and_scale(grams[k]);
  });
  return grams;
}

}  // namespace margrove
