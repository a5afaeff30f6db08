#include "numerics/sparse_ldl.hpp"

#include <algorithm>
#include <utility>

#include "numerics/minimum_degree.hpp"

namespace margrove::detail {
namespace {

// The upper half, columns in turn.
SymmetricPattern pattern_of(std::size_t size, std::span<const SymmetricEntry> entries) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;  // column, row
  for (const SymmetricEntry& e : entries) {
    if (e.row <= e.column) places.emplace_back(e.column, e.row);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  SymmetricPattern pattern;
  auto next = places.begin();
  for (std::uint32_t column = 0; column < size; ++column) {
    for (; next != places.end() && next->first == column; ++next) {
      pattern.rows.push_back(next->second);
    }
    pattern.starts.push_back(pattern.rows.size());
  }
  return pattern;
}

/// Rows and columns of L; false where that is too much work.
bool find_pattern(std::span<const SymmetricEntry> entries, double most_work, SparseLdl& made) {
  const std::size_t size = made.position.size();
  std::vector<std::vector<std::uint32_t>> columns(size);
  for (const SymmetricEntry& e : entries) {
    const std::uint32_t row = made.position[e.row];
    const std::uint32_t column = made.position[e.column];
    if (row > column) columns[column].push_back(row);
  }
  double work = 0;
  made.begin.assign(1, 0);
  for (auto& rows : columns) {
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    work += static_cast<double>(rows.size() * rows.size());
    if (work > most_work) return false;
    // What is eliminated joins its neighbours: the first of them inherits the others.
    if (!rows.empty()) {
      columns[rows[0]].insert(columns[rows[0]].end(), rows.begin() + 1, rows.end());
    }
    made.rows.insert(made.rows.end(), rows.begin(), rows.end());
    made.begin.push_back(made.rows.size());
  }
  return true;
}

std::size_t entry_at(const SparseLdl& factor, std::uint32_t row, std::uint32_t column) {
  const auto first = factor.rows.begin() + static_cast<std::ptrdiff_t>(factor.begin[column]);
  const auto last = factor.rows.begin() + static_cast<std::ptrdiff_t>(factor.begin[column + 1]);
  return static_cast<std::size_t>(std::lower_bound(first, last, row) - factor.rows.begin());
}

}  // namespace

std::optional<SparseLdl> factorise(std::size_t size, std::span<const SymmetricEntry> entries,
                                   double most_work) {
  SparseLdl made;
  made.position = minimum_degree_positions(pattern_of(size, entries));
  if (!find_pattern(entries, most_work, made)) return std::nullopt;
  made.lower.assign(made.rows.size(), 0.0);
  made.pivots.assign(size, 0.0);
  for (const SymmetricEntry& e : entries) {
    const std::uint32_t row = made.position[e.row];
    const std::uint32_t column = made.position[e.column];
    if (row == column) made.pivots[row] += e.value;
    if (row > column) made.lower[entry_at(made, row, column)] += e.value;
  }
  for (std::size_t n = 0; n < size; ++n) {
    if (!(made.pivots[n] > 0)) return std::nullopt;
    for (std::size_t a = made.begin[n]; a < made.begin[n + 1]; ++a) {
      const double scaled = made.lower[a] / made.pivots[n];
      made.pivots[made.rows[a]] -= scaled * made.lower[a];
      for (std::size_t b = made.begin[n]; b < a; ++b) {  // entries before a are scaled already
        const std::size_t at = entry_at(made, made.rows[a], made.rows[b]);
        made.updates.push_back(static_cast<std::uint32_t>(at));
        made.lower[at] -= made.lower[a] * made.lower[b];
      }
      made.lower[a] = scaled;
    }
  }
  return made;
}

void SparseLdl::solve(std::span<double> x) const {
  for (std::size_t n = 0; n < size(); ++n) {
    for (std::size_t a = begin[n]; a < begin[n + 1]; ++a) x[rows[a]] -= lower[a] * x[n];
  }
  for (std::size_t n = size(); n-- > 0;) {
    x[n] /= pivots[n];
    for (std::size_t a = begin[n]; a < begin[n + 1]; ++a) x[n] -= lower[a] * x[rows[a]];
  }
}

}  // namespace margrove::detail
