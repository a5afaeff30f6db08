#include "linear/one_vs_rest.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/free_memory.hpp"
#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "linear/block_solvers.hpp"
#include "linear/dual_descent.hpp"
#include "linear/row_costs.hpp"
#include "linear/second_order.hpp"
#include "linear/used_columns.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// The rows of each label, ascending.
std::vector<std::vector<std::uint32_t>> rows_by_label(const LabelSets& labels,
                                                      std::uint32_t num_labels) {
  std::vector<std::vector<std::uint32_t>> rows(num_labels);
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId label : labels[i]) {
      require(label < num_labels, "one_vs_rest: label of row ", i, " is ", label,
              ", but must be < ", num_labels);
      rows[label].push_back(static_cast<std::uint32_t>(i));
    }
  }
  return rows;
}

void check_input(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                 const OneVsRestExtras& extras) {
  require(labels.num_rows() == X.num_rows(), "one_vs_rest: ", labels.num_rows(),
          " label sets, but must be one for each of the ", X.num_rows(), " rows");
  require(extras.row_weights.empty() || extras.row_weights.size() == X.num_rows(),
          "one_vs_rest: ", extras.row_weights.size(), " row weights, but must be ", X.num_rows());
  for (std::size_t i = 0; i < extras.row_weights.size(); ++i) {
    const double weight = extras.row_weights[i];
    require(std::isfinite(weight) && weight >= 0, "one_vs_rest: weight of row ", i, " is ", weight,
            ", but must be >= 0");
  }
  require(extras.start_duals.empty() || extras.start_duals.size() == num_labels,
          "one_vs_rest: ", extras.start_duals.size(), " sets of dual variables, but must be ",
          num_labels);
  for (std::size_t l = 0; l < extras.start_duals.size(); ++l) {
    const LabelDuals& duals = extras.start_duals[l];
    require(duals.rows.size() == duals.values.size() &&
                (duals.rows.empty() ||
                 *std::max_element(duals.rows.begin(), duals.rows.end()) < X.num_rows()),
            "one_vs_rest: the dual variables of label ", l, " do not fit the rows");
  }
  if (extras.start_weights != nullptr) {
    require(extras.start_weights->num_features() == X.num_columns() &&
                extras.start_weights->num_nodes() == num_labels,
            "one_vs_rest: start weights are ", extras.start_weights->num_features(), " x ",
            extras.start_weights->num_nodes(), ", but must be ", X.num_columns(), " x ",
            num_labels);
  }
}

using namespace detail;

/// visit(l, feature, value) for the weights of features in [begin, end), labels in order.
template <class Visit>
void for_features(const std::vector<SparseWeights>& columns, std::size_t begin, std::size_t end,
                  const Visit& visit) {
  for (std::uint32_t l = 0; l < columns.size(); ++l) {
    const auto& features = columns[l].features;
    const auto first = std::lower_bound(features.begin(), features.end(), begin);
    for (auto k = static_cast<std::size_t>(first - features.begin());
         k < features.size() && features[k] < end; ++k) {
      visit(l, features[k], columns[l].values[k]);
    }
  }
}

/// Gives the memory of the weights of features below `end` back.
void drop_features_below(std::size_t end, std::vector<SparseWeights>& columns, Executor& executor) {
  executor.for_ranges(columns.size(), 64, [&](std::size_t first, std::size_t last, int) {
    for (std::size_t l = first; l < last; ++l) {
      auto& [features, values] = columns[l];
      const auto kept = std::lower_bound(features.begin(), features.end(), end) - features.begin();
      values = std::vector<float>(values.begin() + kept, values.end());
      features = std::vector<FeatureId>(features.begin() + kept, features.end());
    }
  });
  return_free_memory();
}

