#pragma once
// Block-coordinate Frank-Wolfe for structured SVMs, one block an example.
//
//   primal  min_w  ||w||^2 / 2 + sum_i C_i max_y psi_i(y; w),
//           psi_i(y; w) = s_iy <w, d_iy> + o_iy, 0 at the true labelling y_i,
//   dual    max_a  sum_iy a_iy o_iy - ||w(a)||^2 / 2,   w(a) = - sum_iy a_iy s_iy d_iy,
//           a_iy >= 0, sum_y a_iy = C_i,
//
// with d_iy = phi(x_i, y) - phi(x_i, y_i), s = slope and o = offset of the affine surrogate at the
// task loss g(y). Algorithm 3 of [LacosteJulien2013], with the labellings found so far kept an
// example (multi-plane cutting [Shah2015], pairwise steps [Osokin2016]): a block is solved over its
// labellings in play, so that old corners lose their weight at once, and cheap passes over known
// labellings, and their neighbours or steps from them where the model has some (NeighbourOracle,
// SteppingOracle), go between those that ask the oracle.
//
// Where a search can be given a goal (GoalSearchFor), passes ask for any good labelling, as every
// one that raises the dual will do, and where these miss too much, for one with a fair share of the
// possible gain, or the proof that there is none; the certificate asks for bounds on max_y psi_iy
// that are tight enough for the gap asked for. The primal is then the sum of these bounds.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "margrove/control.hpp"
#include "margrove/errors.hpp"
#include "margrove/executor.hpp"
#include "structured/active_set.hpp"
#include "structured/bcfw_options.hpp"
#include "structured/block_gaps.hpp"
#include "structured/oracle.hpp"
#include "structured/search.hpp"
#include "structured/simplex_block.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// One solver run. Model, executor and control must outlive it. The steps are taken one after the
/// other at fresh weights; only oracles run in parallel, so that threads change no bit.
template <StructuredModel Model, AffineSurrogate Psi, class Search>
class Bcfw {
 public:
  using Labelling = typename Model::Labelling;

  /// example_weights: C_i = C * weight, >= 0; empty for all 1.
  Bcfw(const Model& model, Psi psi, Search search, const BcfwOptions& options, Executor& executor,
       RunControl& control, std::span<const double> example_weights = {})
      : model_(model),
        psi_(std::move(psi)),
        options_(options),
        executor_(executor),
        control_(control),
        budgets_(model.num_examples(), options.C),
        active_(model.num_examples()),
        caches_(model.num_examples()),
        gaps_(model.num_examples()),
        w_(model.num_weights(), 0.0F),
        searches_(static_cast<std::size_t>(executor.size()), search),
        workspaces_(static_cast<std::size_t>(executor.size())) {
    validate(options);
    if constexpr (kBounded) bounds_.resize(model.num_bounds(), 0.0F);
    require(example_weights.empty() || example_weights.size() == budgets_.size(),
            "bcfw: ", example_weights.size(), " example weights, but must be one per example, ",
            budgets_.size());
    for (std::size_t i = 0; i < example_weights.size(); ++i) {
      require(example_weights[i] >= 0 && std::isfinite(example_weights[i]),
              "bcfw: weight of example ", i, " is ", example_weights[i],
              ", but must be finite and >= 0");
      budgets_[i] *= example_weights[i];
    }
    total_budget_ = std::accumulate(budgets_.begin(), budgets_.end(), 0.0);
  }

