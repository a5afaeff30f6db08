#include "recursive/joint_duals.hpp"

#include <algorithm>
#include <array>

#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

// The inner weights of a column that more than this share of the rows use are not tied to the dual
// variables: see update_common().
constexpr double kCommonShare = 0.5;
constexpr int kCommonSweeps = 5;  // Gauss-Seidel sweeps of update_common
// From this share of the columns on, adding all of them in order is faster than using a list.
constexpr std::size_t kFullShare = 8;

// No column is common where a target has no weight of its own, which update_common() needs.
double common_share(const LeafPaths& paths) {
  const auto least = std::min_element(paths.private_alpha.begin(), paths.private_alpha.end());
  return least != paths.private_alpha.end() && *least <= 0 ? 1.0 : kCommonShare;
}

DenseRun dense_run(const CsrView& X, const UsedColumns& used) {
  const std::size_t size = dense_tail(X);
  const std::size_t end = used.num_common() > 0 ? used.num_common() : used.original().size();
  return {end - size, size};
}

double sum_of_products(const SparseRow& x, const double* w) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    sum += static_cast<double>(x.values[k]) * w[x.columns[k]];
  }
  return sum;
}

}  // namespace

JointDuals::JointDuals(const AdditiveProblem& problem)
    : problem_(problem),
      paths_(leaf_paths(problem)),
      used_(problem.X, common_share(paths_)),
      X_(used_.view()),
      run_(dense_run(problem.X, used_)),
      dim_(X_.num_columns()),
      inner_(paths_.num_slots() * dim_, 0.0F),
      occupied_(paths_.num_slots()),
      active_(paths_.targets.size()),
      intercepts_(paths_.targets.size(), problem.free_intercept ? -1.0 : 0.0) {
  if (problem.free_intercept) constant_ = free_intercept_column(problem.X, "joint_dual");
  for (std::uint32_t slot = 0; slot < paths_.num_slots(); ++slot) find_occupied(slot);
}

RowPart JointDuals::rare(std::uint32_t row) const {
  const SparseRow x = X_.row(row);
  const std::uint32_t count = used_.num_common_in(row);
  return {{x.columns.subspan(count), x.values.subspan(count)},
          used_.num_common() == 0 ? run_ : DenseRun{}};
}

RowPart JointDuals::common(std::uint32_t row) const {
  const SparseRow x = X_.row(row);
  const std::uint32_t count = used_.num_common_in(row);
  return {{x.columns.first(count), x.values.first(count)},
          used_.num_common() > 0 ? run_ : DenseRun{}};
}

double JointDuals::score(std::uint32_t row, const double* w) const {
  const SparseRow x = X_.row(row);
  if (run_.size == 0) return sum_of_products(x, w);
  const std::span all(w, dim_);
  const std::size_t end = used_.num_common() > 0 ? used_.num_common_in(row) : x.size();
  const std::size_t begin = end - run_.size;
  return dot({x.columns.first(begin), x.values.first(begin)}, all) +
         dense_dot(x.values.data() + begin, w + run_.begin, run_.size) +
         dot({x.columns.subspan(end), x.values.subspan(end)}, all);
}

void JointDuals::add_to_inner(std::uint32_t slot, double step, const RowPart& part) {
  add_scaled(step, part, inner_.data() + slot * dim_);
  Occupied& occupied = occupied_[slot];
  if (occupied.full) return;
  for (const FeatureId j : part.x.columns) occupy(occupied, j);
}

void JointDuals::add_to_inner(std::uint32_t slot, double step,
                              std::span<const float* const> dense) {
  float* v = inner_.data() + slot * dim_;
  for (const float* each : dense) {
    for (std::size_t j = 0; j < dim_; ++j) v[j] += static_cast<float>(step) * each[j];
  }
  find_occupied(slot);
}

