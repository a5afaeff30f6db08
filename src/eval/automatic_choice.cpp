#include "eval/automatic_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/out_of_time.hpp"
#include "eval/metric_choice.hpp"
#include "eval/trial_cost.hpp"
#include "eval/trial_runner.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Training on all rows may take longer than in proportion to the rows.
constexpr double kReserve = 1.2;
constexpr double kDoubt = 2;  // a trial may take so much more than expected
constexpr double kFarErrors = 2;
constexpr std::size_t kFewestKept = 3;  // candidates of a next stage
constexpr std::size_t kMaxRefined = 3;
constexpr int kMaxSteps = 4;  // of the refinement of C of one candidate

/// What is known of a candidate during the search.
struct State {
  CandidateRun candidate;
  std::vector<Trial> trials;
  std::vector<std::size_t> strengths;  // to try in the stage
  TrialCost cost;
  bool is_dropped = false;
  bool is_late = false;  // had no trial in an earlier stage, for lack of time
  bool is_cut = false;
  std::string error;  // of the last trial that threw

  bool has_failed() const { return trials.empty() && !error.empty(); }
  bool is_active() const { return !is_dropped && !is_late && !has_failed(); }
};

class Search {
 public:
  Search(const Examples& raw, const Hierarchy* hierarchy, const PreprocessingOptions& preprocessing,
         const AutomaticOptions& options, double memory_limit, Executor& executor,
         RunControl& control)
      : raw_(raw),
        hierarchy_(hierarchy),
        preprocessing_(preprocessing),
        options_(options),
        memory_limit_(memory_limit),
        executor_(executor),
        control_(control),
        runner_(raw, hierarchy, preprocessing, options.seed, executor) {}

  AutomaticChoice run() {
    const DataFacts facts = facts_of(raw_, hierarchy_);
    choice_.metric = options_.metric.empty() ? default_metric(facts) : options_.metric;
    require_search_metric(choice_.metric);
    Candidates candidates = candidates_for(facts);
    choice_.left_out = std::move(candidates.left_out);
    for (CandidateRun& each : candidates.all) {
      states_.emplace_back().candidate = std::move(each);
    }
    const TrialStages stages = stages_for(facts);
    choice_.num_rows = raw_.num_rows();
    choice_.num_splits = stages.all.back().size();
    num_stages_ = stages.all.size();
    has_probe_ = stages.has_probe;
    all_rows_ = {facts.num_rows, facts.num_labels};
    runner_.set_metric(choice_.metric);
    runner_.begin_stage(stages.all.back());
    plan_candidates();
    add_scales();
    count_planned_trials();
    runner_.keep_stage();
    for (stage_ = 0; stage_ < num_stages_ && !is_over(); ++stage_) {
      is_last_stage() ? runner_.begin_kept_stage() : runner_.begin_stage(stages.all[stage_]);
      measure_stage(stages.all[stage_].size());
      if (is_probe()) {
        probe();
      } else {
        run_stage();
        is_last_stage() ? refine() : keep_better_half();
      }
    }
    choose();
    return std::move(choice_);
  }

 private:
  // Time ------------------------------------------------------------------------------------------

  bool is_over() { return !control_.proceed(); }

  bool has_time_limit() const { return control_.seconds_left() < kInfinity; }

  TrialStages stages_for(const DataFacts& facts) const {
    if (!has_time_limit()) return {trial_stages(raw_.labels, facts.num_labels, options_.seed)};
    return trial_stages_in_limited_time(raw_.labels, facts.num_labels, options_.seed);
  }

  void measure_stage(std::size_t num_splits) {
    size_ = {runner_.num_training_rows(), runner_.num_training_labels()};
    const auto count = static_cast<double>(num_splits);
    // Side by side, splits take less time, but not less of the processor.
    const double threads = control_.counts_cpu_seconds() ? 1.0 : executor_.size();
    splits_in_turn_ = count / std::min(threads, count);
  }

