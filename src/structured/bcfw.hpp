#pragma once
// Block-coordinate Frank-Wolfe for structured SVMs, one block per example.
//
//   primal  min_w  ||w||^2 / 2 + sum_i C_i max_y psi_i(y; w),
//           psi_i(y; w) = s_iy <w, d_iy> + o_iy, 0 at the true labelling y_i,
//   dual    max_a  sum_iy a_iy o_iy - ||w(a)||^2 / 2,   w(a) = - sum_iy a_iy s_iy d_iy,
//           a_iy >= 0, sum_y a_iy = C_i,
//
// with d_iy = phi(x_i, y) - phi(x_i, y_i), s = slope and o = offset of the affine surrogate at the
// task loss g(y). This is the algorithm of [LacosteJulien2013], in its form for structured SVMs:
//
//   1  w = 0
//      repeat
//   2    pick an example i
//   3    y* = argmax_y psi_i(y; w)
//   4    the corner of block i that has all its weight at y*
//   5    gamma = the step length towards this corner that raises the dual most
//   6    a_i = (1 - gamma) a_i + gamma corner
//   7    w = w(a)
//   8    optionally: the average of the iterates, w_t weighted by t
//
// We deviate as follows. The labellings found so far are kept for each example (the multi-plane
// algorithm of [Shah2015]). Lines 5 and 6 solve the block over all of them by pairwise steps
// [Osokin2016], so that old corners lose their weight at once. Between passes that call the oracle
// run cheap passes without line 3. They use the labellings kept and, if the model offers them,
// their neighbours or steps from them (block_refinement.hpp). accuracy_policy.hpp decides how
// accurate line 3 must be, and certificate.hpp bounds the gap.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/checkpoint.hpp"
#include "base/random.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "structured/accuracy_policy.hpp"
#include "structured/bcfw_options.hpp"
#include "structured/block_gaps.hpp"
#include "structured/block_refinement.hpp"
#include "structured/block_searches.hpp"
#include "structured/certificate.hpp"
#include "structured/dual_blocks.hpp"
#include "structured/dual_start.hpp"
#include "structured/saved_sets.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// One solver run. Model, executor and control must outlive it. Only the oracles run in parallel;
/// the steps are taken one after the other, so that the number of threads changes no bit.
template <StructuredModel Model, AffineSurrogate Psi, class Search>
class Bcfw {
 public:
  using Labelling = typename Model::Labelling;
  static constexpr bool kHaveGoals = GoalSearchFor<Search, OracleOf<Model>, Psi>;

  /// example_weights: C_i = C * weight, >= 0; empty for all 1.
  Bcfw(const Model& model, Psi psi, Search search, const BcfwOptions& options, Executor& executor,
       RunControl& control, std::span<const double> example_weights = {},
       const AccuracyPolicy& policy = AccuracyPolicy::for_searches(kHaveGoals))
      : options_(options),
        control_(control),
        blocks_(model, std::move(psi), options.C, example_weights, options.averaging,
                static_cast<std::size_t>(executor.size())),
        searches_(blocks_, search, executor, control),
        gaps_(model.num_examples()),
        accuracy_(policy, kHaveGoals, options.tolerance, blocks_.total_budget()),
        certifier_(blocks_, searches_, gaps_, accuracy_, options.tolerance, control) {
    validate(options);
  }

  /// See start_from_sets().
  void warm_start(std::vector<ActiveSet<Labelling>> sets, double scale = 1.0) {
    start_from_sets(blocks_, std::move(sets), scale);
  }
  /// See start_from_margin_rescaling(). The run then begins with passes that do not call the
  /// oracle.
  void start_from(std::span<const Mixture<Labelling>> start) {
    start_from_margin_rescaling(blocks_, start);
    has_start_ = true;
  }

  /// Goes on from what an earlier run left in the checkpoint, if it did, and leaves the state of
  /// this run there. Not with averaging. Throws ModelFileError if the state does not fit.
  void keep_state_in(Checkpoint& checkpoint)
    requires SavableLabelling<Labelling>
  {
    checkpoint_ = &checkpoint;
    if (checkpoint.saved() == nullptr) return;
    first_pass_ = restore_sets(*checkpoint.saved(), blocks_);
  }
  /// Begins with the labelling of each example that violates these weights most, so that the first
  /// passes need no oracle. Throws InvalidInput if their number differs.
  void start_near(std::span<const float> weights) {
    require(weights.size() == blocks_.weights().size(), "bcfw: start of ", weights.size(),
            " weights, but must be ", blocks_.weights().size());
    std::vector<std::uint32_t> examples(blocks_.size());
    std::iota(examples.begin(), examples.end(), 0U);
    found_.resize(std::max(found_.size(), examples.size()));
    try {
      searches_.find_all(
          examples, weights, accuracy_, [] { return Accuracy::exact; },
          std::span(found_).first(examples.size()));
    } catch (const OutOfTime&) {
      return;
    }
    for (const std::uint32_t i : examples) {
      if (found_[i].value > 0) blocks_.admit(i, found_[i].best);
    }
    has_start_ = true;
  }