/// Makes one row per feature from one column per label, a few features at a time, whose part of the
/// result stays in cache while all labels write to it. Of large weights, only a part is in memory
/// twice.
WeightMatrix assemble(std::uint32_t num_features, std::vector<SparseWeights> columns,
                      Executor& executor) {
  constexpr std::size_t kFeatures = 64;
  const auto num_labels = static_cast<std::uint32_t>(columns.size());
  std::vector<std::int64_t> pointers(std::size_t{num_features} + 1, 0);
  executor.for_ranges(num_features, kFeatures, [&](std::size_t begin, std::size_t end, int) {
    for_features(columns, begin, end,
                 [&](std::uint32_t, FeatureId j, float) { ++pointers[std::size_t{j} + 1]; });
  });
  for (std::size_t j = 0; j < num_features; ++j) pointers[j + 1] += pointers[j];
  const auto size = static_cast<std::size_t>(pointers.back());
  const std::size_t area = std::size_t{num_features} * num_labels;
  if (area * sizeof(float) <= size * (sizeof(float) + sizeof(FeatureId))) {
    WeightMatrix W = WeightMatrix::dense(num_features, num_labels);
    float* const values = W.dense_values().data();
    executor.for_ranges(num_features, kFeatures, [&](std::size_t begin, std::size_t end, int) {
      for_features(columns, begin, end, [&](std::uint32_t l, FeatureId j, float value) {
        values[std::size_t{j} * num_labels + l] = value;
      });
    });
    return W;
  }
  std::vector<FeatureId> nodes;
  std::vector<float> values;
  nodes.reserve(size);
  values.reserve(size);
  const std::size_t num_parts = parts_of_weights(static_cast<double>(size));
  for (std::size_t part = 1, start = 0, stop = 0; part <= num_parts; ++part, start = stop) {
    const auto most = static_cast<std::int64_t>(size * part / num_parts);
    stop =
        static_cast<std::size_t>(std::ranges::upper_bound(pointers, most) - pointers.begin()) - 1;
    nodes.resize(static_cast<std::size_t>(pointers[stop]));
    values.resize(nodes.size());
    executor.for_ranges(stop - start, kFeatures, [&](std::size_t first, std::size_t last, int) {
      const std::size_t begin = start + first, end = start + last;
      std::vector<std::int64_t> next(pointers.data() + begin, pointers.data() + end);
      for_features(columns, begin, end, [&](std::uint32_t l, FeatureId j, float value) {
        const auto slot = static_cast<std::size_t>(next[j - begin]++);
        nodes[slot] = l;
        values[slot] = value;
      });
    });
    if (part < num_parts) drop_features_below(stop, columns, executor);
  }
  return WeightMatrix::sparse(
      CsrMatrix(num_labels, std::move(pointers), std::move(nodes), std::move(values)));
}

bool has_few_full_columns(const CsrView& X) {
  const double area = static_cast<double>(X.num_rows()) * X.num_columns();
  return 16 * std::size_t{X.num_columns()} <= X.num_rows() &&
         static_cast<double>(X.num_nonzeros()) > 0.5 * area;
}

/// Whether C |x|^2 is large for the mean row, as in tables of counts: a step of coordinate descent
/// for one row then moves the scores of many others beyond their margins.
bool has_long_rows(const CsrView& X, std::span<const double> squared_norms, double C) {
  constexpr std::size_t kMaxColumns = 20'000;  // so that weights without zeros are small
  constexpr double kLong = 10;
  if (X.num_columns() > kMaxColumns || squared_norms.empty()) return false;
  const double sum = std::accumulate(squared_norms.begin(), squared_norms.end(), 0.0);
  return C * sum >= kLong * static_cast<double>(squared_norms.size());
}

/// The passes of coordinate descent after which Newton's method continues with squared hinge. By
/// then they have taken about as long as Newton's method will, so that the total time is at most
/// twice that of the better method: few passes are enough where a label has few rows with loss.
int passes_before_newton(std::size_t num_columns, int max_passes) {
  constexpr std::size_t kFewestPasses = 4;
  constexpr std::size_t kColumnsPerPass = 6;  // building a Hessian takes as long
  return std::min(max_passes, static_cast<int>(kFewestPasses + num_columns / kColumnsPerPass));
}

/// Columns (nodes) of a weight matrix, read many times.
class NodeReader {
 public:
  NodeReader(const WeightMatrix* W, const UsedColumns& used) : W_(W), used_(used) {
    if (W_ != nullptr && !W_->is_dense()) by_node_ = transpose(W_->sparse_values());
  }
  explicit operator bool() const { return W_ != nullptr; }

