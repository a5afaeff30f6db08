// The core as a linear or integer programme for COIN-OR.

#include <coin/Cbc_C_Interface.h>
#include <coin/Clp_C_Interface.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "label_sets/label_set_core.hpp"
#include "margrove/errors.hpp"
#include "numerics/coefficient_scale.hpp"

namespace margrove::detail {
namespace {

// The programme by columns: z of every node, then u of the nodes with a reserve. Rows: z_c - z_p <=
// 0; u_k + sum_c z_c - z_k >= 0; u_k - z_k <= 0; and at least one leaf, counted by grounded nodes
// and reserves, which does not follow from the others for fractions.
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

// allowed: one per node, or empty for all nodes.
Program make_program(const LabelSetCore& core, std::span<const char> allowed) {
  Program p;
  std::vector<std::vector<Entry>> columns(core.size());
  std::vector<std::array<Entry, 3>> reserve_columns;
  const auto add_row = [&](double lower, double upper) {
    p.row_lower.push_back(lower);
    p.row_upper.push_back(upper);
    return p.num_rows() - 1;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const auto is_out = [&](std::uint32_t k) { return !allowed.empty() && !allowed[k]; };
  for (std::uint32_t c = 0; c < core.size(); ++c) {
    for (const auto parent : core.parents[c]) {
      if (is_out(c)) continue;
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
    if (is_out(k)) continue;
    const int row = add_row(0, infinity);
    columns[k].push_back({row, -1});
    for (const auto c : core.children[k]) {
      if (!is_out(c)) columns[c].push_back({row, 1});
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
    add_column(columns[k], core.weight[k], k == 0 ? 1.0 : 0.0, is_out(k) ? 0.0 : 1.0);
  }
  for (std::size_t j = 0; j < reserve_columns.size(); ++j) {
    add_column(reserve_columns[j], core.reserve[p.node_of_reserve[j]], 0.0, 1.0);
  }
  const double scale = coefficient_scale(p.cost);
  for (double& cost : p.cost) cost /= scale;
  return p;
}

// x: one value per column.
void unpack(const LabelSetCore& core, const Program& p, const double* x, CoreSolution& solution) {
  const auto value = [&](std::size_t j) {
    const double nearest = x[j] > 0.5 ? 1.0 : 0.0;
    return std::fabs(x[j] - nearest) < 1e-9 ? nearest : x[j];
  };
  solution.z.resize(core.size());
  for (std::uint32_t k = 0; k < core.size(); ++k) solution.z[k] = value(k);
  solution.u.assign(core.size(), 0.0);
  for (std::size_t j = 0; j < p.node_of_reserve.size(); ++j) {
    solution.u[p.node_of_reserve[j]] = value(core.size() + j);
  }
}

// load_problem: the function of CLP or of CBC, which take the same arguments.
template <class Load, class Model>
void load(const Load& load_problem, Model* model, const Program& p) {
  load_problem(model, p.num_columns(), p.num_rows(), p.starts.data(), p.rows.data(),
               p.values.data(), p.column_lower.data(), p.column_upper.data(), p.cost.data(),
               p.row_lower.data(), p.row_upper.data());
}

}  // namespace

void solve_core_relaxation(const LabelSetCore& core, CoreSolution& solution) {
  const Program p = make_program(core, {});
  const std::unique_ptr<Clp_Simplex, decltype(&Clp_deleteModel)> owner(Clp_newModel(),
                                                                       &Clp_deleteModel);
  Clp_Simplex* const model = owner.get();
  Clp_setLogLevel(model, 0);
  load(Clp_loadProblem, model, p);
  Clp_setOptimizationDirection(model, -1);
  Clp_scaling(model, 0);            // all entries are 1 or -1
  Clp_setPerturbation(model, 100);  // none
  Clp_dual(model, 0);
  require<Error>(Clp_isProvenOptimal(model), "label sets: CLP ended with status ",
                 Clp_status(model), ", but the linear programme has an optimum");
  unpack(core, p, Clp_primalColumnSolution(model), solution);
}

bool solve_core_exactly(const LabelSetCore& core, std::span<const char> allowed,
                        CoreSolution& solution) {
  const Program p = make_program(core, allowed);
  const std::unique_ptr<Cbc_Model, decltype(&Cbc_deleteModel)> owner(Cbc_newModel(),
                                                                     &Cbc_deleteModel);
  Cbc_Model* const model = owner.get();
  Cbc_setLogLevel(model, 0);
  load(Cbc_loadProblem, model, p);
  Cbc_setObjSense(model, -1);
  for (int j = 0; j < p.num_columns(); ++j) Cbc_setInteger(model, j);
  Cbc_setParameter(model, "log", "0");
  Cbc_setParameter(model, "increment", "1e-12");
  Cbc_setParameter(model, "ratioGap", "0");
  Cbc_setParameter(model, "allowableGap", "0");
  Cbc_solve(model);
  if (Cbc_isProvenInfeasible(model)) return false;
  require<Error>(Cbc_isProvenOptimal(model), "label sets: CBC ended with status ",
                 Cbc_status(model), ", but the integer programme has an optimum");
  unpack(core, p, Cbc_getColSolution(model), solution);
  return true;
}

}  // namespace margrove::detail