  bool is_probe() const { return has_probe_ && stage_ == 0; }
  bool is_last_stage() const { return stage_ + 1 == num_stages_; }

  /// Seconds that a trial of the stage is expected to take; 0 if nothing is known.
  double expected_seconds(const State& state) const {
    return splits_in_turn_ * state.cost.expected(state.candidate, size_);
  }

  /// Estimates from small samples may be too large.
  bool is_worth_trying(const State& state, double limit) const {
    return expected_seconds(state) <= kDoubt * limit;
  }

  /// Seconds that training on all rows is expected to take.
  double seconds_on_all_rows(const State& state) const {
    return kReserve * state.cost.expected(state.candidate, all_rows_);
  }
  double seconds_on_all_rows(const Trial& trial) const {
    return seconds_on_all_rows(states_[trial.candidate]);
  }

  bool is_of_probe(const Trial& trial) const { return has_probe_ && trial.stage == 0; }

  /// What a trial may take, so that its setting and the one that would be chosen now can still be
  /// trained on all rows. Before there is an answer, half of the time left, so that several may be
  /// tried.
  double seconds_for_trial(const State& state) const {
    const double left = control_.seconds_left();
    const Trial* leader = trial_of_leader();
    if (left == kInfinity) return left;
    if (leader == nullptr) return left / 2;
    TrialCost of_one_second;
    of_one_second.add(size_, 1 / splits_in_turn_);
    const double later = kReserve * of_one_second.expected(state.candidate, all_rows_);
    return std::min(left - seconds_on_all_rows(*leader), left / (1 + later));
  }

  bool report() {
    return control_.proceed(Progress{.stage = "auto",
                                     .done = num_done_,
                                     .total = std::max(num_planned_, num_done_ + 1),
                                     .unit = Progress::Unit::trials});
  }

  /// An estimate: refinement may need more or fewer.
  void count_planned_trials() {
    constexpr std::size_t kOfEachStep = 3;
    std::size_t planned = 0, active = states_.size();
    for (const State& state : states_) planned += std::max<std::size_t>(state.strengths.size(), 1);
    if (has_probe_) planned += active;
    for (std::size_t s = has_probe_ ? 2 : 1; s < num_stages_; ++s) {
      active = std::min(active, num_kept(active));
      planned += active * 2;
    }
    planned += std::min(active, kMaxRefined) * kOfEachStep;
    num_planned_ = static_cast<std::int64_t>(planned);
  }

  // Trials ----------------------------------------------------------------------------------------

  /// Trains one setting on every split of the stage. Returns whether the candidate may go on.
  bool try_setting(State& state, OptionValues values, std::optional<std::size_t> strength,
                   bool is_variant, double limit) {
    if (strength) values.emplace_back("C", std::string(kStrengths[*strength]));
    Trial trial;
    trial.candidate = static_cast<std::size_t>(&state - states_.data());
    trial.options = values;
    trial.stage = stage_;
    trial.num_rows = runner_.num_training_rows();
    trial.strength = strength;
    trial.is_variant = is_variant;
    const double before = control_.seconds();
    std::optional<TrialOutcome> outcome;
    try {
      RunControl share(
          control_, [&](const Progress&) { return report(); }, limit);
      outcome = runner_.run(find_method(state.candidate.method), values, share);
    } catch (const OutOfTimeLimit&) {
      outcome.reset();  // nothing was trained
    } catch (const Error& error) {
      // Where it is of the sample only, a later trial goes well.
      if (!is_probe()) state.error = error.what();
      return false;
    }
    const double seconds = control_.seconds() - before;
    seconds_[trial.candidate] += seconds;
    if (!outcome) {
      constexpr double kAtLeast = 2;
      state.cost.add(size_, kAtLeast * seconds / splits_in_turn_);
      state.is_cut = !is_probe();
      return false;
    }
    state.cost.add(size_, seconds / splits_in_turn_);
    ++num_done_;
    report();
    trial.metric = std::move(outcome->metric);
    state.trials.push_back(std::move(trial));
    keep_model_of_best(std::move(outcome->model), state.trials.back());
    return true;
  }