  /// weights[j].at[lane] = W[j][node]; the lane must be zero.
  void read(std::uint32_t node, std::size_t lane, std::span<Lanes> weights) const {
    if (!W_->is_dense()) {
      const SparseRow w = by_node_.row(node);
      for (std::size_t k = 0; k < w.size(); ++k) {
        const FeatureId j = used_.renumbered(w.columns[k]);
        if (j != UsedColumns::kUnused) weights[j].at[lane] = w.values[k];
      }
      return;
    }
    for (FeatureId j = 0; j < weights.size(); ++j) {
      const FeatureId original = used_.original()[j];
      weights[j].at[lane] = W_->dense_row(original)[node];
    }
  }

 private:
  const WeightMatrix* W_;
  const UsedColumns& used_;
  CsrMatrix by_node_;
};

/// Labels in blocks of at most sixteen, those with the most rows first, so that the labels of a
/// block need about the same number of passes. There are at least eight blocks if there are as many
/// labels, which keeps several threads busy. Depends on the data only.
std::vector<std::vector<std::uint32_t>> make_blocks(
    const std::vector<std::vector<std::uint32_t>>& positives) {
  std::vector<std::uint32_t> order(positives.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return positives[a].size() > positives[b].size();
  });
  const std::size_t width = std::clamp<std::size_t>((order.size() + 7) / 8, 1, kLanes);
  std::vector<std::vector<std::uint32_t>> blocks;
  for (std::size_t begin = 0; begin < order.size(); begin += width) {
    const std::size_t end = std::min(order.size(), begin + width);
    blocks.emplace_back(order.begin() + begin, order.begin() + end);
  }
  return blocks;
}

/// One call of train_one_vs_rest().
class Training {
 public:
  Training(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
           const OneVsRestOptions& options, BlockRange range, Executor& executor,
           RunControl& control, const OneVsRestExtras& extras)
      : extras_(extras),
        control_(control),
        used_(X),
        positives_(rows_by_label(labels, num_labels)),
        norms_(margrove::squared_norms(X)),
        costs_(row_costs(options.C, extras.row_weights, X.num_rows())),
        use_newton_(prefers_newton(used_.view(), norms_, options.loss, options.C)),
        start_weights_(use_newton_ ? extras.start_weights : nullptr, used_),
        outputs_(num_labels),
        num_workers_(executor.size()),
        scratch_(static_cast<std::size_t>(executor.size())) {
    problem_ = {.X = used_.view(),
                .tail = dense_tail(used_.view()),
                .squared_norms = norms_,
                .costs = costs_,
                .total_cost = std::accumulate(costs_.begin(), costs_.end(), 0.0),
                .loss = options.loss,
                .tolerance = options.tolerance,
                .max_passes = options.max_passes,
                .seed = options.seed};
    problem_.drops_small_weights = drops_small_weights(
        options.loss, used_.original().size(), std::max(num_labels, extras.num_labels_of_all));
    if (!start_weights_) problem_.constant_column = constant_column(problem_.X);
    if (extras.free_intercept) {
      problem_.free_intercept = free_intercept_column(problem_.X, "one_vs_rest");
    }
    use_working_sets_ =
        !use_newton_ || (problem_.loss != PointLossKind::logistic && !start_weights_);
    passes_first_ = passes_before_second_order(problem_.X.num_rows(), problem_.X.num_columns(),
                                               problem_.X.num_nonzeros(), options.max_passes);
    const std::int64_t all_positives =
        std::accumulate(positives_.begin(), positives_.end(), std::int64_t{0},
                        [](std::int64_t sum, const auto& rows) { return sum + std::ssize(rows); });
    mean_positives_ = 1 + all_positives / std::max<std::int64_t>(num_labels, 1);
    const auto blocks = make_blocks(positives_);
    const std::size_t end = std::min(range.end, blocks.size());
    const std::size_t begin = std::min(range.begin, end);
    for (std::size_t b = begin; b < end; ++b) {
      num_labels_ += std::ssize(blocks[b]);
      work_left_ += expected_work(blocks[b]);
    }
    executor.for_each(end - begin, [&](std::size_t index, int worker) {
      train_block(blocks[begin + index], scratch_[static_cast<std::size_t>(worker)]);
    });
  }