  StructuredFit run() {
    StructuredFit fit;
    fit.passes = first_pass_;
    bool has_ended = false;
    if (has_start_) cached_passes(0, 0.0);
    while (!has_ended && fit.passes < options_.max_passes) {
      const std::optional<double> increase = oracle_pass(fit.passes);
      if (!increase) break;
      blocks_.sort_weights(1.0);
      ++fit.passes;
      if (!report(fit.passes, accuracy_.end_pass(blocks_.dual(), gaps_)) || is_time_up_) break;
      if (checkpoint_ != nullptr && checkpoint_->is_due()) save(fit.passes);
      if (accuracy_.wants_certificate(gaps_)) {
        has_ended = certify(fit) || !control_.proceed();
        accuracy_.certificate_failed(gaps_);
      }
      if (!has_ended) cached_passes(fit.passes, *increase);
    }
    if (!has_ended) certify(fit);
    fit.oracle_calls = searches_.oracle_calls();
    Stop limit = is_time_up_ ? Stop::time_limit : Stop::pass_limit;
    if (!control_.proceed()) limit = control_.stop_reason();
    fit.stop = stop_of(fit, options_.tolerance, limit);
    if (checkpoint_ != nullptr && (fit.stop != Stop::converged || checkpoint_->is_due())) {
      save(fit.passes);
    }
    return fit;
  }

  /// To be called after run(); the average of the iterates if options.averaging.
  std::span<const float> weights() const {
    return options_.averaging ? average_ : blocks_.weights();
  }
  std::vector<float> take_weights() {
    return std::move(options_.averaging ? average_ : blocks_.weights());
  }
  /// The dual variables, one set per example.
  const std::vector<ActiveSet<Labelling>>& active() const { return blocks_.sets(); }
  std::vector<ActiveSet<Labelling>> take_active() { return std::move(blocks_.sets()); }
  /// The dual objective at the present variables, tracked step by step.
  double dual() const { return blocks_.dual(); }

 private:
  using Result = SearchResult<Labelling>;
  // Cached passes end when one raises the dual by less than this share of the increase in the last
  // pass that called the oracle.
  static constexpr double kWorthwhileShare = 0.1;

  // Lines 2 to 8 for every example that is not shrunk. Returns the increase of the dual; none if
  // the time ended before the first example's search did.
  std::optional<double> oracle_pass(int pass) {
    const double before = blocks_.dual();
    accuracy_.start_pass(gaps_);
    const std::vector<std::uint32_t> order = visit_order(static_cast<std::uint64_t>(pass));
    const auto batch_size = static_cast<std::size_t>(options_.minibatch);
    const double start = control_.seconds();
    std::size_t begin = 0;
    for (; begin < order.size() && may_go_on(); begin += batch_size) {
      const std::span batch =
          std::span(order).subspan(begin, std::min(batch_size, order.size() - begin));
      try {
        batch_size == 1 ? visit(batch[0]) : visit_all(batch);
        blocks_.sort_weights(2.0);
      } catch (const OutOfTime&) {  // no block has been touched
        break;
      }
    }
    searches_.add_time(control_.seconds() - start, std::min(begin, order.size()));
    if (begin == 0 && !order.empty()) return std::nullopt;
    return blocks_.dual() - before;
  }

  void save(int passes) {
    if constexpr (SavableLabelling<Labelling>) {
      checkpoint_->write(saved_sets<Labelling>(blocks_.sets(), passes));
    }
  }

  bool may_go_on() {
    is_time_up_ = is_time_up_ || certifier_.is_due();
    return !is_time_up_ && control_.proceed();
  }

  // One example, whose oracle serves both the search and the step.
  void visit(std::size_t i) {
    const auto oracle = blocks_.oracle(i, blocks_.weights(), 0);
    const Result found = searches_.find(i, oracle, accuracy_, accuracy_.of_passes());  // line 3
    blocks_.admit(i, found.best);                                                      // line 4
    if constexpr (EvaluatingOracle<OracleOf<Model>>) {
      blocks_.load_margins(i, oracle);
    } else {
      blocks_.load_margins(i);
    }
    step(i, found);
  }

  // Several examples, whose oracles run in parallel at the same weights.
  void visit_all(std::span<const std::uint32_t> batch) {
    found_.resize(batch.size());
    const auto accuracy = [this] { return accuracy_.of_passes(); };
    searches_.find_all(batch, blocks_.weights(), accuracy_, accuracy, found_);  // line 3
    for (std::size_t k = 0; k < batch.size(); ++k) {
      blocks_.admit(batch[k], found_[k].best);  // line 4
      blocks_.load_margins(batch[k]);
      step(batch[k], found_[k]);
    }
  }

  // Lines 5 to 8; records the block's gap that the search shows.
  void step(std::size_t i, const Result& found) {
    const double gap = blocks_.solve(i, options_.pairwise);
    gaps_.record(i, gap, kHaveGoals ? blocks_.budget(i) * (found.upper_bound - found.value) : 0.0);
    gaps_.shrink(i, accuracy_.shrink_limit(blocks_.size()),
                 accuracy_.of_passes() == Accuracy::heuristic);
  }

