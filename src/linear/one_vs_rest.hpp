#pragma once
// One linear classifier per label against all rows that do not carry it.

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "data/weight_matrix.hpp"
#include "linear/binary_linear.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "margrove/point_loss_kind.hpp"

namespace margrove {

struct OneVsRestOptions {
  PointLossKind loss = PointLossKind::hinge;
  double C = 1.0;
  double tolerance = 1e-3;
  int max_passes = 1000;
  std::uint64_t seed = 0;
  static auto fields() {
    return std::tuple{
        field("loss", &OneVsRestOptions::loss, "loss of each row's margin"),
        field("C", &OneVsRestOptions::C, positive, "weight of the loss against 1/2 |w|^2"),
        field("tolerance", &OneVsRestOptions::tolerance, positive,
              "relative duality gap at which a label is done"),
        field("max_passes", &OneVsRestOptions::max_passes, at_least(1),
              "passes over the rows for one label, at most"),
        field("seed", &OneVsRestOptions::seed, at_least(0), "order of the coordinates"),
    };
  }
};

/// The dual variables of one label that are not zero (hinge and squared hinge).
struct LabelDuals {
  std::vector<std::uint32_t> rows;  // ascending
  std::vector<double> values;       // 0 < a_i, and a_i <= C_i for hinge
};

/// What may be added to the plain problem. Everything referred to must outlive the call.
struct OneVsRestExtras {
  /// C_i = C * row_weights[i]; empty: all 1.
  std::span<const double> row_weights = {};
  /// Label l is regularised towards column prior_nodes[l] of `prior` instead of zero (HR: the
  /// parent's weights). prior_nodes empty: column l. Null: zero.
  const WeightMatrix* prior = nullptr;
  std::span<const std::uint32_t> prior_nodes = {};
  /// Warm starts, one per label: `start_duals` (clipped to their box) where the dual is solved,
  /// `start_weights` (the difference from the prior, as returned) where Newton steps are taken;
  /// the other one is ignored, so that both may be given. Empty or null: zero.
  std::span<const LabelDuals> start_duals = {};
  const WeightMatrix* start_weights = nullptr;
  /// Return the dual variables where the dual is solved.
  bool keep_duals = false;
};

struct OneVsRestFit {
  /// w_l, or w_l minus its prior: num_columns x num_labels, in whichever storage is smaller.
  WeightMatrix weights;
  std::vector<BinaryFit> labels;  // primal, dual, passes, stop: one per label
  std::vector<LabelDuals> duals;  // empty unless asked for
  double primal = 0.0;            // sums over the labels
  double dual = 0.0;
  Stop stop = Stop::converged;  // the most severe one of the labels
  double relative_gap() const { return primal > 0 ? (primal - dual) / primal : 0.0; }
};

/// For each label l in [0, num_labels): min_w 1/2 |w - p_l|^2 + C sum_i loss(y_il w.x_i), y_il = +1
/// if l is in the set of row i and -1 otherwise. X has its intercept column already
/// (with_intercept). A label without rows is trained on negatives only.
///
/// The primal, dual and gap hold for all rows and for the weights returned. When `control` ends the
/// work, labels not reached keep their start (zero) weights, with that Stop and an infinite gap.
/// Same bits for any executor size. Memory: the result, plus about 700 bytes per column and 300 per
/// row for each thread: sixteen labels share every pass over the rows. Hinge and squared hinge
/// solve the dual on working sets; logistic, and squared hinge on few full columns, takes Newton
/// steps. Labels that either is slow on go on with second-order steps where there are few columns
/// (linear/second_order.hpp): these are what reaches the gap on columns of any scale.
///
/// A label also counts as converged when rounding ends the descent above the tolerance; its gap
/// tells: float32 weights limit relative gaps to about 1e-7.
///
/// Throws InvalidInput: sizes of X, labels, row weights or warm starts that do not agree; a label
/// >= num_labels; a row weight that is negative or not finite. Throws InvalidOption as validate().
OneVsRestFit train_one_vs_rest(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                               const OneVsRestOptions& options, Executor& executor,
                               RunControl& control, const OneVsRestExtras& extras = {});

/// What that will take beside X, the weights returned included.
MemoryEstimate one_vs_rest_memory(const CsrView& X, const LabelSets& labels,
                                  std::uint32_t num_labels, const OneVsRestOptions& options,
                                  int num_threads);

/// How many weights of each label will not be zero, about: hinge's support vectors touch few
/// features beyond those of the label's own rows, the smooth losses touch all that occur.
std::vector<double> expected_nonzeros(const CsrView& X, const LabelSets& labels,
                                      std::uint32_t num_labels, PointLossKind loss);

}  // namespace margrove
