#include "numerics/sparse_cholesky.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/simd.hpp"

namespace margrove::detail {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// out = sum_p multiplier[p * stride] * columns[p * stride ...], over `width` columns.
MARGROVE_MULTIVERSION
void combine(const double* columns, const double* multiplier, std::size_t stride, std::size_t width,
             std::size_t size, double* out) {
  std::fill_n(out, size, 0.0);
  std::size_t p = 0;
  for (; p + 4 <= width; p += 4) {
    const double* const c = columns + p * stride;
    const double* const m = multiplier + p * stride;
    const double m0 = m[0], m1 = m[stride], m2 = m[2 * stride], m3 = m[3 * stride];
#pragma omp simd
    for (std::size_t r = 0; r < size; ++r) {
      out[r] += m0 * c[r] + m1 * c[r + stride] + m2 * c[r + 2 * stride] + m3 * c[r + 3 * stride];
    }
  }
  for (; p < width; ++p) {
    const double* const c = columns + p * stride;
    const double m = multiplier[p * stride];
#pragma omp simd
    for (std::size_t r = 0; r < size; ++r) out[r] += m * c[r];
  }
}

}  // namespace

std::vector<std::uint32_t> minimum_degree_positions(const SymmetricPattern& pattern) {
  std::vector<std::uint32_t> positions(pattern.size());
  if (positions.empty()) return positions;
  using Sparse = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  const std::vector<int> starts(pattern.pointers.begin(), pattern.pointers.end());
  const std::vector<int> rows(pattern.items.begin(), pattern.items.end());
  const std::vector<double> values(rows.size(), 1.0);
  const auto size = static_cast<int>(pattern.size());
  const Sparse upper = Eigen::Map<const Sparse>(size, size, starts.back(), starts.data(),
                                                rows.data(), values.data());
  Sparse symmetric;
  symmetric = upper.selfadjointView<Eigen::Upper>();
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;  // place -> row
  Eigen::AMDOrdering<int>()(symmetric, order);
  for (std::uint32_t k = 0; k < positions.size(); ++k) {
    positions[static_cast<std::size_t>(order.indices()[static_cast<int>(k)])] = k;
  }
  return positions;
}

// Entries of each column of L, by the row subtrees of the elimination tree; none if too many.
std::vector<std::size_t> SparseCholesky::count_columns(const SymmetricPattern& pattern,
                                                       std::vector<std::uint32_t>& parent,
                                                       std::size_t most_entries) const {
  parent.assign(size_, kNone);
  std::vector<std::uint32_t> stamp(size_, kNone);
  std::vector<std::size_t> counts(size_, 1);
  std::size_t total = size_;
  for (std::uint32_t k = 0; k < size_; ++k) {
    stamp[k] = k;
    for (const std::uint32_t row : pattern[k]) {
      for (std::uint32_t i = row; stamp[i] != k; i = parent[i]) {
        if (parent[i] == kNone) parent[i] = k;
        ++counts[i];
        ++total;
        stamp[i] = k;
      }
    }
    if (total > most_entries) return {};
  }
  return counts;
}

bool SparseCholesky::analyze(const SymmetricPattern& pattern, std::size_t most_entries,
                             Blocks blocks) {
  size_ = pattern.size();
  std::vector<std::uint32_t> parent;
  const auto counts = count_columns(pattern, parent, most_entries);
  if (counts.size() < size_) return false;
  entry_row_.resize(pattern.items.size());
  entry_.resize(pattern.items.size());
  const auto entries = [&](const auto& visit) {
    for (std::uint32_t k = 0; k < size_; ++k) {
      for (std::size_t e = pattern.pointers[k]; e < pattern.pointers[k + 1]; ++e) {
        visit(pattern.items[e], k, e);
      }
    }
  };
  group_by_key(size_, entries, starts_, [&](std::size_t to, std::uint32_t row, std::size_t entry) {
    entry_row_[to] = row;
    entry_[to] = entry;
  });
  find_blocks(counts, parent, blocks);
  list_rows();
  place_.assign(size_, 0);
  work_.assign(size_, 0.0);
  return true;
}

