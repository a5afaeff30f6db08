#pragma once
// Trains the classifiers of families of siblings: for top-down-svm and label-trees.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "data/weight_matrix.hpp"
#include "linear/one_vs_rest.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/executor.hpp"
#include "margrove/results.hpp"
#include "methods/top_down_families.hpp"
#include "model/plan.hpp"

namespace margrove {

/// How the classifiers among siblings are trained.
struct FamilySolver {
  OneVsRestOptions options;
  bool free_intercept = false;
};

/// The fits of families that were trained elsewhere, in the order in which they are asked for;
/// null: none.
struct FamilySource {
  const LabelFitSource& fits;
  std::size_t next = 0;
};

/// A classifier for each node of the families, and how all trainings together ended.
struct FamilyFit {
  WeightMatrix weights;  // a column for each of num_nodes nodes
  FitReport report;
};

/// X has the intercept column; row_weights may be empty. Families have no node in common. The same
/// bits for any executor.
FamilyFit fit_families(const FamilySolver& solver, const std::vector<Family>& families,
                       std::uint32_t num_nodes, const CsrView& X,
                       std::span<const double> row_weights, FamilySource& source,
                       Executor& executor, RunControl& control);

/// The families as problems of their rows: what `source` of fit_families() has the fits of. rows:
/// the row of X that each row of a family stands for; null: itself.
void add_problems(std::vector<Family> families, const std::vector<std::uint32_t>* rows,
                  LabelProblems& problems);

/// The weights of the nodes and then the model, and the narrowed rows and the solver of the largest
/// family.
MemoryEstimate families_memory(const FamilySolver& solver, const std::vector<Family>& families,
                               std::uint32_t num_nodes, const CsrView& X, int num_threads);

}  // namespace margrove
