#include "kernel/path_kernels.hpp"

#include <algorithm>

#include "base/simd.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::size_t kTilesPerTask = 8;

// sum += weight K
MARGROVE_MULTIVERSION
void add_tile(double* sum, const float* K, double weight, std::size_t n) {
#pragma omp simd
  for (std::size_t t = 0; t < n; ++t) sum[t] += weight * static_cast<double>(K[t]);
}

// product *= K
MARGROVE_MULTIVERSION
void multiply_tile(float* product, const float* K, std::size_t n) {
#pragma omp simd
  for (std::size_t t = 0; t < n; ++t) product[t] *= K[t];
}

// sum over the given rows of M_rc K_rc
MARGROVE_MULTIVERSION
double inner_product(const double* M, const float* K, const std::size_t* rows, std::size_t num_rows,
                     std::size_t num_columns) {
  double sum = 0;
  for (std::size_t a = 0; a < num_rows; ++a) {
    const double* M_row = M + rows[a] * num_columns;
    const float* K_row = K + rows[a] * num_columns;
#pragma omp simd reduction(+ : sum)
    for (std::size_t c = 0; c < num_columns; ++c) sum += M_row[c] * static_cast<double>(K_row[c]);
  }
  return sum;
}

}  // namespace

PathKernels::PathKernels(std::span<const SymmetricMatrix* const> kernels,
                         std::vector<std::vector<std::uint32_t>> paths)
    : kernels_(kernels.begin(), kernels.end()), paths_(std::move(paths)) {
  require(!kernels_.empty(), "path kernels: there are no kernels, but must be at least one");
  num_rows_ = kernels_[0]->size();
  for (std::size_t k = 0; k < kernels_.size(); ++k) {
    require(kernels_[k]->size() == num_rows_, "path kernels: kernel ", k, " has ",
            kernels_[k]->size(), " rows, but must have ", num_rows_);
  }
  for (std::size_t m = 0; m < paths_.size(); ++m) {
    require(!paths_[m].empty(), "path kernels: path ", m, " holds no kernel, but must");
    for (const std::uint32_t k : paths_[m]) {
      require(k < kernels_.size(), "path kernels: path ", m, " holds kernel ", k,
              ", but must stay below ", kernels_.size());
    }
  }
}

const float* PathKernels::tile_of(std::size_t path, std::size_t tile,
                                  std::vector<float>& scratch) const {
  const auto& kernels = paths_[path];
  const auto first = kernels_[kernels[0]]->values(tile);
  if (kernels.size() == 1) return first.data();
  scratch.assign(first.begin(), first.end());
  for (std::size_t k = 1; k < kernels.size(); ++k) {
    multiply_tile(scratch.data(), kernels_[kernels[k]]->values(tile).data(), scratch.size());
  }
  return scratch.data();
}

void PathKernels::combine(std::span<const double> weights, Executor& executor,
                          std::span<float> K) const {
  const std::size_t n = num_rows_;
  require(K.size() == n * n && weights.size() == paths_.size(), "path kernels: combine is given ",
          weights.size(), " weights and ", K.size(), " entries, but must get ", paths_.size(),
          " and ", n * n);
  executor.for_each(SymmetricMatrix::num_tiles(n), [&](std::size_t t, int) {
    const auto tile = SymmetricMatrix::tile_at(n, t);
    std::vector<double> sum(tile.num_rows * tile.num_columns, 0.0);
    std::vector<float> scratch;
    for (std::size_t m = 0; m < paths_.size(); ++m) {
      if (weights[m] != 0) add_tile(sum.data(), tile_of(m, t, scratch), weights[m], sum.size());
    }
    for (std::size_t r = 0; r < tile.num_rows; ++r) {
      for (std::size_t c = 0; c < tile.num_columns; ++c) {
        const auto value = static_cast<float>(sum[r * tile.num_columns + c]);
        K[(tile.row + r) * n + tile.column + c] = value;
        K[(tile.column + c) * n + tile.row + r] = value;
      }
    }
  });
}

void PathKernels::quadratic_forms(std::span<const std::span<const double>> u,
                                  const std::vector<bool>& wanted, Executor& executor,
                                  std::span<double> forms) const {
  const std::size_t num_tiles = SymmetricMatrix::num_tiles(num_rows_);
  const std::size_t num_tasks = (num_tiles + kTilesPerTask - 1) / kTilesPerTask;
  std::vector<std::vector<double>> partial(num_tasks);
  executor.for_ranges(num_tiles, kTilesPerTask, [&](std::size_t begin, std::size_t end, int) {
    auto& sums = partial[begin / kTilesPerTask];
    sums.assign(paths_.size(), 0.0);
    std::vector<double> M;  // sum_c u_c u_c' on this tile, twice off the diagonal
    std::vector<std::size_t> rows;
    std::vector<float> scratch;
    for (std::size_t t = begin; t < end; ++t) {
      const auto tile = SymmetricMatrix::tile_at(num_rows_, t);
      const double times = tile.on_diagonal() ? 1.0 : 2.0;
      M.assign(tile.num_rows * tile.num_columns, 0.0);
      rows.clear();
      for (std::size_t r = 0; r < tile.num_rows; ++r) {
        bool used = false;
        for (const auto& u_c : u) {
          const double factor = times * u_c[tile.row + r];
          if (factor == 0) continue;
          used = true;
          for (std::size_t c = 0; c < tile.num_columns; ++c) {
            M[r * tile.num_columns + c] += factor * u_c[tile.column + c];
          }
        }
        if (used) rows.push_back(r);
      }
      if (rows.empty()) continue;
      for (std::size_t m = 0; m < paths_.size(); ++m) {
        if (!wanted[m]) continue;
        sums[m] += inner_product(M.data(), tile_of(m, t, scratch), rows.data(), rows.size(),
                                 tile.num_columns);
      }
    }
  });
  for (std::size_t m = 0; m < paths_.size(); ++m) {
    if (!wanted[m]) continue;
    double sum = 0;
    for (const auto& sums : partial) sum += sums[m];
    forms[m] = std::max(0.0, sum);  // rounding may leave a tiny negative value
  }
}

}  // namespace margrove