// Merges neighbouring columns, each the parent of the one before, to a block if it holds few zeros.
void SparseCholesky::find_blocks(std::span<const std::size_t> counts,
                                 std::span<const std::uint32_t> parent, Blocks blocks) {
  const double zeros = blocks == Blocks::exact ? 0.0 : 0.15;  // at most this share,
  const std::size_t few = blocks == Blocks::exact ? 0 : 64;   // or this many
  blocks_.clear();
  std::vector<std::size_t> entries;  // of L in each block
  for (std::uint32_t k = 0; k < size_; ++k) {
    blocks_.push_back({k, k + 1, 0, counts[k], 0});
    entries.push_back(counts[k]);
    while (blocks_.size() > 1) {
      const Block& last = blocks_.back();
      Block& before = blocks_[blocks_.size() - 2];
      if (parent[before.end - 1] != last.begin) break;
      const std::size_t width = before.width() + last.width();
      const std::size_t num_rows = before.width() + last.num_rows;
      const std::size_t held = width * num_rows - width * (width - 1) / 2;
      const std::size_t needed = entries[entries.size() - 2] + entries.back();
      if (static_cast<double>(held - needed) > zeros * static_cast<double>(held) &&
          held - needed > few) {
        break;
      }
      before.end = last.end;
      before.num_rows = num_rows;
      blocks_.pop_back();
      entries.pop_back();
      entries.back() = needed;
    }
  }
}

// Rows of a block: those of its entries and of the blocks whose first row below is one of its
// columns.
void SparseCholesky::list_rows() {
  block_of_.resize(size_);
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    std::fill(block_of_.begin() + blocks_[b].begin, block_of_.begin() + blocks_[b].end, b);
  }
  rows_.clear();
  std::vector<std::uint32_t> stamp(size_, kNone);
  std::vector<std::vector<std::uint32_t>> children(blocks_.size());
  std::size_t num_values = 0;
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    Block& block = blocks_[b];
    block.first_row = rows_.size();
    const auto add = [&](std::uint32_t row) {
      if (row < block.begin || stamp[row] == b) return;
      stamp[row] = b;
      rows_.push_back(row);
    };
    for (std::uint32_t k = block.begin; k < block.end; ++k) add(k);
    for (std::size_t e = starts_[block.begin]; e < starts_[block.end]; ++e) add(entry_row_[e]);
    for (const std::uint32_t c : children[b]) {
      const Block& child = blocks_[c];
      for (std::size_t r = child.width(); r < child.num_rows; ++r) add(rows_[child.first_row + r]);
    }
    std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(block.first_row), rows_.end());
    block.num_rows = rows_.size() - block.first_row;
    block.first_value = num_values;
    num_values += block.width() * block.num_rows;
    if (block.num_rows > block.width()) {
      children[block_of_[rows_[block.first_row + block.width()]]].push_back(b);
    }
  }
  values_.resize(num_values);
}

// block -= the products of the rows of `from` that are columns of the block, its rows from `first`,
// with all rows from there on.
void SparseCholesky::subtract(const Block& from, std::size_t first, const Block& block) {
  const std::uint32_t* const rows = rows_.data() + from.first_row;
  for (std::size_t q = first; q < from.num_rows && rows[q] < block.end; ++q) {
    const double* const source = values_.data() + from.first_value + q;
    const std::size_t size = from.num_rows - q;
    combine(source, source, from.num_rows, from.width(), size, work_.data());
    double* const column =
        values_.data() + block.first_value + (rows[q] - block.begin) * block.num_rows;
    for (std::size_t r = 0; r < size; ++r) column[place_[rows[q + r]]] -= work_[r];
  }
}

bool SparseCholesky::factorize_block(const Block& block) {
  double* const values = values_.data() + block.first_value;
  const std::size_t stride = block.num_rows;
  for (std::size_t j = 0; j < block.width(); ++j) {
    double* const column = values + j * stride + j;
    combine(values + j, values + j, stride, j, stride - j, work_.data());
    for (std::size_t r = 0; r < stride - j; ++r) column[r] -= work_[r];
    if (!(column[0] > 0)) return false;
    const double root = std::sqrt(column[0]);
    column[0] = root;
    for (std::size_t r = 1; r < stride - j; ++r) column[r] /= root;
  }
  return true;
}

