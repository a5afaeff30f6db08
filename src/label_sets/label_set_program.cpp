// The core as a linear or integer programme for COIN-OR.

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "label_sets/label_set_core.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

// Column-wise. Columns: z of every node, then u of the nodes with a reserve. Rows: z_c - z_p <= 0;
// u_k + sum_c z_c - z_k >= 0; u_k - z_k <= 0; and, which fractions do not have for free, at least
// one leaf: grounded nodes and reserves bring one each.
struct Program {
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> rows;
  std::vector<double> values, cost, column_lower, column_upper, row_lower, row_upper;
  std::vector<std::uint32_t> node_of_reserve;
  int num_rows() const { return static_cast<int>(row_lower.size()); }
  int num_columns() const { return static_cast<int>(cost.size()); }
};

struct Entry {
  int row;
  double value;
};

Program make_program(const LabelSetCore& core, std::span<const char> fixings) {
  Program p;
  std::vector<std::vector<Entry>> columns(core.size());
  std::vector<std::array<Entry, 3>> reserve_columns;
  const auto add_row = [&](double lower, double upper) {
    p.row_lower.push_back(lower);
    p.row_upper.push_back(upper);
    return p.num_rows() - 1;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const auto is = [&](std::uint32_t k, LabelSetSearch::Fix fix) {
    return !fixings.empty() && fixings[k] == fix;
  };
  for (std::uint32_t c = 0; c < core.size(); ++c) {
    for (const auto parent : core.parents(c)) {
      if (is(c, LabelSetSearch::kOut) || is(parent, LabelSetSearch::kIn)) continue;
      const int row = add_row(-infinity, 0);
      columns[c].push_back({row, 1});
      columns[parent].push_back({row, -1});
    }
  }
  const int leaf_row = add_row(1, infinity);
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    if (core.grounded[k]) {
      columns[k].push_back({leaf_row, 1});
      continue;
    }
    const auto children = core.children(k);
    if (is(k, LabelSetSearch::kOut) || std::any_of(children.begin(), children.end(), [&](auto c) {
          return is(c, LabelSetSearch::kIn);
        })) {
      continue;
    }
    const int row = add_row(0, infinity);
    columns[k].push_back({row, -1});
    for (const auto c : children) {
      if (!is(c, LabelSetSearch::kOut)) columns[c].push_back({row, 1});
    }
    if (core.reserve[k] == kNoReserve) continue;
    p.node_of_reserve.push_back(k);
    const int limit_row = add_row(-infinity, 0);
    columns[k].push_back({limit_row, -1});
    reserve_columns.push_back({Entry{row, 1}, Entry{limit_row, 1}, Entry{leaf_row, 1}});
  }
  const auto add_column = [&](std::span<const Entry> entries, double cost, double lower,
                              double upper) {
    for (const auto& entry : entries) {
      p.rows.push_back(entry.row);
      p.values.push_back(entry.value);
    }
    p.starts.push_back(static_cast<CoinBigIndex>(p.rows.size()));
    p.cost.push_back(cost);
    p.column_lower.push_back(lower);
    p.column_upper.push_back(upper);
  };
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    const auto fix =
        fixings.empty() ? LabelSetSearch::kFree : static_cast<LabelSetSearch::Fix>(fixings[k]);
    add_column(columns[k], core.weight[k], k == 0 || fix == LabelSetSearch::kIn ? 1.0 : 0.0,
               fix == LabelSetSearch::kOut ? 0.0 : 1.0);
  }
  for (std::size_t j = 0; j < reserve_columns.size(); ++j) {
    add_column(reserve_columns[j], core.reserve[p.node_of_reserve[j]], 0.0, 1.0);
  }
  return p;
}