void JointDuals::add_inner_to(std::uint32_t slot, double sign, double* w) const {
  const float* v = inner(slot);
  if (occupied_[slot].full) {
    for (std::size_t j = 0; j < dim_; ++j) w[j] += sign * static_cast<double>(v[j]);
  } else {
    for (const FeatureId j : occupied_[slot].columns) w[j] += sign * static_cast<double>(v[j]);
  }
}

void JointDuals::occupy(Occupied& occupied, FeatureId column) {
  if (occupied.full) return;
  std::uint64_t& word = occupied.bits[column / 64];
  const std::uint64_t bit = std::uint64_t{1} << column % 64;
  if ((word & bit) != 0) return;
  word |= bit;
  occupied.columns.push_back(column);
  if (occupied.columns.size() * kFullShare > dim_)
    occupied = {.columns = {}, .bits = {}, .full = true};
}

/// The common columns count as occupied: they change in update_common().
void JointDuals::find_occupied(std::uint32_t slot) {
  Occupied& occupied = occupied_[slot];
  occupied.full = false;
  occupied.columns.clear();
  occupied.bits.assign((dim_ + 63) / 64, 0);
  const float* v = inner(slot);
  for (FeatureId j = 0; j < dim_ && !occupied.full; ++j) {
    if (v[j] != 0 || j < used_.num_common()) occupy(occupied, j);
  }
}