bool SparseCholesky::factorize(std::span<const double> values) {
  std::fill(values_.begin(), values_.end(), 0.0);
  // Each block waits in the list of the next block that has one of its rows.
  std::vector<std::uint32_t> waiting(blocks_.size(), kNone), behind(blocks_.size(), kNone);
  std::vector<std::size_t> first(blocks_.size());
  const auto wait = [&](std::uint32_t b, std::size_t row) {
    if (row >= blocks_[b].num_rows) return;
    first[b] = row;
    std::uint32_t& queue = waiting[block_of_[rows_[blocks_[b].first_row + row]]];
    behind[b] = queue;
    queue = b;
  };
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    for (std::uint32_t r = 0; r < block.num_rows; ++r) place_[rows_[block.first_row + r]] = r;
    for (std::uint32_t k = block.begin; k < block.end; ++k) {
      double* const column =
          values_.data() + block.first_value + (k - block.begin) * block.num_rows;
      for (std::size_t e = starts_[k]; e < starts_[k + 1]; ++e) {
        column[place_[entry_row_[e]]] = values[entry_[e]];
      }
    }
    for (std::uint32_t d = waiting[b]; d != kNone;) {
      const std::uint32_t after = behind[d];
      const Block& from = blocks_[d];
      subtract(from, first[d], block);
      std::size_t row = first[d];
      while (row < from.num_rows && rows_[from.first_row + row] < block.end) ++row;
      wait(d, row);
      d = after;
    }
    if (!factorize_block(block)) return false;
    wait(b, block.width());
  }
  return true;
}

void SparseCholesky::solve(std::span<double> x) const {
  for (const Block& block : blocks_) {
    for (std::size_t j = 0; j < block.width(); ++j) {
      const double* const column = values_.data() + block.first_value + j * block.num_rows;
      const std::uint32_t* const rows = rows_.data() + block.first_row;
      const double value = x[rows[j]] /= column[j];
      for (std::size_t r = j + 1; r < block.num_rows; ++r) x[rows[r]] -= value * column[r];
    }
  }
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    for (std::size_t j = block->width(); j-- > 0;) {
      const double* const column = values_.data() + block->first_value + j * block->num_rows;
      const std::uint32_t* const rows = rows_.data() + block->first_row;
      double value = x[rows[j]];
      for (std::size_t r = j + 1; r < block->num_rows; ++r) value -= x[rows[r]] * column[r];
      x[rows[j]] = value / column[j];
    }
  }
}

SparseCholesky::Column SparseCholesky::column(std::uint32_t k) const {
  const Block& block = blocks_[block_of_[k]];
  const std::size_t above = k - block.begin, count = block.num_rows - above;
  return {std::span(rows_).subspan(block.first_row + above, count),
          std::span(values_).subspan(block.first_value + above * block.num_rows + above, count)};
}

namespace {

// The matrix with its rows at `position`; values are those of the pattern's entries.
SymmetricPattern collect(std::span<const SymmetricEntry> entries,
                         std::span<const std::uint32_t> position, std::vector<double>& values) {
  std::vector<SymmetricEntry> upper;
  for (std::uint32_t k = 0; k < position.size(); ++k) upper.push_back({k, k, 0.0});
  for (const SymmetricEntry& e : entries) {
    const std::uint32_t row = position[e.row], column = position[e.column];
    if (row <= column) upper.push_back({row, column, e.value});
  }
  const auto key = [](const SymmetricEntry& e) { return std::tuple(e.column, e.row); };
  std::ranges::stable_sort(upper, {}, key);
  SymmetricPattern pattern;
  pattern.pointers.resize(position.size() + 1);
  values.clear();
  for (std::size_t k = 0; k < upper.size(); ++k) {
    if (k == 0 || key(upper[k]) != key(upper[k - 1])) {
      values.push_back(0.0);
      pattern.items.push_back(upper[k].row);
    }
    values.back() += upper[k].value;
    pattern.pointers[upper[k].column + 1] = values.size();
  }
  return pattern;
}

}  // namespace

void OrderedCholesky::solve(std::span<double> x) const {
  std::vector<double> ordered(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) ordered[position[k]] = x[k];
  factors.solve(ordered);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = ordered[position[k]];
}

std::optional<OrderedCholesky> factorise(std::size_t size, std::span<const SymmetricEntry> entries,
                                         double most_work) {
  OrderedCholesky made;
  std::vector<double> values;
  made.position.resize(size);
  std::iota(made.position.begin(), made.position.end(), 0U);
  made.position = minimum_degree_positions(collect(entries, made.position, values));
  const SymmetricPattern pattern = collect(entries, made.position, values);
  // A column costs the square of its number of entries below the diagonal, so at least this number.
  const auto most_entries = size + static_cast<std::size_t>(std::min(most_work, 1e12));
  if (!made.factors.analyze(pattern, most_entries, SparseCholesky::Blocks::exact)) return {};
  double work = 0;
  for (std::uint32_t k = 0; k < size; ++k) {
    const auto below = static_cast<double>(made.factors.column(k).rows.size() - 1);
    work += below * below;
  }
  if (work > most_work || !made.factors.factorize(values)) return {};
  return made;
}

}  // namespace margrove::detail
