#pragma once
// Hierarchical SVMs for multi-label data, trained as structured SVMs over upward closed label sets.
//
//   min  sum_n ||W_n||^2 / 2 + C sum_i c_i max_y psi(m_i(y), |L ∩ (y △ y_i)|),
//   m_i(y) = f(x_i, y) - f(x_i, y_i),
//   f(x, y) = sum over n in y of sqrt(alpha_n) W_n · x,
//
// where y ranges over the unions of A(l) over non-empty sets of leaves, and L is the set of leaves
// or of all nodes; or, with psi = m + g^(1/2), g is the weight of y △ y_i. For margin rescaling y
// may range over the linear relaxation of these sets, to which f and the loss are extended linearly
// (NHSVM, section 5).

#include <span>

#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {

/// leaves_of_row[i]: the leaves of row i, one or more. The other arguments are as of
/// train_path_svm(). The gap is that of the problem that `task` names. Throws InvalidOption for
/// relaxed inference with a surrogate other than margin.
PathSvmResult train_label_set_svm(const CsrView& X, const LabelSets& leaves_of_row,
                                  const LabelGraph& graph, std::span<const double> alpha,
                                  LabelSetTask task, const StructuredTraining& training,
                                  Executor& executor, RunControl& control,
                                  std::span<const double> row_weights = {},
                                  const Continuation& continuation = {});

}  // namespace margrove