  std::vector<LabelFit> finish() { return std::move(outputs_); }

 private:
  // The loss of a label with rows of one sign, which a free intercept takes to zero, and its share
  // of the costs.
  static constexpr double kNothing = 1e-9;

  /// What the labels of a block are expected to take, in rows: half is the same for all labels, and
  /// half in proportion to the rows that have the label.
  std::int64_t expected_work(const std::vector<std::uint32_t>& labels) const {
    std::int64_t rows = 0;
    for (const std::uint32_t label : labels) rows += std::ssize(positives_[label]);
    return rows + std::ssize(labels) * mean_positives_;
  }

  void train_block(const std::vector<std::uint32_t>& labels, BlockScratch& scratch) {
    if (!control_.proceed()) {
      const double at_zero = visit_point_loss(
          problem_.loss, [&](auto loss) { return loss.value(0.0) * problem_.total_cost; });
      for (const std::uint32_t label : labels) {
        outputs_[label].fit = {.primal = at_zero, .dual = 0, .stop = control_.stop_reason()};
        fall_back_to_constant(label);
      }
      return;
    }
    // More than is due, because most blocks take less.
    constexpr double kGenerosity = 1.5;
    const std::int64_t work = expected_work(labels);
    const double part = static_cast<double>(work) / static_cast<double>(work_left_.fetch_sub(work));
    RunControl share(control_, nullptr,
                     control_.seconds_left() * std::min(1.0, kGenerosity * part * num_workers_));
    std::vector<LaneInput> inputs;
    for (const std::uint32_t label : labels) {
      inputs.push_back({label, positives_[label],
                        extras_.start_duals.empty() ? nullptr : &extras_.start_duals[label]});
    }
    std::vector<LaneOutput> outputs(labels.size());
    BlockProblem first = problem_;
    if (passes_first_ > 0) first.max_passes = std::min(first.max_passes, passes_first_);
    if (use_working_sets_) solve_by_working_sets(first, inputs, scratch, share, outputs);
    if (use_newton_) solve_by_newton(first, inputs, scratch, share, outputs);
    if (use_newton_ && problem_.loss == PointLossKind::squared_hinge && passes_first_ == 0) {
      descend_from_duals(first, inputs, scratch, share, outputs);
    }
    for (std::size_t l = 0; l < labels.size() && passes_first_ > 0; ++l) {
      if (!is_above_tolerance(outputs[l].fit)) continue;
      solve_second_order(problem_, inputs[l], share, outputs[l]);
    }
    for (std::size_t l = 0; l < labels.size(); ++l) {
      for (FeatureId& j : outputs[l].weights.features) j = used_.original()[j];
      outputs_[labels[l]] = std::move(outputs[l]);
      if (!extras_.keep_duals) outputs_[labels[l]].duals = {};  // as large as the weights, often
      fall_back_to_constant(labels[l]);
      report(outputs_[labels[l]].fit);
    }
  }

  void solve_by_working_sets(BlockProblem problem, std::span<const LaneInput> inputs,
                             BlockScratch& scratch, RunControl& share,
                             std::span<LaneOutput> outputs) const {
    if (use_newton_) {
      problem.max_passes = passes_before_newton(problem.X.num_columns(), problem.max_passes);
    }
    solve_working_sets(problem, inputs, scratch, share, outputs);
  }

  /// Labels of a block that no solver has brought to the tolerance yet, and their places in it.
  struct OpenLabels {
    std::vector<std::size_t> places;
    std::vector<LaneInput> inputs;
    int passes = 0;  // the most that any of them has made
  };

  OpenLabels open_labels(std::span<const LaneInput> inputs,
                         std::span<const LaneOutput> outputs) const {
    OpenLabels open;
    for (std::size_t l = 0; l < inputs.size(); ++l) {
      if (outputs[l].fit.passes > 0 && !is_above_tolerance(outputs[l].fit)) continue;
      open.places.push_back(l);
      open.inputs.push_back(inputs[l]);
      open.passes = std::max(open.passes, outputs[l].fit.passes);
    }
    return open;
  }