// Empty where there is no solution.
std::vector<double> solve_ilp(const Program& p) {
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> model(Cbc_newModel(),
                                                                     &Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  Cbc_loadProblem(model.get(), p.num_columns(), p.num_rows(), p.starts.data(), p.rows.data(),
                  p.values.data(), p.column_lower.data(), p.column_upper.data(), p.cost.data(),
                  p.row_lower.data(), p.row_upper.data());
  Cbc_setObjSense(model.get(), -1);
  for (int j = 0; j < p.num_columns(); ++j) Cbc_setInteger(model.get(), j);
  Cbc_setParameter(model.get(), "log", "0");
  Cbc_setParameter(model.get(), "increment", "1e-12");
  Cbc_setParameter(model.get(), "ratioGap", "0");
  Cbc_setParameter(model.get(), "allowableGap", "0");
  Cbc_solve(model.get());
  if (Cbc_isProvenInfeasible(model.get())) return {};
  require<Error>(Cbc_isProvenOptimal(model.get()), "label sets: CBC ended with status ",
                 Cbc_status(model.get()), ", but the integer programme has an optimum");
  const double* x = Cbc_getColSolution(model.get());
  return {x, x + p.num_columns()};
}

// For any y >= 0 on rows <= b, y <= 0 on rows >= b: c x <= y b + (c - y A) x, and x lies in its
// box.
void bound_by_duals(const LabelSetCore& core, const Program& p, std::vector<double> duals,
                    CoreSolution& solution) {
  solution.bound = 0;
  for (std::size_t i = 0; i < duals.size(); ++i) {
    const bool at_most = std::isinf(p.row_lower[i]);
    duals[i] = at_most ? std::max(duals[i], 0.0) : std::min(duals[i], 0.0);
    solution.bound += duals[i] * (at_most ? p.row_upper[i] : p.row_lower[i]);
  }
  solution.reduced.resize(core.size());
  for (std::size_t j = 0; j < p.cost.size(); ++j) {
    double reduced = p.cost[j];
    for (auto e = p.starts[j]; e < p.starts[j + 1]; ++e) {
      reduced -= duals[static_cast<std::size_t>(p.rows[e])] * p.values[e];
    }
    solution.bound += reduced * (reduced > 0 ? p.column_upper[j] : p.column_lower[j]);
    if (j < core.size()) solution.reduced[j] = reduced;
  }
}

void unpack(const LabelSetCore& core, const Program& program, std::vector<double> x,
            CoreSolution& solution) {
  for (double& value : x) {
    const double nearest = value > 0.5 ? 1.0 : 0.0;
    if (std::fabs(value - nearest) < 1e-9) value = nearest;
  }
  solution.z.assign(x.begin(), x.begin() + core.size());
  solution.u.assign(core.size(), 0.0);
  for (std::size_t j = 0; j < program.node_of_reserve.size(); ++j) {
    solution.u[program.node_of_reserve[j]] = x[core.size() + j];
  }
}

}  // namespace

struct CoreRelaxation::Impl {
  const LabelSetCore* core;
  Program program;
  std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> model{Clp_newModel(), &Clp_deleteModel};
};

CoreRelaxation::CoreRelaxation(const LabelSetCore& core, std::span<const char> fixings)
    : impl_(std::make_unique<Impl>(Impl{&core, make_program(core, fixings)})) {
  const Program& p = impl_->program;
  Clp_Simplex* model = impl_->model.get();
  Clp_setLogLevel(model, 0);
  Clp_loadProblem(model, p.num_columns(), p.num_rows(), p.starts.data(), p.rows.data(),
                  p.values.data(), p.column_lower.data(), p.column_upper.data(), p.cost.data(),
                  p.row_lower.data(), p.row_upper.data());
  Clp_setOptimizationDirection(model, -1);
  Clp_scaling(model, 0);            // all entries are 1 or -1
  Clp_setPerturbation(model, 100);  // none
}

CoreRelaxation::~CoreRelaxation() = default;

void CoreRelaxation::set(std::uint32_t k, char fix) {
  Program& p = impl_->program;
  p.column_lower[k] = fix == LabelSetSearch::kIn ? 1.0 : 0.0;
  p.column_upper[k] = fix == LabelSetSearch::kOut ? 0.0 : 1.0;
  Clp_columnLower(impl_->model.get())[k] = p.column_lower[k];
  Clp_columnUpper(impl_->model.get())[k] = p.column_upper[k];
}

bool CoreRelaxation::solve(CoreSolution& solution) {
  Clp_Simplex* model = impl_->model.get();
  Clp_dual(model, 0);
  if (Clp_isProvenPrimalInfeasible(model)) return false;
  require<Error>(Clp_isProvenOptimal(model), "label sets: CLP ended with status ",
                 Clp_status(model), ", but the linear programme has an optimum");
  const Program& p = impl_->program;
  const double* duals = Clp_dualRowSolution(model);
  const double* x = Clp_primalColumnSolution(model);
  unpack(*impl_->core, p, {x, x + p.num_columns()}, solution);
  bound_by_duals(*impl_->core, p, {duals, duals + p.num_rows()}, solution);
  return true;
}

bool solve_core_exactly(const LabelSetCore& core, std::span<const char> fixings,
                        CoreSolution& solution) {
  const Program program = make_program(core, fixings);
  std::vector<double> x = solve_ilp(program);
  if (x.empty()) return false;
  unpack(core, program, std::move(x), solution);
  return true;
}

}  // namespace margrove::detail