void JointDuals::seed_active_lists(Random& random) {
  const std::size_t n = X_.num_rows();
  const auto& positives = paths_.positives;
  std::vector<std::uint32_t> rows;
  for (std::size_t t = 0; t < num_targets(); ++t) {
    rows.clear();
    const std::size_t first = t >= 3 ? t - 3 : 0;
    for (std::size_t s = first; s < std::min(num_targets(), t + 4); ++s) {
      const std::size_t take = s == t ? 0 : std::min<std::size_t>(positives[s].size(), 16);
      rows.insert(rows.end(), positives[s].begin(),
                  positives[s].begin() + static_cast<std::ptrdiff_t>(take));
    }
    for (std::size_t s = 0; n > 0 && s < 32; ++s) {
      rows.push_back(static_cast<std::uint32_t>(random.below(n)));
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    remove_unsigned_rows(t, rows);
    for (const std::uint32_t i : positives[t]) active_[t].push_back({i, true, 0.0});
    for (const std::uint32_t i : rows) {
      if (!paths_.is_positive(t, i)) active_[t].push_back({i, false, 0.0});
    }
  }
}

/// `rows` is ascending.
void JointDuals::remove_unsigned_rows(std::size_t t, std::vector<std::uint32_t>& rows) const {
  if (problem_.partial->empty()) return;
  std::vector<std::uint32_t> removed;
  problem_.partial->for_each_without_sign(paths_.targets[t], [&](std::uint32_t i) {
    if (std::binary_search(rows.begin(), rows.end(), i)) removed.push_back(i);
  });
  std::sort(removed.begin(), removed.end());
  std::erase_if(
      rows, [&](std::uint32_t i) { return std::binary_search(removed.begin(), removed.end(), i); });
}

void JointDuals::update_common(Executor& executor, ClosingTime& closing) {
  const std::size_t P = used_.num_common();
  if (P == 0) return;
  std::vector<double> own(num_targets() * P, 0.0);
  executor.for_each(num_targets(), [&](std::size_t t, int) {
    for (const ActiveRow& v : active_[t]) {
      if (v.a == 0) continue;
      add_scaled(paths_.private_alpha[t] * v.signed_a(), common(v.row), own.data() + t * P);
    }
  });
  const auto order = problem_.graph->topological_order();
  std::vector<double> gradient(P);
  for (int s = 0; s < kCommonSweeps; ++s) {
    for (auto m = order.rbegin(); m != order.rend(); ++m) {
      const std::uint32_t slot = paths_.slot[*m];
      if (slot == LeafPaths::kNoSlot) continue;
      if (!closing.proceed()) return;  // between two steps that each lower the primal
      float* v = inner_.data() + slot * dim_;
      double curvature = 1.0 / problem_.alpha[*m];
      for (std::size_t j = 0; j < P; ++j) gradient[j] = -v[j] * curvature;
      for (const std::uint32_t t : paths_.below[slot]) {
        const double c = 1.0 / paths_.private_alpha[t];
        curvature += c;
        for (std::size_t j = 0; j < P; ++j) gradient[j] += c * own[t * P + j];
      }
      for (std::size_t j = 0; j < P; ++j) {
        gradient[j] /= curvature;
        v[j] += static_cast<float>(gradient[j]);
      }
      for (const std::uint32_t t : paths_.below[slot]) {
        for (std::size_t j = 0; j < P; ++j) own[t * P + j] -= gradient[j];
      }
    }
  }
}

void JointDuals::make_feasible() {
  for (auto& rows : active_) {
    double own = 0, others = 0;
    for (const ActiveRow& v : rows) (v.positive ? own : others) += v.a;
    for (ActiveRow& v : rows) {
      if (v.positive && own > others) v.a *= others / own;
      if (!v.positive && others > own) v.a *= own / others;
    }
  }
  const FeatureId j = used_.renumbered(problem_.X.num_columns() - 1);
  for (std::size_t slot = 0; slot < paths_.num_slots(); ++slot) inner_[slot * dim_ + j] = 0.0F;
}

Regularisers JointDuals::rebuild_inner_nodes(Executor& executor, ClosingTime& closing) {
  std::vector<double> squares(paths_.num_slots(), 0.0);
  std::vector<double> primal_squares(paths_.num_slots(), 0.0);
  executor.for_each(paths_.num_slots(), [&](std::size_t slot, int) {
    if (!closing.proceed()) return;
    std::vector<double> sum(dim_, 0.0);
    for (const std::uint32_t t : paths_.below[slot]) {
      for (const ActiveRow& v : active_[t]) {
        if (v.a != 0) add_row(v.signed_a(), v.row, sum.data());
      }
    }
    const double alpha = problem_.alpha[paths_.node_of[slot]];
    float* v = inner_.data() + slot * dim_;
    if (is_free()) sum[used_.renumbered(problem_.X.num_columns() - 1)] = 0.0;
    for (std::size_t j = 0; j < dim_; ++j) squares[slot] += alpha * sum[j] * sum[j];
    for (std::size_t j = used_.num_common(); j < dim_; ++j)
      v[j] = static_cast<float>(alpha * sum[j]);
    for (std::size_t j = 0; j < dim_; ++j) {
      primal_squares[slot] += static_cast<double>(v[j]) * v[j] / alpha;
    }
    find_occupied(static_cast<std::uint32_t>(slot));
  });
  Regularisers value;
  for (const double s : private_squares(executor)) value.primal += 0.5 * s;
  value.dual = value.primal;
  for (const double s : squares) value.dual += 0.5 * s;
  for (const double s : primal_squares) value.primal += 0.5 * s;
  return value;
}

/// alpha |u_l|^2 of the private nodes, by target.
std::vector<double> JointDuals::private_squares(Executor& executor) const {
  std::vector<double> squares(num_targets(), 0.0);
  executor.for_ranges(num_targets(), 16, [&](std::size_t begin, std::size_t end, int) {
    std::vector<double> u(dim_, 0.0);
    for (std::size_t t = begin; t < end; ++t) {
      for (const ActiveRow& v : active_[t]) {
        if (v.a != 0) add_row(v.signed_a(), v.row, u.data());
      }
      const auto take = [&](std::size_t j) {
        squares[t] += paths_.private_alpha[t] * u[j] * u[j];
        u[j] = 0;
      };
      for (std::size_t j = run_.begin; j < run_.begin + run_.size; ++j) take(j);
      for (const ActiveRow& v : active_[t]) {
        if (v.a == 0) continue;
        for (const RowPart& part : {common(v.row), rare(v.row)}) {
          for (const FeatureId j : part.x.columns.first(part.x.size() - part.run.size)) take(j);
        }
      }
    }
  });
  return squares;
}

void JointDuals::fill_block(std::size_t first, std::size_t count, std::vector<Lanes>& block) const {
  block.assign(dim_, Lanes{});
  // Neighbours share most of their path: each node is read once, for all of its targets here.
  std::vector<NodeId> nodes;
  for (std::size_t t = first; t < first + count; ++t) {
    nodes.insert(nodes.end(), paths_.inner[t].begin(), paths_.inner[t].end());
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const NodeId m : nodes) {
    std::array<float, kLanes> below{};  // 1 for the targets below m
    for (std::size_t t = 0; t < count; ++t) {
      const auto& path = paths_.inner[first + t];
      if (std::binary_search(path.begin(), path.end(), m)) below[t] = 1;
    }
    const float* v = inner(paths_.slot[m]);
    const auto add = [&](std::size_t j) {
      for (std::size_t t = 0; t < kLanes; ++t) block[j].at[t] += v[j] * below[t];
    };
    const Occupied& occupied = occupied_[paths_.slot[m]];
    if (occupied.full) {
      for (std::size_t j = 0; j < dim_; ++j) add(j);
    } else {
      for (const FeatureId j : occupied.columns) add(j);
    }
  }
  std::vector<double> own(used_.num_common());  // float64, as these sum many rows
  for (std::size_t t = first; t < first + count; ++t) {
    const std::size_t lane = t - first;
    std::fill(own.begin(), own.end(), 0.0);
    for (const ActiveRow& v : active_[t]) {
      if (v.a == 0) continue;
      const double step = paths_.private_alpha[t] * v.signed_a();
      add_scaled(step, common(v.row), own.data());
      const SparseRow x = rare(v.row).x;
      for (std::size_t k = 0; k < x.size(); ++k) {
        block[x.columns[k]].at[lane] += static_cast<float>(step * x.values[k]);
      }
    }
    for (std::size_t j = 0; j < own.size(); ++j) block[j].at[lane] += static_cast<float>(own[j]);
  }
}

WeightMatrix JointDuals::weights() const {
  // Column lists of each node first, then a transposition to feature-major rows.
  CsrMatrix by_node(problem_.X.num_columns());
  std::vector<double> dense(dim_, 0.0);
  std::vector<double> intercept_of(problem_.graph->num_nodes(), 0.0);
  for (std::size_t t = 0; t < num_targets() && is_free(); ++t) {
    intercept_of[paths_.targets[t]] = intercepts_[t] / constant_;
  }
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (NodeId m = 0; m < problem_.graph->num_nodes(); ++m) {
    columns.clear();
    values.clear();
    if (paths_.owner[m] != LeafPaths::kNoSlot) {
      for (const ActiveRow& v : active_[paths_.owner[m]]) {
        if (v.a == 0) continue;
        add_row(problem_.alpha[m] * v.signed_a(), v.row, dense.data());
      }
    } else if (paths_.slot[m] != LeafPaths::kNoSlot) {
      const float* v = inner(paths_.slot[m]);
      for (std::size_t j = 0; j < dim_; ++j) dense[j] = v[j];
    }
    if (is_free()) dense[used_.renumbered(problem_.X.num_columns() - 1)] = intercept_of[m];
    for (std::size_t j = 0; j < dim_; ++j) {
      if (dense[j] != 0 && static_cast<float>(dense[j]) != 0.0F) {
        columns.push_back(used_.original()[j]);
        values.push_back(static_cast<float>(dense[j]));
      }
      dense[j] = 0;
    }
    by_node.append_row(columns, values);
  }
  return WeightMatrix::sparse(transpose(by_node)).compacted();
}

}  // namespace margrove::detail
