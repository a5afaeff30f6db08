#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/out_of_time.hpp"
#include "margrove/errors.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_solver.hpp"
#include "outputs/path/path_svm.hpp"
#include "structured/train_by_bcfw.hpp"

namespace margrove {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The tolerance of the first rounds, and that of later ones as a share of the last relative
// decrease of the objective: exact optima for leaves that change anyway would take most of the
// time.
constexpr double kFirstTolerance = 1e-2;
constexpr double kShareOfDecrease = 0.1;

/// The concave-convex procedure (path_svm.hpp).
class Rounds {
 public:
  using State = BcfwState<NodeId, HierarchyProblem>;

  Rounds(PathModel& model, HierarchyProblem problem, const StructuredTraining& training,
         Executor& executor, RunControl& control, std::span<const double> row_weights)
      : model_(model),
        problem_(std::move(problem)),
        training_(training),
        executor_(executor),
        control_(control),
        row_weights_(row_weights),
        tolerance_(std::max(training.tolerance, kFirstTolerance)),
        is_bcfw_(chosen_solver(training.solver, training.surrogate) == StructuredSolver::bcfw),
        workspaces_(static_cast<std::size_t>(executor.size())) {}

  /// Returns the best weights with the fit of the last convex problem.
  StructuredResult run(const FitState* earlier) {
    StructuredResult best;
    double lowest = kInfinity;  // the objective at the weights of `best`
    std::shared_ptr<const FitState> start = from_earlier(earlier);
    for (bool leaves_out_partial = start == nullptr;; leaves_out_partial = false) {
      StructuredResult found = solve(leaves_out_partial, start.get());
      const auto now = measure(found, leaves_out_partial);
      if (!now) {  // the time was up; a primal is an upper bound on the objective
        const bool is_lower = found.fit.certified && found.fit.primal <= lowest;
        if (best.weights.empty() || (is_lower && !leaves_out_partial)) best = std::move(found);
        if (leaves_out_partial) forget_bounds(best.fit, kUnknown);
        best.fit.stop = control_.stop_reason();
        break;
      }
      rounds_.push_back({passes_, std::min(lowest, now->objective),
                         leaves_out_partial ? kUnknown : found.fit.dual});
      if (now->objective > lowest) {  // by rounding, or within the tolerance of the solver
        best.fit = fit_of(lowest, found.fit);
        best.state = std::move(found.state);
        if (has_final_tolerance() || best.fit.stop == Stop::pass_limit) break;
        tighten(0.0);
        start = with_same_leaves(best.state);
        continue;
      }
      const double decrease = lowest - now->objective;
      best = std::move(found);
      lowest = now->objective;
      if (leaves_out_partial) forget_bounds(best.fit, lowest);
      const bool has_settled =
          now->num_changed == 0 || decrease <= training_.tolerance * now->objective;
      const bool has_ended =
          (has_settled && has_final_tolerance()) || best.fit.stop == Stop::pass_limit;
      if (has_ended && !leaves_out_partial) break;
      if (!leaves_out_partial) tighten(has_settled ? 0.0 : decrease / lowest);
      if (!proceed(lowest)) {
        best.fit.stop = control_.stop_reason();
        break;
      }
      start = with_new_leaves(best.state.get());
    }
    best.fit.passes = passes_;
    best.fit.oracle_calls = oracle_calls_;
    return best;
  }
  std::vector<PathSvmResult::Round> take_rounds() { return std::move(rounds_); }

 private:
  struct Measured {
    double objective;
    std::size_t num_changed;  // rows whose best choice is not the leaf that they were trained with
  };

  /// The convex problem of the present leaves, or that of the rows whose leaf is known.
  StructuredResult solve(bool leaves_out_partial, const FitState* start) {
    StructuredTraining training = training_;
    training.tolerance = tolerance_;
    leaves_.clear();
    for (std::size_t i = 0; i < model_.num_examples(); ++i) leaves_.push_back(model_.truth(i));
    const std::vector<double> weights = leaves_out_partial ? known_weights() : all_weights();
    StructuredResult found = solve_paths(model_, training,
                                         {.example_weights = weights,
                                          .continuation = {.start = start, .keep = is_bcfw_},
                                          .problem = problem_},
                                         executor_, control_);
    passes_ += found.fit.passes;
    oracle_calls_ += found.fit.oracle_calls;
    return found;
  }

  std::vector<double> all_weights() const { return {row_weights_.begin(), row_weights_.end()}; }
  std::vector<double> known_weights() const {
    std::vector<double> weights = all_weights();
    weights.resize(model_.num_examples(), 1.0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (is_partial(i)) weights[i] = 0.0;
    }
    return weights;
  }
  bool is_partial(std::size_t i) const { return model_.choices().set_of(i) != LeafChoices::kKnown; }

  /// Lets the best choices at these weights count as leaves; nothing if the time is up.
  std::optional<Measured> measure(const StructuredResult& found, bool leaves_out_partial) {
    try {
      const std::size_t num_changed = choose(found.weights);
      const bool is_known = num_changed == 0 && !leaves_out_partial && found.fit.certified;
      return Measured{is_known ? found.fit.primal
                               : path_objective(model_, training_, found.weights, executor_,
                                                control_, row_weights_),
                      num_changed};
    } catch (const OutOfTime&) {
      return std::nullopt;
    }
  }

  /// The number of rows whose leaf has changed.
  std::size_t choose(std::span<const float> weights) {
    std::vector<NodeId> best(model_.num_examples());
    executor_.for_each(best.size(), [&](std::size_t i, int worker) {
      end_if_out_of_time(&control_);
      best[i] = is_partial(i) ? model_.best_choice(i, {weights, 1.0}, workspaces_[worker])
                              : model_.truth(i);
    });
    std::size_t num_changed = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      num_changed += best[i] == model_.truth(i) ? 0 : 1;
      model_.choose(i, best[i]);
    }
    return num_changed;
  }