  /// False where the time limit or an interruption came before.
  bool is_prepared(const CandidateRun& candidate) {
    try {
      runner_.prepare(find_method(candidate.method), candidate.options, control_);
      return true;
    } catch (const OutOfTimeLimit&) {
      return false;
    }
  }

  /// Leaves out what does not fit into memory; C is tried around the default for these rows.
  void plan_candidates() {
    std::vector<State> kept;
    for (State& state : states_) {
      const CandidateRun& candidate = state.candidate;
      if (is_over() || !is_prepared(candidate)) {  // nothing will be trained
        kept.push_back(std::move(state));
        continue;
      }
      std::string obstacle;
      try {
        const TrialRunner::Outlook outlook =
            runner_.outlook(find_method(candidate.method), candidate.options, control_);
        obstacle = memory_obstacle(outlook.memory, memory_limit_);
        if (outlook.C) state.strengths = strengths_around(*outlook.C);
      } catch (const OutOfTime&) {
        obstacle.clear();  // the search ends at once
      } catch (const Error& error) {
        obstacle = error.what();  // as its training would
      }
      if (obstacle.empty()) {
        kept.push_back(std::move(state));
      } else {
        choice_.left_out.push_back({candidate.name(), obstacle});
      }
    }
    states_ = std::move(kept);
    seconds_.assign(states_.size(), 0.0);
    if (!states_.empty()) return;
    const LeftOut& last = choice_.left_out.back();
    throw InvalidInput(
        concat(raw_.source, ": no method can be tried: ", last.candidate, ": ", last.reason));
  }

  /// Columns that keep their proportions by default may do better if each has a scale of its own.
  void add_scales() {
    if (preprocessing_.scale != ColumnScale::automatic || is_over()) return;
    try {
      for (State& state : states_) {
        const Method& method = find_method(state.candidate.method);
        if (runner_.chosen_scale(method, control_) != ColumnScale::common) continue;
        state.candidate.variants.push_back(
            {{"scale", std::string(name_of(ColumnScale::standard))}});
      }
    } catch (const OutOfTimeLimit&) {
      return;  // the search ends at once
    }
  }

  // Stages ----------------------------------------------------------------------------------------

  std::vector<State*> active() {
    std::vector<State*> found;
    for (State& state : states_) {
      if (state.is_active()) found.push_back(&state);
    }
    return found;
  }

  /// Every candidate with one value of C, on a sample, to know what it takes. The simpler ones have
  /// more time until one has an answer.
  void probe() {
    constexpr double kShare = 0.02, kShareBeforeAnswer = 0.1;
    for (State* state : active()) {
      const double share = best_trial() == nullptr ? kShareBeforeAnswer : kShare;
      const double limit = share * control_.seconds_left();
      if (is_over()) return;
      try_setting(*state, state->candidate.options, first_strength(*state), false, limit);
    }
  }