  // Lines 2 and 4 to 8 over the known labellings and those near them.
  void cached_passes(int pass, double oracle_increase) {
    for (int cached = 1; cached <= options_.cached_passes && may_go_on(); ++cached) {
      const double before = blocks_.dual();
      const auto stream = (static_cast<std::uint64_t>(cached) << 32U) + static_cast<unsigned>(pass);
      for (const std::uint32_t i : shuffled(stream)) {
        if ((blocks_.sets()[i].size() == 0 && !has_start_) || gaps_.is_shrunk(i)) continue;
        if (!may_go_on()) return;
        load_refined_block(i);
        blocks_.solve(i, options_.pairwise);
      }
      if (blocks_.dual() - before < kWorthwhileShare * oracle_increase) break;
    }
  }

  // Adds labellings near those with weight to the active set, if the model offers any, and loads
  // the margins.
  void load_refined_block(std::size_t i) {
    const auto& set = blocks_.sets()[i];
    const auto& truth = blocks_.model().truth(i);
    if constexpr (NeighbourOracle<OracleOf<Model>>) {
      const auto oracle = blocks_.oracle(i, blocks_.weights(), 0);
      for (const auto& y : best_neighbours(oracle, blocks_.psi(), set, truth, blocks_.budget(i))) {
        blocks_.admit(i, y);
      }
      blocks_.load_margins(i, oracle);
    } else {
      if constexpr (SteppingOracle<OracleOf<Model>>) {
        if (!blocks_.model().takes_steps()) return blocks_.load_margins(i);
        const auto oracle = blocks_.oracle(i, blocks_.weights(), 0);
        for (const auto& y : steps_from_heaviest(oracle, set, truth, blocks_.budget(i))) {
          if (!set.contains(y)) blocks_.admit(i, oracle.evaluate(y));
        }
      }
      blocks_.load_margins(i);
    }
  }

  // Fills in the fit. Returns whether the gap is as small as asked, if it is certified or not.
  // After the end of the time no search would be made, and the weights stay as the steps made them.
  bool certify(StructuredFit& fit) {
    const bool has_time = control_.proceed();
    if (has_time) blocks_.rebuild_weights();
    if (options_.averaging) blocks_.average(average_);
    std::optional<Certificate> certificate;
    if (has_time) certificate = certifier_.certify(weights(), !options_.averaging);
    if (!certificate) {
      if (control_.stop_reason() != Stop::interrupted) estimate_gap(fit);
      return false;
    }
    fit.certified = certificate->is_exact;
    fit.dual = certificate->dual;
    fit.primal = certificate->primal();
    fit.relative_gap = certificate->relative_gap();
    return fit.relative_gap <= options_.tolerance;
  }

  // Without a certificate the fit reports the gap of an earlier one or, if there is none, the
  // estimate of the passes.
  void estimate_gap(StructuredFit& fit) const {
    fit.certified = false;
    if (!std::isnan(fit.relative_gap)) return;
    if (fit.passes == first_pass_) return;  // no pass of this run has ended: nothing is known
    fit.dual = blocks_.dual();
    if (std::isinf(accuracy_.primal_estimate())) return;  // not every example was visited
    fit.primal = accuracy_.primal_estimate();
    const double gap = fit.primal - fit.dual;
    fit.relative_gap = gap <= 0 ? 0.0 : gap / fit.primal;
  }

  bool report(int passes, double gap) {
    Progress progress;
    progress.stage = "bcfw";
    progress.done = passes;
    progress.total = options_.max_passes;
    progress.objective = accuracy_.primal_estimate();
    progress.relative_gap = gap <= 0 ? 0.0 : gap / accuracy_.primal_estimate();
    return control_.proceed(progress);
  }

  std::vector<std::uint32_t> shuffled(std::uint64_t stream) const {
    std::vector<std::uint32_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0U);
    Random(options_.seed, stream).shuffle(std::span(order));
    return order;
  }
  // Line 2: a new random order for each pass, without the examples that are shrunk.
  std::vector<std::uint32_t> visit_order(std::uint64_t pass) {
    std::vector<std::uint32_t> order = shuffled(pass);
    std::erase_if(order, [&](std::uint32_t i) { return gaps_.skips_pass(i); });
    return order;
  }

  BcfwOptions options_;
  RunControl& control_;
  DualBlocks<Model, Psi> blocks_;
  BlockSearches<Model, Psi, Search> searches_;
  BlockGaps gaps_;
  SearchAccuracy accuracy_;
  Certifier<Model, Psi, Search> certifier_;
  std::vector<float> average_;
  std::vector<Result> found_;  // of a batch
  Checkpoint* checkpoint_ = nullptr;
  int first_pass_ = 0;  // > 0: after those of an earlier run
  bool has_start_ = false;
  bool is_time_up_ = false;  // except for a certificate
};

}  // namespace margrove