  bool has_final_tolerance() const { return tolerance_ <= training_.tolerance; }
  /// Sets the tolerance of the next round.
  void tighten(double relative_decrease) {
    tolerance_ =
        std::max(training_.tolerance, std::min(tolerance_, kShareOfDecrease * relative_decrease));
  }

  /// Takes back the leaves of the last round, from which its state starts again.
  std::shared_ptr<const FitState> with_same_leaves(std::shared_ptr<const FitState> state) {
    for (std::size_t i = 0; i < leaves_.size(); ++i) model_.choose(i, leaves_[i]);
    return state;
  }
  /// The state with the model's leaves, without the dual variables of rows whose leaf is another.
  std::shared_ptr<const FitState> with_new_leaves(const FitState* state) const {
    if (state == nullptr) return nullptr;
    State next = *state->as<State>();
    for (std::size_t i = 0; i < next.truths.size(); ++i) {
      if (next.truths[i] == model_.truth(i)) continue;
      next.truths[i] = model_.truth(i);
      next.sets[i] = {};
    }
    return std::make_shared<FitState>(std::move(next));
  }

  /// Takes the leaves of an earlier run of the same problem; null if there is none.
  std::shared_ptr<const FitState> from_earlier(const FitState* earlier) {
    const State* state = earlier != nullptr ? earlier->as<State>() : nullptr;
    if (state == nullptr || !is_bcfw_ || !(state->problem == problem_) ||
        state->surrogate != training_.surrogate.to_text() ||
        state->truths.size() != model_.num_examples()) {
      return nullptr;
    }
    for (std::size_t i = 0; i < state->truths.size(); ++i) {
      if (!is_partial(i) && state->truths[i] != model_.truth(i)) return nullptr;
    }
    for (std::size_t i = 0; i < state->truths.size(); ++i) model_.choose(i, state->truths[i]);
    tolerance_ = training_.tolerance;  // as that run may have settled
    return std::make_shared<FitState>(*state);
  }

  bool proceed(double objective) {
    Progress progress{.stage = "partial labels", .unit = Progress::Unit::rounds};
    progress.done = static_cast<std::int64_t>(rounds_.size());
    progress.objective = objective;
    return control_.proceed(progress);
  }

  /// The fit of the weights before a round, at which the primal of its convex problem is the
  /// objective.
  StructuredFit fit_of(double objective, const StructuredFit& round) const {
    StructuredFit fit = round;
    fit.primal = objective;
    fit.relative_gap = objective > fit.dual ? (objective - fit.dual) / objective : 0.0;
    fit.stop = stop_of(fit, tolerance_, round.stop);
    return fit;
  }

  /// Without a round over all rows there is an objective but no bound on it.
  static void forget_bounds(StructuredFit& fit, double objective) {
    fit.primal = objective;
    fit.dual = fit.relative_gap = kUnknown;
  }

  PathModel& model_;
  HierarchyProblem problem_;
  const StructuredTraining& training_;
  Executor& executor_;
  RunControl& control_;
  std::span<const double> row_weights_;
  double tolerance_;  // of the next round
  bool is_bcfw_;
  std::vector<NodeId> leaves_;  // of the last round
  std::vector<PathModel::Workspace> workspaces_;
  std::vector<PathSvmResult::Round> rounds_;
  int passes_ = 0;
  std::int64_t oracle_calls_ = 0;
};

void require_rounds(const StructuredTraining& training) {
  require<InvalidOption>(
      !uses_sgd(training), "option partial_labels is given, but solver sgd, which surrogate '",
      training.surrogate.to_text(),
      "' may need, has no objective to compare rounds by; use bcfw, cutting-plane or one-slack");
  require<InvalidOption>(!is<NormalizedDifference>(training.surrogate),
                         "option surrogate is 'normalized-difference', which divides by the task "
                         "loss, but this is 0 for several leaves where partial_labels is given");
}

}  // namespace

PathSvmResult train_partial_path_svm(const CsrView& X, std::span<const NodeId> labels,
                                     LeafChoices choices, const LabelGraph& graph,
                                     std::span<const double> alpha, LeafLoss loss,
                                     const StructuredTraining& training, Executor& executor,
                                     RunControl& control, std::span<const double> row_weights,
                                     const Continuation& continuation) {
  require_rounds(training);
  const StructuredSolver solver = chosen_solver(training.solver, training.surrogate);
  if (solver != StructuredSolver::bcfw) require_no_continuation(solver, continuation);
  std::vector<NodeId> leaf_of_row(labels.begin(), labels.end());
  for (std::size_t i = 0; i < leaf_of_row.size(); ++i) {
    const std::uint32_t set = choices.set_of(i);
    if (set != LeafChoices::kKnown) leaf_of_row[i] = choices.set(set).front();
  }
  HierarchyProblem problem{.graph = graph,
                           .alpha = {alpha.begin(), alpha.end()},
                           .loss = loss.kind,
                           .costs = {loss.costs.begin(), loss.costs.end()},
                           .choices = choices};
  PathModel model(X, leaf_of_row, graph, alpha, loss, node_storage(X, graph, alpha, training, {}),
                  {}, std::move(choices));
  Rounds rounds(model, std::move(problem), training, executor, control, row_weights);
  StructuredResult found = rounds.run(continuation.start);
  return {model.scorer().node_weights({found.weights, 1.0}, X.num_columns()), found.fit,
          continuation.keep ? std::move(found.state) : nullptr, rounds.take_rounds()};
}

}  // namespace margrove
