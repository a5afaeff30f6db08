#pragma once
// Hierarchical SVMs for multi-label data, trained as structured SVMs over upward closed label sets.
//
//   min  sum_n ||W_n||^2 / 2 + C sum_i c_i max_y [ f(x_i, y) - f(x_i, y_i) + |L ∩ (y △ y_i)| ],
//   f(x, y) = sum over n in y of sqrt(alpha_n) W_n · x,
//
// y over the unions of A(l) of non-empty sets of leaves, L the leaves; with inference = relaxed
// over the linear relaxation of these sets, f and the loss extended linearly (NHSVM, section 5).

#include <cstdint>
#include <span>
#include <string>

#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {

struct LabelSetSvmOptions {
  double C = 1.0;
  std::string inference = "exact";
  std::string solver = "bcfw";
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
  std::uint64_t seed = 0;

  static auto fields() {
    return std::tuple{
        field("C", &LabelSetSvmOptions::C, positive, "loss weight"),
        field("inference", &LabelSetSvmOptions::inference, Choices{{"exact", "relaxed"}},
              "the most violating label set, or the maximum of its linear relaxation: no different "
              "on trees"),
        field("solver", &LabelSetSvmOptions::solver, Choices{{"bcfw", "sgd"}},
              "bcfw: block-coordinate Frank-Wolfe, up to a duality gap; sgd: averaged stochastic "
              "subgradients, for a number of passes"),
        field("tolerance", &LabelSetSvmOptions::tolerance, positive,
              "bcfw: relative duality gap to stop at"),
        field("max_passes", &LabelSetSvmOptions::max_passes, at_least(1),
              "bcfw: passes over the data"),
        field("epochs", &LabelSetSvmOptions::epochs, at_least(1), "sgd: passes over the rows"),
        field("seed", &LabelSetSvmOptions::seed, non_negative, "order of the examples"),
    };
  }
};

/// leaves_of_row[i]: the leaves of row i, one or more. Otherwise as train_path_svm; memory too.
/// The gap is that of the problem with the chosen inference, and certified.
PathSvmResult train_label_set_svm(const CsrView& X, const LabelSets& leaves_of_row,
                                  const LabelGraph& graph, std::span<const double> alpha,
                                  const LabelSetSvmOptions& options, Executor& executor,
                                  RunControl& control, std::span<const double> row_weights = {},
                                  const Continuation& continuation = {});

}  // namespace margrove