  /// From the start weights, or those that the working sets have left above the tolerance.
  void solve_by_newton(const BlockProblem& problem, std::span<const LaneInput> inputs,
                       BlockScratch& scratch, RunControl& share,
                       std::span<LaneOutput> outputs) const {
    const OpenLabels open = open_labels(inputs, outputs);
    if (open.places.empty()) return;
    scratch.weights.assign(problem.X.num_columns(), Lanes{});
    for (std::size_t lane = 0; lane < open.places.size(); ++lane) {
      const SparseWeights& w = outputs[open.places[lane]].weights;
      for (std::size_t k = 0; k < w.features.size(); ++k) {
        scratch.weights[w.features[k]].at[lane] = w.values[k];
      }
      if (start_weights_) start_weights_.read(open.inputs[lane].label, lane, scratch.weights);
    }
    scratch.above = {};  // so that both solvers together take no more memory than this one
    scratch.members = {};
    std::vector<LaneOutput> newton(open.places.size());
    solve_newton(problem, open.inputs, scratch, share, newton);
    take_over(open, newton, outputs);
  }

  /// Where the certificate of Newton's method is loose, as C |x|^2 is large or rounding matters,
  /// coordinate descent goes on from its duals.
  void descend_from_duals(BlockProblem problem, std::span<const LaneInput> inputs,
                          BlockScratch& scratch, RunControl& share,
                          std::span<LaneOutput> outputs) const {
    OpenLabels open = open_labels(inputs, outputs);
    if (open.places.empty()) return;
    std::vector<LabelDuals> duals(open.places.size());
    for (std::size_t k = 0; k < open.places.size(); ++k) {
      duals[k] = std::move(outputs[open.places[k]].duals);
      open.inputs[k].start_duals = &duals[k];
    }
    problem.max_passes -= open.passes;
    std::vector<LaneOutput> found(open.places.size());
    solve_working_sets(problem, open.inputs, scratch, share, found);
    take_over(open, found, outputs);
  }

  /// Puts what a solver has found for open labels into their places in the block.
  void take_over(const OpenLabels& open, std::span<LaneOutput> found,
                 std::span<LaneOutput> outputs) const {
    for (std::size_t k = 0; k < open.places.size(); ++k) {
      LaneOutput& output = outputs[open.places[k]];
      if (output.fit.passes > 0) keep_better(output, found[k]);
      output = std::move(found[k]);
    }
  }

  bool is_within_tolerance(const BinaryFit& fit) const {
    return fit.primal - fit.dual <= problem_.tolerance * fit.primal;
  }

  /// A solver that ends early may leave worse weights, or a worse bound, than the one before it.
  void keep_better(LaneOutput& before, LaneOutput& now) const {
    BinaryFit& fit = now.fit;
    fit.passes += before.fit.passes;
    fit.dual = std::max(fit.dual, before.fit.dual);
    if (before.fit.primal < fit.primal) {
      fit.primal = before.fit.primal;
      now.weights = std::move(before.weights);
    }
    if (is_within_tolerance(fit)) fit.stop = Stop::converged;
  }

  /// Whether passes or rounding, not the control, have ended a label above the tolerance.
  bool is_above_tolerance(const BinaryFit& fit) const {
    return (fit.stop == Stop::converged || fit.stop == Stop::pass_limit) &&
           fit.passes < problem_.max_passes && !is_within_tolerance(fit) &&
           !(problem_.free_intercept != 0 && fit.primal <= kNothing * problem_.total_cost);
  }

  // The objective of a label whose training was cut short may be above that of the constant score
  // -1, and its scores would then often exceed those of labels that were trained to the end.
  void fall_back_to_constant(std::uint32_t label) {
    LaneOutput& output = outputs_[label];
    if (output.fit.stop == Stop::converged || problem_.constant_column == 0) return;
    const double weight = -1.0 / problem_.constant_column;
    const double primal = visit_point_loss(problem_.loss, [&](auto loss) {
      const double norm = problem_.free_intercept != 0 ? 0.0 : weight * weight;
      double sum = 0.5 * norm + loss.value(1.0) * problem_.total_cost;
      for (const std::uint32_t i : positives_[label]) {
        sum += problem_.costs[i] * (loss.value(-1.0) - loss.value(1.0));
      }
      return sum;
    });
    if (primal >= output.fit.primal) return;
    output.fit.primal = primal;
    output.weights = {{used_.original()[problem_.X.num_columns() - 1]},
                      {static_cast<float>(weight)}};
  }

