#include "methods/family_fit.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "outputs/leaf_sets.hpp"

namespace margrove {
namespace {

/// Rows with only the columns that they use.
struct NarrowRows {
  CsrMatrix X;
  std::vector<FeatureId> columns;  // column of X -> original column, ascending
};

/// The columns of the rows, ascending.
std::vector<FeatureId> used_columns(const CsrView& X, std::span<const std::uint32_t> rows) {
  std::size_t entries = 0;
  for (const std::uint32_t i : rows) entries += X.row(i).size();
  std::vector<FeatureId> columns;
  if (entries * 16 < X.num_columns()) {  // sorting takes less than a pass over all columns
    for (const std::uint32_t i : rows) {
      const auto own = X.row(i).columns;
      columns.insert(columns.end(), own.begin(), own.end());
    }
    std::ranges::sort(columns);
    const auto repeated = std::ranges::unique(columns);
    columns.erase(repeated.begin(), repeated.end());
    return columns;
  }
  std::vector<bool> is_used(X.num_columns(), false);
  for (const std::uint32_t i : rows) {
    for (const FeatureId j : X.row(i).columns) is_used[j] = true;
  }
  for (FeatureId j = 0; j < X.num_columns(); ++j) {
    if (is_used[j]) columns.push_back(j);
  }
  return columns;
}

NarrowRows narrow(const CsrView& X, std::span<const std::uint32_t> rows) {
  NarrowRows narrow;
  narrow.columns = used_columns(X, rows);
  narrow.X = CsrMatrix(static_cast<std::uint32_t>(narrow.columns.size()));
  // Uninitialised: a small family must not touch an entry for each column of X.
  const auto places = std::make_unique_for_overwrite<FeatureId[]>(X.num_columns());
  for (std::size_t k = 0; k < narrow.columns.size(); ++k) {
    places[narrow.columns[k]] = static_cast<FeatureId>(k);
  }
  std::vector<FeatureId> columns;
  for (const std::uint32_t i : rows) {
    columns.clear();
    for (const FeatureId j : X.row(i).columns) columns.push_back(places[j]);
    narrow.X.append_row(columns, X.row(i).values);
  }
  return narrow;
}

/// With features in the columns of X.
std::vector<LabelFit> fit_children(const FamilySolver& solver, const Family& family,
                                   const CsrView& X, std::span<const double> row_weights,
                                   Executor& executor, RunControl& control) {
  const NarrowRows rows = narrow(X, family.rows);
  const std::vector<double> weights = kept_weights(row_weights, family.rows);
  OneVsRestExtras extras;
  extras.row_weights = weights;
  extras.free_intercept = solver.free_intercept;
  std::vector<LabelFit> children = train_label_blocks(
      rows.X, family.sets, family.num_trained(), solver.options, {}, executor, control, extras);
  for (LabelFit& child : children) {
    for (FeatureId& j : child.weights.features) j = rows.columns[j];
  }
  return children;
}

/// The fits of one training, whose labels become nodes.
struct NodeFits {
  explicit NodeFits(std::uint32_t num_nodes) : of_node(num_nodes) {}

  std::vector<LabelFit> of_node;

  /// Takes those of a family. Families have no node in common, so that threads may add them.
  void take(const Family& family, std::vector<LabelFit> trained) {
    for (std::size_t k = 0; k < trained.size(); ++k) {
      of_node[family.children[k]] = std::move(trained[k]);
    }
    if (!family.is_mirrored) return;
    LabelFit& second = of_node[family.children[1]];
    second = of_node[family.children[0]];
    for (float& value : second.weights.values) value = -value;
  }

  /// In the order of the families.
  FitReport report(const std::vector<Family>& families) const {
    FitReport report;
    report.primal = report.dual = 0;
    for (const Family& family : families) {
      double primal = 0, dual = 0;
      for (const NodeId child : family.children) {
        const BinaryFit& fit = of_node[child].fit;
        primal += fit.primal;
        dual += fit.dual;
        report.passes = std::max(report.passes, fit.passes);
        report.stop = std::max(report.stop, fit.stop);
      }
      report.primal += primal;
      report.dual += dual;
    }
    report.relative_gap = report.primal > 0 ? (report.primal - report.dual) / report.primal : 0.0;
    return report;
  }
};

}  // namespace

FamilyFit fit_families(const FamilySolver& solver, const std::vector<Family>& families,
                       std::uint32_t num_nodes, const CsrView& X,
                       std::span<const double> row_weights, FamilySource& source,
                       Executor& executor, RunControl& control) {
  // Families of several classifiers with at least so many rows use all threads.
  constexpr std::size_t kManyRows = 4096;
  NodeFits fits(num_nodes);
  std::vector<std::size_t> small;  // on a thread each
  for (std::size_t f = 0; f < families.size(); ++f) {
    if (source.fits) {
      fits.take(families[f], source.fits(source.next++));
    } else if (families[f].rows.size() < kManyRows || families[f].num_trained() == 1) {
      small.push_back(f);
    } else {
      fits.take(families[f], fit_children(solver, families[f], X, row_weights, executor, control));
    }
  }
  executor.for_each(small.size(), [&](std::size_t k, int) {
    const Family& family = families[small[k]];
    fits.take(family, fit_children(solver, family, X, row_weights, executor, control));
  });
  FamilyFit result;
  result.report = fits.report(families);
  if (!std::isfinite(result.report.primal)) {  // diverged: there is no model
    for (LabelFit& fit : fits.of_node) fit.weights = {};
  }
  result.weights = joined(X.num_columns(), std::move(fits.of_node), executor).weights;
  return result;
}

void add_problems(std::vector<Family> families, const std::vector<std::uint32_t>* rows,
                  LabelProblems& problems) {
  for (Family& family : families) {
    for (std::uint32_t& i : family.rows) i = rows != nullptr ? (*rows)[i] : i;
    problems.problems.push_back(
        {std::move(family.rows), std::move(family.sets), family.num_trained()});
  }
}

MemoryEstimate families_memory(const FamilySolver& solver, const std::vector<Family>& families,
                               std::uint32_t num_nodes, const CsrView& X, int num_threads) {
  MemoryEstimate largest;
  double weights = 0, members = 0;
  for (const Family& family : families) {
    const std::uint32_t num_trained = family.num_trained();
    const CsrMatrix rows = narrow(X, family.rows).X;
    const std::vector<double> nonzeros =
        expected_nonzeros(rows, family.sets, num_trained, solver.options.loss, solver.options.C);
    for (const double each : nonzeros) weights += family.is_mirrored ? 2 * each : each;
    MemoryEstimate own =
        one_vs_rest_memory(rows, family.sets, num_trained, solver.options, 1, nonzeros);
    own.add("rows of a family", 8.0 * static_cast<double>(rows.view().num_nonzeros()) +
                                    8.0 * static_cast<double>(X.num_columns()));
    largest = larger_of(std::move(largest), std::move(own));
    members += static_cast<double>(family.rows.size() + family.sets.num_labels_total());
  }
  MemoryEstimate training = largest.times(num_threads), model;
  const double dense = 4.0 * static_cast<double>(X.num_columns()) * num_nodes;
  model.add("model", std::min(8 * weights, dense) + 8.0 * static_cast<double>(X.num_columns()));
  training = larger_of(std::move(training), std::move(model));
  training.add("families", 12 * members);
  const auto parts =
      8 * weights < dense ? static_cast<double>(detail::parts_of_weights(weights)) : 1;
  training.add("weights of the nodes", 8 * weights / parts);
  return training;
}

}  // namespace margrove