  /// Starts from the dual variables of another run on the same examples with the same task losses,
  /// times `scale`; what exceeds a budget is cut. The features may differ.
  void warm_start(std::vector<ActiveSet<Labelling>> active, double scale = 1.0) {
    require(active.size() == active_.size(), "bcfw: warm start of ", active.size(),
            " examples, but must be ", active_.size());
    active_ = std::move(active);
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (kImplicit) active_[i].products.clear();
      double total = 0.0;
      for (double& dual : active_[i].duals) total += dual *= scale;
      if (total <= budgets_[i]) continue;
      for (double& dual : active_[i].duals) dual *= budgets_[i] / total;
    }
    rebuild_weights();
  }

  /// Starts from dual variables of margin rescaling with the same task losses, one mixture an
  /// example. Divided by the surrogate's slopes they are feasible at the same weights (where slopes
  /// are >= 1; cut otherwise), and the common factor that suits the surrogate best is found
  /// exactly.
  void start_from(std::span<const Mixture<Labelling>> start) {
    require(start.size() == active_.size(), "bcfw: start of ", start.size(),
            " examples, but must be ", active_.size());
    double room = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < start.size(); ++i) {
      active_[i] = {};
      const auto oracle = oracle_at(i, w_, 0);
      double total = 0.0;
      for (std::size_t k = 0; k < start[i].labellings.size(); ++k) {
        const auto place = oracle.evaluate(start[i].labellings[k]);
        const std::size_t before = active_[i].size();
        admit(i, place);
        if (active_[i].size() == before || !(active_[i].slopes.back() > 0)) continue;
        total += active_[i].duals.back() = start[i].weights[k] / active_[i].slopes.back();
      }
      if (total > budgets_[i]) {
        for (double& dual : active_[i].duals) dual *= budgets_[i] / total;
        total = budgets_[i];
      }
      if (total > 0) room = std::min(room, budgets_[i] / total);
    }
    has_start_ = true;
    rebuild_weights();
    const double norm = squared_norm({w_, 1.0}), gain = dual_ + 0.5 * norm;
    if (!(norm > 0)) return;
    const double factor = std::min(room, std::max(0.0, gain / norm));
    for (auto& set : active_) {
      for (double& dual : set.duals) dual *= factor;
    }
    rebuild_weights();
  }

  StructuredFit run() {
    StructuredFit fit;
    bool converged = false, is_certified = false;
    double known_before = std::numeric_limits<double>::infinity();
    effort_ = kBounding ? Effort::hasty : Effort::full;
    if (has_start_) cached_passes(0, 0.0);
    while (!is_certified && fit.passes < options_.max_passes) {
      if (effort_ == Effort::fair) {
        slack_ = slack(options_.tolerance * primal_estimate_ - gaps_.known(), total_budget_);
      }
      const double increase = oracle_pass(fit.passes);
      ++fit.passes;
      const double known = gaps_.known(), bound = known + gaps_.open();
      const double missing = effort_ == Effort::hasty ? known : bound;
      primal_estimate_ = dual_ + missing;
      Progress progress;
      progress.stage = "bcfw";
      progress.done = fit.passes;
      progress.total = options_.max_passes;
      progress.objective = primal_estimate_;
      progress.relative_gap = relative(missing, primal_estimate_);
      if (!control_.proceed(progress)) break;
      const double most = options_.tolerance * primal_estimate_;
      if (bound <= kClosingShare * most || (kBounding && leaves_room(known, known_before, most))) {
        converged = certify(fit);
        is_certified = converged || !control_.proceed();
        // Searches in haste miss what there is to gain.
        if (effort_ == Effort::hasty && gaps_.known() > most) effort_ = Effort::fair;
        known_before = std::numeric_limits<double>::infinity();
      } else {
        known_before = known;
      }
      if (!is_certified) cached_passes(fit.passes, increase);
    }
    if (!is_certified) converged = certify(fit);
    fit.oracle_calls = oracle_calls_;
    fit.stop = converged ? Stop::converged
                         : (control_.proceed() ? Stop::pass_limit : control_.stop_reason());
    return fit;
  }

  std::span<const float> weights() const { return options_.averaging ? average_ : w_; }
  std::vector<float> take_weights() { return std::move(options_.averaging ? average_ : w_); }
  /// The dual variables, one set per example.
  const std::vector<ActiveSet<Labelling>>& active() const { return active_; }
  std::vector<ActiveSet<Labelling>> take_active() { return std::move(active_); }
  /// The dual objective at the present variables, as tracked step by step.
  double dual() const { return dual_; }

 private:
  using Found = SearchResult<Labelling>;
  static constexpr bool kImplicit = ImplicitDifferences<Model>;
  static constexpr bool kBounded = BoundedModel<Model>;
  static constexpr bool kBounding = GoalSearchFor<Search, OracleOf<Model>, Psi>;
  static constexpr double kNapShare = 0.1;         // of the gap allowed an example
  static constexpr double kBlockTolerance = 0.05;  // of a block's first violation
  static constexpr double kWorthwhile = 0.1;       // of what the pass with oracles brought
  static constexpr std::size_t kChunk = 64;        // examples searched at once for the certificate
  static constexpr double kGrace = 0.1;            // of the time so far, for a late certificate,
  static constexpr double kLeastGrace = 1.0;       // and at least so many seconds
  // Of the gap asked for: where the certificate is tried; where it is for the part that is known,
  // so that bounds may leave open the rest; and the least that they may.
  static constexpr double kClosingShare = kBounding ? 0.85 : 1.0;
  static constexpr double kKnownShare = 1.0 / 3;
  static constexpr double kSlackShare = 0.15;
  static constexpr double kStall = 0.8;  // of the known gap before: passes bring it down no further
  // Of what bounds may leave open: the labellings found are worth a little more than those known.
  static constexpr double kAllowanceShare = 0.8;
  static constexpr double kMostPatience = 1 << 20;  // of a certificate
  // A fair search ends at a labelling that gains at least 1 - this of what any could.
  static constexpr double kFairShare = 0.5;

  // How near to the maximum a search comes: `hasty`: any labelling that is likely to be good, as
  // every corner that raises the dual will do; `fair`: one with a fair share of the possible gain,
  // or the proof that this is small; `full`: as the certificate needs it. All the same for
  // searches without goals.
  enum class Effort { hasty, fair, full };

  static double relative(double gap, double primal) { return gap <= 0 ? 0.0 : gap / primal; }

  // One pass over the examples that are awake. Returns by how much the dual rose.
  double oracle_pass(int pass) {
    const double before = dual_;
    const std::vector<std::uint32_t> order = awake(static_cast<std::uint64_t>(pass));
    const auto batch_size = static_cast<std::size_t>(options_.minibatch);
    std::vector<Found> found(batch_size);
    for (std::size_t begin = 0; begin < order.size() && control_.proceed(); begin += batch_size) {
      const std::span batch =
          std::span(order).subspan(begin, std::min(batch_size, order.size() - begin));
      if (batch_size == 1) {
        visit(batch[0]);
        continue;
      }
      search_all(batch, w_, effort_, found);
      for (std::size_t k = 0; k < batch.size(); ++k) {
        admit(batch[k], found[k].best);
        load_margins(batch[k]);
        solve_block(batch[k], found[k]);
      }
    }
    return dual_ - before;
  }

  // search and step in one, where the oracle's scores serve both
  void visit(std::size_t i) {
    const auto oracle = oracle_at(i, w_, 0);
    const Found found = search(i, oracle, 0, effort_);
    oracle_calls_ += found.oracle_calls;
    admit(i, found.best);
    if constexpr (EvaluatingOracle<decltype(oracle)>) {
      margins_.clear();
      for (const Labelling& y : active_[i].labellings) {
        const auto place = oracle.evaluate(y);
        margins_.push_back(place.m - place.constant);
      }
    } else {
      load_margins(i);
    }
    solve_block(i, found);
  }

  // Passes over known labellings, as long as one brings a fair share of what the oracle's did.
  void cached_passes(int pass, double oracle_increase) {
    for (int cached = 1; cached <= options_.cached_passes && control_.proceed(); ++cached) {
      const double before = dual_;
      const auto stream = (static_cast<std::uint64_t>(cached) << 32U) + static_cast<unsigned>(pass);
      for (const std::uint32_t i : shuffled(stream)) {
        if ((active_[i].size() == 0 && !has_start_) || gaps_.asleep(i)) continue;
        if constexpr (NeighbourOracle<OracleOf<Model>>) {
          admit_neighbours(i);
        } else if constexpr (SteppingOracle<OracleOf<Model>>) {
          admit_steps(i);
        } else {
          load_margins(i);
        }
        move_block(i);
      }
      if (dual_ - before < kWorthwhile * oracle_increase) break;
    }
  }

  // Gives places to neighbours of the labellings with weight, and loads margins_.
  void admit_neighbours(std::size_t i) {
    const auto oracle = oracle_at(i, w_, 0);
    for (const auto& each :
         best_neighbours(oracle, psi_, active_[i], model_.truth(i), budgets_[i])) {
      admit(i, each);
    }
    margins_.clear();
    for (const Labelling& y : active_[i].labellings) {
      const auto place = oracle.evaluate(y);
      margins_.push_back(place.m - place.constant);
    }
  }

  // Gives places to steps from the labelling with the largest weight, and loads margins_.
  void admit_steps(std::size_t i) {
    const auto oracle = oracle_at(i, w_, 0);
    for (const auto& y : steps_from_heaviest(oracle, active_[i], model_.truth(i), budgets_[i])) {
      if (!active_[i].contains(y)) admit(i, oracle.evaluate(y));
    }
    load_margins(i);
  }

  // found[k] = the search's answer for examples[k] under `weights`
  void search_all(std::span<const std::uint32_t> examples, std::span<const float> weights,
                  Effort effort, std::span<Found> found) {
    executor_.for_each(examples.size(), [&](std::size_t k, int worker) {
      const auto oracle = oracle_at(examples[k], weights, worker);
      const bool late = control_.seconds() > deadline_;
      found[k] = search(examples[k], oracle, worker, late ? Effort::hasty : effort);
    });
    for (std::size_t k = 0; k < examples.size(); ++k) oracle_calls_ += found[k].oracle_calls;
  }

  Found search(std::size_t i, const OracleOf<Model>& oracle, int worker, Effort effort) {
    Search& search = searches_[static_cast<std::size_t>(worker)];
    if constexpr (kBounding) {
      SearchGoal goal = SearchGoal::haste();
      if (effort != Effort::hasty) {
        goal = {.slack = slack_};
        goal.patience = patience_;
        if constexpr (EvaluatingOracle<OracleOf<Model>>) {
          if (effort == Effort::fair && budgets_[i] > 0) {
            goal.share = kFairShare;
            goal.floor = value_at_hand(i, oracle);
          }
        }
      }
      return search(oracle, psi_, caches_[i], goal);
    } else {
      return search(oracle, psi_, caches_[i]);
    }
  }

  // Whether the known part of the gap leaves room enough for bounds, or as much as it will.
  static bool leaves_room(double known, double known_before, double most) {
    return known <= kKnownShare * most || (known <= most && known > kStall * known_before);
  }

  // What a search may leave open where those of `budget` in all may `left`.
  double slack(double left, double budget) const {
    const double least = kSlackShare * options_.tolerance * primal_estimate_ / total_budget_;
    return std::max(least, kAllowanceShare * left / budget);
  }

  // sum_y a_iy psi_iy / C_i where the oracle looks
  double value_at_hand(std::size_t i, const OracleOf<Model>& oracle) const {
    const ActiveSet<Labelling>& set = active_[i];
    double sum = 0.0;
    for (std::size_t k = 0; k < set.size(); ++k) {
      if (!(set.duals[k] > 0)) continue;
      const auto place = oracle.evaluate(set.labellings[k]);
      sum += set.duals[k] * psi_.value(place.m, place.g);
    }
    return sum / budgets_[i];
  }

  OracleOf<Model> oracle_at(std::size_t i, std::span<const float> weights, int worker) {
    typename Model::Workspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
    if constexpr (kBounded) {
      const bool are_bounded = weights.data() == w_.data();
      return model_.oracle(i, {weights, 1.0}, are_bounded ? bounds_ : std::span<const float>{},
                           workspace);
    } else {
      return model_.oracle(i, {weights, 1.0}, workspace);
    }
  }

  // Makes sure that the labelling has a place in the active set.
  void admit(std::size_t i, const Candidate<Labelling>& candidate) {
    ActiveSet<Labelling>& set = active_[i];
    if (candidate.y == model_.truth(i) || set.contains(candidate.y)) return;
    const double slope = psi_.slope(candidate.g);
    set.labellings.push_back(candidate.y);
    set.duals.push_back(0.0);
    set.slopes.push_back(slope);
    set.offsets.push_back(slope * candidate.constant + psi_.offset(candidate.g));
    set.idle.push_back(0);
    if constexpr (!kImplicit) {
      set.differences.emplace_back();
      model_.difference(i, candidate.y, set.differences.back());
      sort_indices(set.differences.back());
      for (const SparseVector& other : set.differences) {
        set.products.push_back(dot(set.differences.back(), other));
      }
    }
  }

  void load_margins(std::size_t i) {
    const ActiveSet<Labelling>& set = active_[i];
    margins_.resize(set.size());
    if constexpr (kImplicit) {
      model_.margins(i, set.labellings, {w_, 1.0}, workspaces_[0], margins_);
    } else {
      for (std::size_t k = 0; k < set.size(); ++k) {
        margins_[k] = dot({w_, 1.0}, set.differences[k]);
      }
    }
  }

  // Records the block's gap, solves it and lets the example sleep while it is solved.
  void solve_block(std::size_t i, const Found& found) {
    record_gap(i, move_block(i), kBounding ? budgets_[i] * (found.upper_bound - found.value) : 0.0);
  }

  void record_gap(std::size_t i, double known, double open) {
    gaps_.record(i, known, open);
    const double share =
        kNapShare * options_.tolerance * primal_estimate_ / static_cast<double>(active_.size());
    gaps_.rest(i, share, effort_ == Effort::hasty);
  }

  // Solves block i over its active set, given margins_, and moves the weights along. Returns the
  // block's gap before that.
  double move_block(std::size_t i) {
    ActiveSet<Labelling>& set = active_[i];
    const std::size_t size = set.size();
    if (size == 0) return 0.0;
    block_.budget = budgets_[i];
    block_.duals = set.duals;
    block_.rest =
        std::max(0.0, block_.budget - std::accumulate(set.duals.begin(), set.duals.end(), 0.0));
    block_.values.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      block_.values[k] = set.slopes[k] * margins_[k] + set.offsets[k];
    }
    const double gap = block_.gap();
    if (gap > 0) {
      load_products(i);
      dual_ += options_.pairwise
                   ? pairwise_steps(block_, kBlockTolerance, 10 * static_cast<int>(size))
                   : frank_wolfe_step(block_);
      for (std::size_t k = 0; k < size; ++k) {
        margins_[k] = -set.slopes[k] * (block_.duals[k] - set.duals[k]);  // now the coefficients
      }
      move_weights(i, margins_);
      set.duals = block_.duals;
    }
    set.drop_idle();
    return gap;
  }

  void load_products(std::size_t i) {
    ActiveSet<Labelling>& set = active_[i];
    const std::size_t size = set.size();
    block_.Q.resize(size * size);
    if constexpr (kImplicit) {
      const std::size_t known = set.num_products_known();
      if constexpr (AppendedProducts<Model>) {
        model_.append_products(i, set.labellings, known, workspaces_[0], set.products);
      } else if (known < size) {
        model_.difference_products(i, set.labellings, block_.Q);
        set.products.clear();
        for (std::size_t j = 0; j < size; ++j) {
          for (std::size_t k = 0; k <= j; ++k) set.products.push_back(block_.Q[j * size + k]);
        }
      }
    }
    for (std::size_t j = 0, at = 0; j < size; ++j) {
      for (std::size_t k = 0; k <= j; ++k) {
        block_.Q[j * size + k] = block_.Q[k * size + j] = set.products[at++];
      }
    }
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < size; ++k)
        block_.Q[j * size + k] *= set.slopes[j] * set.slopes[k];
    }
  }

  // w += sum_k coefficients[k] d_ik. With u = sum_t t (t - 1) / 2 (w_t - w_{t-1}), the average
  // 2 / (T (T + 1)) sum_t t w_t is w_T - 2 u / (T (T + 1)).
  void move_weights(std::size_t i, std::span<double> coefficients) {
    if constexpr (kBounded) {
      model_.add_differences(i, active_[i].labellings, coefficients, workspaces_[0], w_, bounds_);
    } else {
      add_differences(i, coefficients, w_);
    }
    if (!options_.averaging) return;
    ++steps_;
    for (double& each : coefficients) each *= 0.5 * steps_ * (steps_ - 1);
    late_.resize(w_.size(), 0.0F);
    add_differences(i, coefficients, late_);
  }

  void add_differences(std::size_t i, std::span<const double> coefficients, std::span<float> w) {
    const ActiveSet<Labelling>& set = active_[i];
    if constexpr (kImplicit) {
      model_.add_differences(i, set.labellings, coefficients, workspaces_[0], w);
    } else {
      for (std::size_t k = 0; k < set.size(); ++k) {
        if (coefficients[k] != 0) add_scaled(coefficients[k], set.differences[k], w);
      }
    }
  }

  // w = w(a), free of the rounding that many small steps leave, and the dual objective there.
  void rebuild_weights() {
    std::fill(w_.begin(), w_.end(), 0.0F);
    dual_ = 0.0;
    for (std::size_t i = 0; i < active_.size(); ++i) {
      const ActiveSet<Labelling>& set = active_[i];
      margins_.resize(set.size());
      for (std::size_t k = 0; k < set.size(); ++k) {
        margins_[k] = -set.slopes[k] * set.duals[k];
        dual_ += set.offsets[k] * set.duals[k];
      }
      if (set.size() > 0) add_differences(i, margins_, w_);
    }
    dual_ -= 0.5 * squared_norm({w_, 1.0});
    if constexpr (kBounded) model_.bound_weights(w_, bounds_);
  }

  // Once time is out a certificate has a grace only. With bounds, what is left is then searched in
  // haste; without, the certificate is given up.
  bool is_late() {
    if (deadline_ == std::numeric_limits<double>::infinity() && !control_.proceed()) {
      deadline_ = control_.seconds() + std::max(kLeastGrace, kGrace * control_.seconds());
    }
    return control_.seconds() > deadline_;
  }

  // No certificate: what the passes saw of the gap, or an earlier certificate.
  void estimate_gap(StructuredFit& fit) const {
    fit.certified = false;
    if (!std::isnan(fit.relative_gap)) return;
    fit.dual = dual_;
    if (std::isinf(primal_estimate_)) return;
    fit.primal = primal_estimate_;
    fit.relative_gap = relative(fit.primal - fit.dual, fit.primal);
  }

  // What searches at the same weights show of C_i max_y psi_iy.
  struct Certificate {
    double norm = 0.0;           // ||w||^2 / 2
    std::vector<double> bounds;  // none is larger; where searches have no goals, what is known
    std::vector<double> open;    // the bounds less what labellings show
    double all_open = 0.0;
    bool is_exact = true;  // false: bounds are but what is known
    double primal() const { return std::accumulate(bounds.begin(), bounds.end(), norm); }
  };

  // Searches for the examples; what is found joins the active sets.
  void examine(std::span<const std::uint32_t> examples, std::span<const float> weights,
               Certificate& certificate) {
    std::vector<Found> found(examples.size());
    search_all(examples, weights, Effort::full, found);
    for (std::size_t k = 0; k < examples.size(); ++k) {
      const std::uint32_t i = examples[k];
      admit(i, found[k].best);
      double best = found[k].value, bound = found[k].upper_bound;
      // Equal but for rounding when the search was exact; if not, known labellings may be better.
      const bool is_exact = bound <= best * (1 + 1e-9);
      if (!options_.averaging && (kBounding || !is_exact)) {
        load_margins(i);
        best = std::max(best, active_[i].best_value(margins_));
      }
      if (!kBounding) {
        certificate.is_exact = certificate.is_exact && is_exact;
        bound = best;
      }
      certificate.bounds[i] = std::min(certificate.bounds[i], budgets_[i] * bound);
      const double open = certificate.bounds[i] - budgets_[i] * best;
      certificate.all_open += open - certificate.open[i];
      certificate.open[i] = open;
      if (kBounding && !options_.averaging) {
        record_gap(i, budgets_[i] * best - active_[i].mixture_value(margins_), open);
      }
    }
  }

  // Searches once for all examples. False if interrupted, or too late to go on.
  bool examine_all(std::span<const float> weights, Certificate& certificate) {
    std::vector<std::uint32_t> examples(active_.size());
    std::iota(examples.begin(), examples.end(), 0U);
    double budget = total_budget_;
    for (std::size_t begin = 0; begin < examples.size(); begin += kChunk) {
      if (control_.stop_reason() == Stop::interrupted) return false;  // nobody waits for the gap
      if (is_late() && !kBounding) return false;
      const std::span chunk =
          std::span(examples).subspan(begin, std::min(kChunk, examples.size() - begin));
      if constexpr (kBounding) {
        // What one chunk does not need is left to those after it.
        const double most = options_.tolerance * primal_estimate_;
        slack_ = slack(most - gaps_.known() - certificate.all_open, budget);
        for (const std::uint32_t i : chunk) budget -= budgets_[i];
      }
      examine(chunk, weights, certificate);
      if (kBounding) report_certificate(begin + chunk.size(), examples.size());
    }
    return true;
  }

  // Where only the bounds are in the way, what they leave open is searched again, with more and
  // more patience, until the gap is met: at other weights all would have to be.
  void tighten(std::span<const float> weights, Certificate& certificate) {
    for (patience_ = 2.0; patience_ <= kMostPatience; patience_ *= 2) {
      const auto left = [&] {
        const double primal = certificate.primal();
        return options_.tolerance * primal - (primal - dual_ - certificate.all_open);
      };
      const double least = (1 - kClosingShare) * options_.tolerance * certificate.primal();
      if (certificate.all_open <= left() || left() < least) break;
      slack_ = slack(left(), total_budget_);
      std::vector<std::uint32_t> examples;
      for (std::uint32_t i = 0; i < active_.size(); ++i) {
        if (certificate.open[i] > budgets_[i] * slack_) examples.push_back(i);
      }
      std::size_t begin = 0;
      while (begin < examples.size() && certificate.all_open > left() && control_.proceed()) {
        const std::span chunk =
            std::span(examples).subspan(begin, std::min(kChunk, examples.size() - begin));
        examine(chunk, weights, certificate);
        begin += chunk.size();
        report_certificate(begin, examples.size());
      }
      if (!control_.proceed()) break;
    }
    patience_ = 1.0;
  }

  void report_certificate(std::size_t done, std::size_t total) {
    Progress progress{.stage = "bcfw certificate", .unit = "rows"};
    progress.done = static_cast<std::int64_t>(done);
    progress.total = static_cast<std::int64_t>(total);
    control_.proceed(progress);
  }

  // Searches for all examples at the same weights; what is found joins the active sets. True if
  // the gap is as small as asked.
  bool certify(StructuredFit& fit) {
    rebuild_weights();
    if (options_.averaging) {
      late_.resize(w_.size(), 0.0F);
      average_.resize(w_.size());
      const double factor = steps_ > 0 ? 2.0 / (steps_ * (steps_ + 1)) : 0.0;
      for (std::size_t k = 0; k < w_.size(); ++k) {
        average_[k] =
            static_cast<float>(static_cast<double>(w_[k]) - factor * static_cast<double>(late_[k]));
      }
    }
    const std::span<const float> weights = this->weights();
    if (!kBounding || options_.averaging) gaps_.wake_all();
    Certificate certificate{
        .norm = 0.5 * squared_norm({weights, 1.0}),
        .bounds = std::vector(active_.size(), std::numeric_limits<double>::infinity()),
        .open = std::vector(active_.size(), 0.0)};
    if (!examine_all(weights, certificate)) {
      if (!kBounding && control_.stop_reason() != Stop::interrupted) estimate_gap(fit);
      return false;
    }
    if constexpr (kBounding) tighten(weights, certificate);
    fit.certified = certificate.is_exact;
    fit.dual = dual_;
    fit.primal = certificate.primal();
    fit.relative_gap = relative(fit.primal - fit.dual, fit.primal);
    return fit.relative_gap <= options_.tolerance;
  }

  std::vector<std::uint32_t> shuffled(std::uint64_t stream) const {
    std::vector<std::uint32_t> order(active_.size());
    std::iota(order.begin(), order.end(), 0U);
    Random(options_.seed, stream).shuffle(std::span(order));
    return order;
  }

  // Sleepers come one pass closer to waking up.
  std::vector<std::uint32_t> awake(std::uint64_t stream) {
    std::vector<std::uint32_t> order = shuffled(stream);
    std::erase_if(order, [&](std::uint32_t i) { return gaps_.sleeps_on(i); });
    return order;
  }

  const Model& model_;
  Psi psi_;
  BcfwOptions options_;
  Executor& executor_;
  RunControl& control_;

  std::vector<double> budgets_;  // C_i
  double total_budget_ = 0.0;
  std::vector<ActiveSet<Labelling>> active_;
  std::vector<LabelCache<Labelling>> caches_;
  BlockGaps gaps_;
  std::vector<float> w_, late_, average_;
  std::vector<float> bounds_;  // those of w_, if the model has some
  double steps_ = 0.0;
  bool has_start_ = false;
  double deadline_ = std::numeric_limits<double>::infinity();  // of a late certificate
  Effort effort_ = Effort::full;
  double slack_ = 0.0;     // of searches with goals, but for those in haste
  double patience_ = 1.0;  // of searches with goals, but for those in haste
  double dual_ = 0.0;
  double primal_estimate_ = 0.0;
  std::int64_t oracle_calls_ = 0;

  std::vector<Search> searches_;                       // one per worker
  std::vector<typename Model::Workspace> workspaces_;  // one per worker
  SimplexBlock block_;
  std::vector<double> margins_;
};

}  // namespace margrove