  void report(const BinaryFit& fit) {
    Progress progress{.stage = "one-vs-rest", .unit = Progress::Unit::labels};
    progress.done = ++done_;
    progress.total = num_labels_;
    progress.objective = fit.primal;
    progress.relative_gap = fit.relative_gap();
    control_.proceed(progress);
  }

  const OneVsRestExtras& extras_;
  RunControl& control_;
  UsedColumns used_;
  std::vector<std::vector<std::uint32_t>> positives_;
  std::vector<double> norms_;
  std::vector<float> costs_;
  bool use_newton_;  // for what the working sets leave
  NodeReader start_weights_;
  BlockProblem problem_;
  bool use_working_sets_ = true;
  int passes_first_ = 0;  // of the first-order solvers, before second-order steps; 0: no limit
  std::vector<LaneOutput> outputs_;
  std::int64_t num_labels_ = 0;  // that are trained
  int num_workers_;
  std::vector<BlockScratch> scratch_;
  std::int64_t mean_positives_ = 1;          // of a label, rounded up
  std::atomic<std::int64_t> work_left_ = 0;  // of the blocks that have not begun
  std::atomic<std::int64_t> done_ = 0;
};

}  // namespace

bool detail::prefers_newton(const CsrView& X, std::span<const double> squared_norms,
                            PointLossKind loss, double C) {
  if (loss == PointLossKind::logistic) return true;
  return loss == PointLossKind::squared_hinge &&
         (has_few_full_columns(X) || has_long_rows(X, squared_norms, C));
}

std::size_t detail::parts_of_weights(double nonzeros) {
  constexpr double kLarge = 8e6;
  return nonzeros > kLarge ? 8 : 1;
}

bool detail::drops_small_weights(PointLossKind loss, std::size_t num_used_columns,
                                 std::uint32_t num_labels) {
  constexpr double kMostBytes = 1e9;
  return loss == PointLossKind::logistic &&
         double{sizeof(float)} * static_cast<double>(num_used_columns) * num_labels > kMostBytes;
}

std::vector<std::vector<std::uint32_t>> label_blocks(const LabelSets& labels,
                                                     std::uint32_t num_labels) {
  return make_blocks(rows_by_label(labels, num_labels));
}

std::vector<LabelFit> train_label_blocks(const CsrView& X, const LabelSets& labels,
                                         std::uint32_t num_labels, const OneVsRestOptions& options,
                                         BlockRange blocks, Executor& executor, RunControl& control,
                                         const OneVsRestExtras& extras) {
  validate(options);
  check_input(X, labels, num_labels, extras);
  return Training(X, labels, num_labels, options, blocks, executor, control, extras).finish();
}

OneVsRestFit joined(std::uint32_t num_columns, std::vector<LabelFit> labels, Executor& executor,
                    bool keep_duals) {
  OneVsRestFit fit;
  fit.labels.reserve(labels.size());
  std::vector<SparseWeights> weights;
  for (LabelFit& label : labels) {
    fit.labels.push_back(label.fit);
    fit.primal += label.fit.primal;
    fit.dual += label.fit.dual;
    fit.stop = std::max(fit.stop, label.fit.stop);
    weights.push_back(std::move(label.weights));
    if (keep_duals) fit.duals.push_back(std::move(label.duals));
  }
  labels = {};
  fit.weights = assemble(num_columns, std::move(weights), executor);
  return fit;
}

OneVsRestFit train_one_vs_rest(const CsrView& X, const LabelSets& labels, std::uint32_t num_labels,
                               const OneVsRestOptions& options, Executor& executor,
                               RunControl& control, const OneVsRestExtras& extras) {
  return joined(X.num_columns(),
                train_label_blocks(X, labels, num_labels, options, {}, executor, control, extras),
                executor, extras.keep_duals);
}

}  // namespace margrove
