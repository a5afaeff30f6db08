#include "joint_duals.hpp"

#include <algorithm>

#include "row_scan.hpp"

namespace margrove::detail {
namespace {

// Above this share of the rows a column's inner weights are not tied to the dual variables: see
// update_common().
constexpr double kCommonShare = 0.5;
constexpr int kCommonSweeps = 5;  // Gauss-Seidel sweeps of update_common

}  // namespace

JointDuals::JointDuals(const AdditiveProblem& problem)
    : problem_(problem),
      paths_(leaf_paths(problem)),
      used_(used_columns(problem.X, kCommonShare)),
      X_(used_.X.view()),
      dim_(X_.num_columns()),
      inner_(paths_.num_slots() * dim_, 0.0F),
      active_(paths_.targets.size()) {}

SparseRow JointDuals::rare(std::uint32_t row) const {
  const SparseRow x = X_.row(row);
  return {x.columns.subspan(used_.split[row]), x.values.subspan(used_.split[row])};
}

SparseRow JointDuals::common(std::uint32_t row) const {
  const SparseRow x = X_.row(row);
  return {x.columns.first(used_.split[row]), x.values.first(used_.split[row])};
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
    for (const std::uint32_t i : positives[t]) active_[t].push_back({i, true, 0.0});
    for (const std::uint32_t i : rows) {
      if (!paths_.is_positive(t, i)) active_[t].push_back({i, false, 0.0});
    }
  }
}

void JointDuals::update_common(Executor& executor) {
  const std::size_t P = used_.num_common;
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
      float* v = inner(slot);
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

Regularisers JointDuals::rebuild_inner_nodes(Executor& executor) {
  std::vector<double> squares(paths_.num_slots(), 0.0);
  std::vector<double> primal_squares(paths_.num_slots(), 0.0);
  executor.for_each(paths_.num_slots(), [&](std::size_t slot, int) {
    std::vector<double> sum(dim_, 0.0);
    for (const std::uint32_t t : paths_.below[slot]) {
      for (const ActiveRow& v : active_[t]) {
        if (v.a != 0) add_scaled(v.signed_a(), X_.row(v.row), sum.data());
      }
    }
    const double alpha = problem_.alpha[paths_.node_of[slot]];
    float* v = inner(static_cast<std::uint32_t>(slot));
    for (std::size_t j = 0; j < dim_; ++j) squares[slot] += alpha * sum[j] * sum[j];
    for (std::size_t j = used_.num_common; j < dim_; ++j) v[j] = static_cast<float>(alpha * sum[j]);
    for (std::size_t j = 0; j < dim_; ++j) {
      primal_squares[slot] += static_cast<double>(v[j]) * v[j] / alpha;
    }
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
        if (v.a != 0) add_scaled(v.signed_a(), X_.row(v.row), u.data());
      }
      for (const ActiveRow& v : active_[t]) {
        if (v.a == 0) continue;
        for (const FeatureId j : X_.row(v.row).columns) {
          squares[t] += paths_.private_alpha[t] * u[j] * u[j];
          u[j] = 0;
        }
      }
    }
  });
  return squares;
}

void JointDuals::fill_block(std::size_t first, std::size_t count, std::vector<float>& block) const {
  block.assign(dim_ * kScanWidth, 0.0F);
  for (std::size_t t = first; t < first + count; ++t) {
    float* column = block.data() + (t - first);
    for (const NodeId m : paths_.inner[t]) {
      const float* v = inner(paths_.slot[m]);
      for (std::size_t j = 0; j < dim_; ++j) column[j * kScanWidth] += v[j];
    }
    for (const ActiveRow& v : active_[t]) {
      if (v.a == 0) continue;
      const SparseRow x = X_.row(v.row);
      const double step = paths_.private_alpha[t] * v.signed_a();
      for (std::size_t k = 0; k < x.size(); ++k) {
        column[x.columns[k] * kScanWidth] += static_cast<float>(step * x.values[k]);
      }
    }
  }
}

WeightMatrix JointDuals::weights() const {
  // Column lists of each node first, then a transposition to feature-major rows.
  CsrMatrix by_node(problem_.X.num_columns());
  std::vector<double> dense(dim_, 0.0);
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (NodeId m = 0; m < problem_.graph->num_nodes(); ++m) {
    columns.clear();
    values.clear();
    if (paths_.owner[m] != LeafPaths::kNoSlot) {
      for (const ActiveRow& v : active_[paths_.owner[m]]) {
        if (v.a == 0) continue;
        add_scaled(problem_.alpha[m] * v.signed_a(), X_.row(v.row), dense.data());
      }
    } else if (paths_.slot[m] != LeafPaths::kNoSlot) {
      const float* v = inner(paths_.slot[m]);
      for (std::size_t j = 0; j < dim_; ++j) dense[j] = v[j];
    }
    for (std::size_t j = 0; j < dim_; ++j) {
      if (dense[j] != 0 && static_cast<float>(dense[j]) != 0.0F) {
        columns.push_back(used_.original[j]);
        values.push_back(static_cast<float>(dense[j]));
      }
      dense[j] = 0;
    }
    by_node.append_row(columns, values);
  }
  return WeightMatrix::sparse(transpose(by_node)).compacted();
}

}  // namespace margrove::detail
