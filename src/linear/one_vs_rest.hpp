#pragma once
// One linear classifier per label against all rows that do not carry it.

#include <cstdint>
#include <limits>
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
  double tolerance = 1e-3;  // relative duality gap at which training of a label stops
  int max_passes = 1000;    // over the rows for one label
  std::uint64_t seed = 0;   // of the order of the coordinates
  /// No front end shows these options.
  static auto fields() {
    using O = OneVsRestOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_passes", &O::max_passes, at_least(1), {}),
    };
  }
};

/// The dual variables of one label that are not zero (hinge and squared hinge).
struct LabelDuals {
  std::vector<std::uint32_t> rows;  // ascending
  std::vector<double> values;       // 0 < a_i, and a_i <= C_i for hinge
};

struct SparseWeights {
  std::vector<FeatureId> features;  // ascending
  std::vector<float> values;
};

/// What training finds for one label. As long as the label is not trained, `fit.dual` is -infinity.
struct LabelFit {
  BinaryFit fit;
  SparseWeights weights;
  LabelDuals duals;
};

/// Optional parts of the problem. Everything referred to must outlive the call.
struct OneVsRestExtras {
  /// C_i = C * row_weights[i]; empty: all 1.
  std::span<const double> row_weights = {};
  /// Warm starts, one per label. Solvers of the dual use `start_duals` (clipped to their box) and
  /// Newton's method uses `start_weights`; the other one is ignored, so that both may be given.
  /// Empty or null: zero.
  std::span<const LabelDuals> start_duals = {};
  const WeightMatrix* start_weights = nullptr;
  /// The weights of the last column, which must be the same in all rows, are not regularised. Its
  /// value does not change the answer, but it sets the length of proximal steps: about the norm of
  /// a row is right for hinge, more for logistic loss.
  bool free_intercept = false;
  /// Return the dual variables where the dual is solved.
  bool keep_duals = false;
  /// Of the training of which this is a part, if it is one: drops_small_weights() depends on it.
  std::uint32_t num_labels_of_all = 0;
};

struct OneVsRestFit {
  /// num_columns x num_labels, in whichever storage is smaller.
  WeightMatrix weights;
  std::vector<BinaryFit> labels;  // primal, dual, passes, stop: one per label
  std::vector<LabelDuals> duals;  // empty unless keep_duals
  double primal = 0.0;            // sums over the labels
  double dual = 0.0;
  Stop stop = Stop::converged;  // the most severe one of the labels
  double relative_gap() const { return primal > 0 ? (primal - dual) / primal : 0.0; }
};

/// For each label l in [0, num_labels): min_w 1/2 |w|^2 + C sum_i loss(y_il w.x_i), y_il = +1
/// if l is in the set of row i and -1 otherwise. X has its intercept column already
/// (with_intercept). A label without rows is trained on negatives only.
///
/// The primal, dual and gap hold for all rows and for the weights returned. When `control` ends the
/// training, labels not reached have zero weights, that Stop and an infinite gap. Same bits for any
/// executor size. Memory: the result, and for each thread about 700 bytes per column and 300 per
/// row, as sixteen labels share every pass over the rows. Hinge and squared hinge are solved in the
/// dual on working sets; logistic loss by Newton steps, which also continue with squared hinge on
/// few full columns where the working sets are not soon done.
/// Labels on which these converge slowly continue with second-order steps if there are few columns
/// (linear/second_order.hpp), which reach the gap whatever the scales of the columns.
///
/// A label also counts as converged when rounding ends the descent above the tolerance, which its
/// gap shows: float32 weights limit relative gaps to about 1e-7.
///
/// Throws InvalidInput: sizes of X, labels, row weights or warm starts that do not agree; a label
/// >= num_labels; a row weight that is negative or not finite. Throws InvalidOption as validate().
OneVsRestFit train_one_vs_rest(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                               const OneVsRestOptions& options, Executor& executor,
                               RunControl& control, const OneVsRestExtras& extras = {});

/// The labels in blocks of at most sixteen that are trained together, those with the most rows
/// first. Depends on `labels` only. Throws InvalidInput for a label >= num_labels.
std::vector<std::vector<std::uint32_t>> label_blocks(const LabelSets& labels,
                                                     std::uint32_t num_labels);

/// The blocks [begin, end) of label_blocks().
struct BlockRange {
  std::size_t begin = 0;
  std::size_t end = std::numeric_limits<std::size_t>::max();  // or the number of blocks, if less
};
/// One entry per label, of which only those in `blocks` are trained. Labels of different blocks do
/// not depend on each other, so that an entry has the same bits whatever other blocks are trained.
std::vector<LabelFit> train_label_blocks(const CsrView& X, const LabelSets& labels,
                                         std::uint32_t num_labels, const OneVsRestOptions& options,
                                         BlockRange blocks, Executor& executor, RunControl& control,
                                         const OneVsRestExtras& extras = {});
/// Puts the result together from the labels; the duals are left out unless keep_duals.
OneVsRestFit joined(std::uint32_t num_columns, std::vector<LabelFit> labels, Executor& executor,
                    bool keep_duals = false);

/// About how many weights of each label will not be zero. With hinge and squared hinge, the support
/// vectors have few features beyond those of the label's own rows, more with a smaller C; with
/// logistic loss, all features that occur count, also where small weights will be dropped.
std::vector<double> expected_nonzeros(const CsrView& X, const LabelSets& labels,
                                      std::uint32_t num_labels, PointLossKind loss, double C);
/// The same, but where there are many labels and their weights are sparse, sixteen labels from the
/// one with the fewest values in its rows to the one with the most are trained for it, which takes
/// at most a hundredth of the time of all. How many rows support a label depends on how alike the
/// labels are. Where `control` ends this, as expected_nonzeros().
std::vector<double> measured_nonzeros(const CsrView& X, const LabelSets& labels,
                                      std::uint32_t num_labels, const OneVsRestOptions& options,
                                      RunControl& control);

/// The memory of train_one_vs_rest() beside X, the weights returned included, of which each label
/// has so many that are not zero.
MemoryEstimate one_vs_rest_memory(const CsrView& X, const LabelSets& labels,
                                  std::uint32_t num_labels, const OneVsRestOptions& options,
                                  int num_threads, std::span<const double> nonzeros_of_labels);

namespace detail {

/// Whether labels are trained by Newton's method, which makes many passes over all rows.
/// Coordinate descent makes many over a few rows, but may take longer when the columns are few and
/// full, or rows are long.
bool prefers_newton(const CsrView& X, std::span<const double> squared_norms, PointLossKind loss,
                    double C);

/// The number of parts in which joined() makes so many weights, of which one is in memory twice.
std::size_t parts_of_weights(double nonzeros);

/// Whether small weights are zero where the gap stays within the tolerance: with logistic loss,
/// which has no other zeros, where the weights of all labels would take more than a gigabyte.
bool drops_small_weights(PointLossKind loss, std::size_t num_used_columns,
                         std::uint32_t num_labels);

}  // namespace detail

}  // namespace margrove