  /// Every candidate with one value of C, so that each has an answer early; then the other values,
  /// the best candidates first; and where time is left, those again that took more than their
  /// share.
  void run_stage() {
    std::vector<State*> order = active();
    sort_for_stage(order);
    for (std::size_t k = 0; k < order.size(); ++k) {
      try_first(*order[k], share_of(2 * order.size() - k));
    }
    sort_by_score(order, stage_);
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (best_of(*order[k], stage_) == nullptr) continue;
      try_other_strengths(*order[k], control_.seconds() + share_of(order.size() - k));
    }
    if (!is_last_stage()) return;
    for (State* state : order) {
      if (state->is_active() && best_of(*state, stage_) == nullptr) try_first(*state, kInfinity);
    }
  }

  /// Whether it was within two standard errors of the best one in the stage before.
  bool is_promising(const State& state) const {
    if (stage_ == 0) return false;
    const Trial *own = best_of(state, stage_ - 1), *best = best_of_stage(stage_ - 1);
    return own != nullptr && is_tied(*best, *own, kFarErrors);
  }

  /// The best candidates first; after the probe, whose scores are uncertain, the fastest ones of
  /// the promising ones, then those of the others, and at last those that the probe cut, of which
  /// only a part of the time is known, the simplest first.
  void sort_for_stage(std::vector<State*>& order) const {
    if (stage_ > (has_probe_ ? 1 : 0)) {
      sort_by_score(order, stage_ - 1);
      return;
    }
    const auto seconds = [&](const State& state) {
      return stage_ > 0 && state.trials.empty() ? kInfinity : expected_seconds(state);
    };
    std::ranges::stable_sort(order, [&](const State* a, const State* b) {
      const bool first = is_promising(*a), second = is_promising(*b);
      if (first != second) return first;
      return seconds(*a) < seconds(*b);
    });
  }

  /// Seconds for one of `left` parts of the stage's work: more than an even share, because others
  /// take less. Later stages have half of the time. There is no such bound before the first answer.
  double share_of(std::size_t left) const {
    constexpr double kGenerosity = 3;
    const double all = control_.seconds_left();
    if (all == kInfinity || best_trial() == nullptr) return all;
    const double of_stage = is_last_stage() ? all : all / 2;
    return of_stage * std::min(1.0, kGenerosity / static_cast<double>(left));
  }

  /// Whether the trial of what would be chosen now may well end without a result. Its time is then
  /// better spent on all rows.
  bool is_gamble(const State& state, double limit) const {
    constexpr double kMargin = 1.5;
    const Trial* leader = trial_of_leader();
    return leader != nullptr && &states_[leader->candidate] == &state &&
           limit < kMargin * expected_seconds(state);
  }

  void try_first(State& state, double seconds) {
    const double most = seconds_for_trial(state);
    if (is_promising(state)) seconds = kInfinity;
    const double limit = std::min(most, std::max(seconds, kDoubt * expected_seconds(state)));
    if (!is_over() && limit > 0 && is_worth_trying(state, std::min(seconds, most)) &&
        !is_gamble(state, most)) {
      state.is_cut = false;
      try_setting(state, state.candidate.options, first_strength(state), false, limit);
    } else {
      state.is_cut = true;
    }
  }

  static std::optional<std::size_t> first_strength(const State& state) {
    return state.strengths.empty() ? std::nullopt : std::optional(state.strengths.front());
  }

  void try_other_strengths(State& state, double end) {
    for (const std::size_t strength : state.strengths) {
      if (was_tried(state, strength)) continue;
      if (!try_until(end, state, state.candidate.options, strength, false)) return;
    }
  }

  static std::size_t num_kept(std::size_t active) {
    return std::max(kFewestKept, (active + 1) / 2);
  }

  void keep_better_half() {
    std::vector<State*> order = active();
    sort_by_score(order, stage_);
    std::size_t place = 0;
    for (State* state : order) {
      const Trial* own = best_of(*state, stage_);
      state->is_late = own == nullptr;
      if (state->is_late) continue;
      const Trial& best = *best_of(*order.front(), stage_);
      state->is_dropped = place++ >= num_kept(order.size()) && !is_tied(best, *own, kFarErrors);
      if (!state->is_dropped) keep_two_strengths(*state);
    }
  }

  void keep_two_strengths(State& state) {
    constexpr std::size_t kKept = 2;
    std::vector<const Trial*> trials;
    for (const Trial& trial : state.trials) {
      if (trial.stage == stage_ && trial.strength) trials.push_back(&trial);
    }
    std::ranges::stable_sort(trials, [&](auto* a, auto* b) { return is_better(*a, *b); });
    state.strengths.clear();
    for (const Trial* trial : trials) {
      if (state.strengths.size() < kKept) state.strengths.push_back(*trial->strength);
    }
  }

  /// C to both sides of the best value, as long as it helps, and then other node-weight rules, for
  /// the best candidates.
  void refine() {
    std::vector<State*> order = active();
    std::erase_if(order, [&](State* state) { return best_of(*state, stage_) == nullptr; });
    sort_by_score(order, stage_);
    if (order.size() > kMaxRefined) order.resize(kMaxRefined);
    for (std::size_t k = 0; k < order.size() && !is_over(); ++k) {
      const double share = 1.0 / static_cast<double>(order.size() - k);
      const double end = control_.seconds() + share * control_.seconds_left();
      refine_strength(*order[k], end);
      refine_options(*order[k], end);
    }
  }

  /// try_setting() in the time until `end`. False, with the candidate cut, where it does not
  /// suffice.
  bool try_until(double end, State& state, const OptionValues& values,
                 std::optional<std::size_t> strength, bool is_variant) {
    const double limit = std::min(end - control_.seconds(), seconds_for_trial(state));
    if (is_over() || limit <= 0 || !is_worth_trying(state, limit)) {
      state.is_cut = true;
      return false;
    }
    return try_setting(state, values, strength, is_variant, limit);
  }

  void refine_strength(State& state, double end) {
    for (int step = 0; step < kMaxSteps && !is_over(); ++step) {
      const Trial& best = *best_of(state, stage_);
      if (!best.strength) return;
      std::optional<std::size_t> next;
      for (const std::size_t place : {*best.strength + 1, *best.strength - 1}) {  // may wrap
        if (place < kStrengths.size() && !was_tried(state, place)) next = next ? next : place;
      }
      if (!next) return;
      if (!try_until(end, state, state.candidate.options, next, false)) return;
    }
  }

  bool was_tried(const State& state, std::size_t strength) const {
    return std::ranges::any_of(state.trials, [&](const Trial& trial) {
      return trial.stage == stage_ && trial.strength == strength && !trial.is_variant;
    });
  }

  void refine_options(State& state, double end) {
    const std::optional<std::size_t> strength = best_of(state, stage_)->strength;
    for (const OptionValues& variant : state.candidate.variants) {
      if (is_over()) return;
      OptionValues values = state.candidate.options;
      values.insert(values.end(), variant.begin(), variant.end());
      if (!try_until(end, state, values, strength, true)) return;
    }
  }

  // Comparisons -----------------------------------------------------------------------------------

  double gain(const Trial& trial) const {
    return is_loss(choice_.metric) ? -trial.metric.value : trial.metric.value;
  }
  /// Trials of the same stage.
  bool is_better(const Trial& a, const Trial& b) const { return gain(a) > gain(b); }

  /// The first one with the best score; null if there is none in the stage.
  const Trial* best_of(const State& state, std::size_t stage) const {
    const Trial* best = nullptr;
    for (const Trial& trial : state.trials) {
      if (trial.stage == stage && (best == nullptr || is_better(trial, *best))) best = &trial;
    }
    return best;
  }
  const Trial* last_best_of(const State& state) const {
    return state.trials.empty() ? nullptr : best_of(state, state.trials.back().stage);
  }

  /// Of the latest stage that has a trial.
  const Trial* best_trial() const {
    const Trial* best = nullptr;
    for (const State& state : states_) {
      const Trial* own = last_best_of(state);
      if (own == nullptr) continue;
      if (best == nullptr || own->stage > best->stage ||
          (own->stage == best->stage && is_better(*own, *best))) {
        best = own;
      }
    }
    return best;
  }

  void sort_by_score(std::vector<State*>& order, std::size_t stage) const {
    std::ranges::stable_sort(order, [&](const State* a, const State* b) {
      const Trial *first = best_of(*a, stage), *second = best_of(*b, stage);
      if (first == nullptr || second == nullptr) return first != nullptr && second == nullptr;
      return is_better(*first, *second);
    });
  }

  // The choice ------------------------------------------------------------------------------------

  double standard_error(const Trial& a, const Trial& b) const {
    return paired_standard_error(a.metric, b.metric);
  }

  /// A difference by one row is one standard error, whatever rounding makes of it.
  bool is_tied(const Trial& best, const Trial& other, double errors = 1) const {
    constexpr double kRounding = 1e-9;
    return gain(best) - gain(other) <= (errors + kRounding) * standard_error(best, other);
  }

  /// Of the trials within one standard error of the best one, that of the simplest candidate.
  const Trial* simplest_tied(const Trial& best) const {
    for (const State& state : states_) {
      const Trial* own = best_of(state, best.stage);
      if (own != nullptr && is_tied(best, *own)) return own;
    }
    return &best;
  }

  /// The best trial of a candidate that had no time for the last stages, if it was better than the
  /// best one in the stage where both were measured last, and there is time to train it on all
  /// rows. The scores of the probe are uncertain: there it must have been far better, and better
  /// than the other one is on more rows.
  const Trial* untried_winner(const Trial& best) const {
    const Trial* winner = nullptr;
    double margin = 0;
    for (const State& state : states_) {
      const Trial* own = last_best_of(state);
      if (own == nullptr || state.is_dropped || own->stage >= best.stage) continue;
      const Trial* rival = best_of(states_[best.candidate], own->stage);
      if (rival == nullptr || is_tied(*own, *rival)) continue;
      if (is_of_probe(*own) && (is_tied(*own, *rival, kFarErrors) || !is_better(*own, best))) {
        continue;
      }
      if (gain(*own) - gain(*rival) <= margin) continue;
      if (seconds_on_all_rows(state) > control_.seconds_left()) continue;
      margin = gain(*own) - gain(*rival);
      winner = own;
    }
    return winner;
  }

  /// Whether it is expected that the candidate can be trained on all rows in the time left.
  bool fits(const Trial& trial) const {
    return seconds_on_all_rows(trial) <= control_.seconds_left();
  }
  /// After the probe, trials leave the time for all rows.
  bool may_be_chosen(const Trial& trial) const { return !is_of_probe(trial) || fits(trial); }

  /// The best one of the trials of the probe whose candidates fit, or that of the fastest
  /// candidate.
  const Trial* fitting_or_fastest() const {
    const Trial *best = nullptr, *fastest = nullptr;
    for (const State& state : states_) {
      const Trial* own = best_of(state, 0);
      if (own == nullptr) continue;
      const bool is_faster =
          fastest == nullptr || seconds_on_all_rows(*own) < seconds_on_all_rows(*fastest);
      if (is_faster) fastest = own;
      if (fits(*own) && (best == nullptr || is_better(*own, *best))) best = own;
    }
    return best != nullptr ? best : fastest;
  }

  /// What would be chosen now, ties aside; null before the first trial.
  const Trial* trial_of_leader() const {
    const Trial* best = best_trial();
    if (best == nullptr) return nullptr;
    if (!may_be_chosen(*best)) return fitting_or_fastest();
    const Trial* untried = untried_winner(*best);
    return untried != nullptr ? untried : best;
  }

  void keep_model_of_best(ModelParts model, const Trial& trial) {
    if (best_trial() != &trial) return;
    choice_.model = std::move(model);
    choice_.model_rows = trial.num_rows;
  }

  void choose() {
    const Trial* best = best_trial();
    // Where there is no time to train, the model is that of the best trial.
    const bool is_interrupted = control_.stop_reason() == Stop::interrupted;
    const Trial* chosen = best;
    if (best != nullptr && !is_interrupted) {
      chosen = trial_of_leader();
      const Trial* simplest = simplest_tied(*best);
      if (chosen == best && may_be_chosen(*simplest)) chosen = simplest;
    }
    for (const State& state : states_) add_result(state, best, chosen);
    const bool is_short = std::ranges::any_of(states_, [&](const State& state) {
      return state.is_cut || (state.is_active() && state.trials.empty());
    });
    choice_.stop = is_interrupted ? Stop::interrupted
                   : is_short     ? Stop::time_limit
                                  : control_.stop_reason();
    const auto rank = [](const CandidateResult& result) {
      if (result.verdict == Verdict::chosen) return 0;
      return result.num_trials > 0 ? 1 : 2;
    };
    std::ranges::stable_sort(choice_.candidates, [&](const auto& a, const auto& b) {
      if (rank(a) != rank(b)) return rank(a) < rank(b);
      if (a.stage != b.stage || a.num_trials == 0) return a.stage > b.stage;
      return is_loss(choice_.metric) ? a.score < b.score : a.score > b.score;
    });
    choice_.seconds = control_.seconds();
  }

  void add_result(const State& state, const Trial* best, const Trial* chosen) {
    CandidateResult result;
    result.method = state.candidate.method;
    result.options = state.candidate.options;
    const auto place = static_cast<std::size_t>(&state - states_.data());
    result.num_trials = state.trials.size();
    result.seconds = seconds_[place];
    result.score = result.difference = result.standard_error = kNaN;
    result.note = state.error;
    const Trial* own = last_best_of(state);
    if (own == nullptr) {
      result.verdict = state.has_failed() ? Verdict::failed
                       : state.is_cut     ? Verdict::cut
                                          : Verdict::not_tried;
      choice_.candidates.push_back(std::move(result));
      return;
    }
    const Trial& first = *best_of_stage(own->stage);
    result.options = own->options;
    result.stage = own->stage;
    result.num_rows = own->num_rows;
    result.score = own->metric.value;
    result.difference = own->metric.value - first.metric.value;
    result.standard_error = standard_error(first, *own);
    if (own == chosen) {
      result.verdict = Verdict::chosen;
    } else if (own->stage < best->stage) {
      result.verdict = state.is_dropped ? Verdict::dropped : Verdict::cut;
    } else {
      // Of a later stage than the chosen one: worse where both were measured.
      const bool is_beaten = chosen != nullptr && chosen->stage < best->stage;
      result.verdict = !is_beaten && is_tied(*best, *own) ? Verdict::tied : Verdict::worse;
    }
    choice_.candidates.push_back(std::move(result));
  }

  const Trial* best_of_stage(std::size_t stage) const {
    const Trial* best = nullptr;
    for (const State& state : states_) {
      const Trial* own = best_of(state, stage);
      if (own != nullptr && (best == nullptr || is_better(*own, *best))) best = own;
    }
    return best;
  }

  const Examples& raw_;
  const Hierarchy* hierarchy_;
  const PreprocessingOptions& preprocessing_;
  const AutomaticOptions& options_;
  double memory_limit_;
  Executor& executor_;
  RunControl& control_;
  TrialRunner runner_;

  AutomaticChoice choice_;
  std::vector<State> states_;  // in the order of the registry
  std::vector<double> seconds_;
  std::size_t stage_ = 0, num_stages_ = 0;
  bool has_probe_ = false;
  TrialSize all_rows_, size_;  // of all rows, and of a split of the stage
  double splits_in_turn_ = 1;  // of the stage: those that do not run side by side
  std::int64_t num_done_ = 0, num_planned_ = 0;
};

}  // namespace

AutomaticChoice choose_automatically(const Examples& raw, const Hierarchy* hierarchy,
                                     const PreprocessingOptions& preprocessing,
                                     const AutomaticOptions& options, double memory_limit,
                                     Executor& executor, RunControl& control) {
  require<InvalidOption>(preprocessing.kernel_features.is_none(),
                         "option kernel_features is given, but auto does not offer it: it tries "
                         "methods with kernels itself; train and tune offer it");
  return Search(raw, hierarchy, preprocessing, options, memory_limit, executor, control).run();
}

}  // namespace margrove
