// flat-svm and flat-lr: the baselines without a hierarchy. They train one linear classifier per
// label that occurs in the data, separately (one-vs-rest) or jointly (Crammer-Singer).

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "base/out_of_time.hpp"
#include "base/time_share.hpp"
#include "data/cost_matrix_reader.hpp"
#include "data/csr_operations.hpp"
#include "hierarchy/partial_labels.hpp"
#include "linear/one_vs_rest.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/crammer_singer.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "methods/name_matching.hpp"
#include "methods/softmax.hpp"
#include "model/splits.hpp"

namespace margrove {
namespace {

// One-vs-rest -------------------------------------------------------------------------------------

/// What a training leaves for another to start from, and the labels for which it holds.
struct OneVsRestPart {
  LabelSets sets;
  std::vector<LabelDuals> duals;
  WeightMatrix weights;  // if Newton's method has trained a label, which leaves no dual variables

  OneVsRestPart() = default;
  /// Takes the dual variables.
  OneVsRestPart(LabelSets labels, OneVsRestFit& fit)
      : sets(std::move(labels)), duals(std::move(fit.duals)) {
    const auto has_none = [](const LabelDuals& label) { return label.rows.empty(); };
    if (std::ranges::any_of(duals, has_none)) weights = fit.weights;
  }
};

struct OneVsRestState {
  OneVsRestPart all;                 // rows
  std::vector<OneVsRestPart> folds;  // of the decision
};

/// Throws InvalidOption if an option is set that only Crammer-Singer uses.
void require_one_vs_rest_options(FlatSvmOptions options) {
  require_defaults(OptionTable(options),
                   {"surrogate", "search", "solver", "epochs", "max_bans", "search_tolerance",
                    "search_calls", "convex_passes", "learning_rate", "cost_matrix"},
                   "multiclass crammer-singer", "multiclass is ovr");
}

/// The options that flat-svm and flat-lr share.
struct OneVsRestRun {
  OneVsRestOptions solver;
  DecisionOptions decision;
  double bias;  // value of the constant feature
  bool free_intercept;
};

template <class Options>
OneVsRestRun one_vs_rest_run(const Options& options, const CsrView& X, PointLossKind loss) {
  return {.solver = one_vs_rest_options(options, loss),
          .decision = decision_options(options),
          .bias = intercept_value_or_free(options, X, loss),
          .free_intercept = options.intercept_penalty == 0};
}

OneVsRestFit fit_one_vs_rest(const CsrView& X, const LabelSets& sets, std::size_t num_labels,
                             std::span<const double> row_weights, const OneVsRestRun& run,
                             const OneVsRestPart* start, bool keep_duals, Executor& executor,
                             RunControl& control) {
  OneVsRestExtras extras;
  extras.row_weights = row_weights;
  extras.free_intercept = run.free_intercept;
  extras.keep_duals = keep_duals;
  if (start != nullptr) {
    // Duals belong to rows and weights to features. They are used only if these are the same.
    if (start->sets == sets && start->duals.size() == num_labels) {
      extras.start_duals = start->duals;
    }
    if (start->weights.num_features() == X.num_columns() &&
        start->weights.num_nodes() == num_labels) {
      extras.start_weights = &start->weights;
    }
  }
  return train_one_vs_rest(X, sets, static_cast<std::uint32_t>(num_labels), run.solver, executor,
                           control, extras);
}

LinearPredictor::Parts flat_parts(const std::vector<LabelId>& labels, WeightMatrix weights,
                                  double bias, std::uint32_t num_labels) {
  LinearPredictor::Parts parts;
  parts.weights = std::move(weights);
  parts.bias = bias;
  parts.graph = LabelGraph::flat(static_cast<std::uint32_t>(labels.size()));
  parts.label_of_node = labels;
  for (NodeId n = 0; n < labels.size(); ++n) parts.candidates.push_back(n);
  parts.num_labels = num_labels;
  return parts;
}

/// Labels for which the same rows have signs.
struct LabelGroup {
  std::vector<std::uint32_t> labels;  // positions in OccurringLabels::labels
  std::vector<std::uint32_t> rows;    // those with signs, ascending
  LabelSets sets;                     // of these rows: positions in `labels`
};

struct OneVsRestPlan {
  /// Not a braced list, of which g++ 12 destroys the members twice where a later one throws.
  OneVsRestPlan(const OneVsRestRun& run_of_options, const TrainingSet& training)
      : run(run_of_options), data(training) {}

  OneVsRestRun run;
  TrainingSet data;
  PlannedRows rows;
  OccurringLabels occurring;
  std::vector<LabelGroup> groups;  // if rows have partial labels; empty: every row has all signs
  NamedLabels named;               // if names count; otherwise empty
  std::vector<std::string> warnings;
  std::uint32_t num_labels() const { return static_cast<std::uint32_t>(occurring.labels.size()); }
  std::uint32_t num_known_labels() const { return static_cast<std::uint32_t>(data.codec->size()); }
};

/// Labels below the same partial labels are one group, in the order of their first label.
std::vector<LabelGroup> groups_of(const LeafSets& leaves) {
  const LabelGraph& graph = leaves.tree.graph;
  const PartialLabels partial(graph, leaves.sets);
  if (partial.empty()) return {};
  std::vector<std::uint32_t> position(graph.num_nodes(), 0);
  std::vector<std::uint32_t> group_of(graph.num_nodes(), 0);
  std::map<std::vector<NodeId>, std::uint32_t> number_of;
  std::vector<LabelGroup> groups;
  for (std::uint32_t k = 0; k < leaves.candidates.size(); ++k) {
    const NodeId leaf = leaves.candidates[k];
    const auto [found, is_new] = number_of.try_emplace(partial.labels_above(leaf),
                                                       static_cast<std::uint32_t>(groups.size()));
    if (is_new) groups.emplace_back();
    group_of[leaf] = found->second;
    position[leaf] = static_cast<std::uint32_t>(groups[found->second].labels.size());
    groups[found->second].labels.push_back(k);
  }
  for (const auto& [above, number] : number_of) {
    LabelGroup& group = groups[number];
    for (std::uint32_t i = 0; i < leaves.sets.num_rows(); ++i) {
      const NodeId node = leaves.sets[i].front();
      if (std::ranges::binary_search(above, node)) continue;
      const bool is_own = graph.is_leaf(node) && group_of[node] == number;
      group.rows.push_back(i);
      group.sets.append(std::span(&position[node], is_own ? 1 : 0));
    }
  }
  return groups;
}

/// One entry for each label.
std::vector<LabelFit> fit_groups(const OneVsRestPlan& plan, const LabelFitSource& source,
                                 Executor& executor, RunControl& control) {
  std::vector<LabelFit> all(plan.num_labels());
  const auto fit_group = [&](std::size_t g) {
    const LabelGroup& group = plan.groups[g];
    if (source) return source(g);
    const std::vector<double> weights = kept_weights(plan.rows.weights, group.rows);
    OneVsRestExtras extras;
    extras.row_weights = weights;
    extras.free_intercept = plan.run.free_intercept;
    return train_label_blocks(select_rows(plan.rows.X.view(), group.rows), group.sets,
                              static_cast<std::uint32_t>(group.labels.size()), plan.run.solver, {},
                              executor, control, extras);
  };
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    std::vector<LabelFit> fits = fit_group(g);
    for (std::size_t k = 0; k < fits.size(); ++k) {
      all[plan.groups[g].labels[k]] = std::move(fits[k]);
    }
  }
  return all;
}

/// The folds of the decision, then all rows: the order of train_ovr(). With partial labels each
/// group in turn.
LabelProblems problems_of(const OneVsRestPlan& plan) {
  const LabelSets& sets = plan.occurring.sets;
  LabelProblems all{plan.rows.X, plan.rows.weights, plan.run.solver, plan.run.free_intercept, {}};
  for (const LabelGroup& group : plan.groups) {
    all.problems.push_back(
        {group.rows, group.sets, static_cast<std::uint32_t>(group.labels.size())});
  }
  if (!plan.groups.empty()) return all;
  for (const Split& split : decision_folds(plan.run.decision, sets)) {
    all.problems.push_back({split.training, select_rows(sets, split.training), plan.num_labels()});
  }
  all.problems.push_back({std::nullopt, sets, plan.num_labels()});
  return all;
}

/// Trains without a source of fits where names of labels count: the models of the folds give the
/// weight of the names, and with the names the scores on which the decision is tuned.
class NamedTraining {
 public:
  NamedTraining(const OneVsRestPlan& plan, Executor& executor, RunControl& control)
      : plan_(plan),
        executor_(executor),
        control_(control),
        tuner_(plan.run.decision, plan.occurring.sets, plan.rows.weights, plan.occurring.labels) {}

  TrainResult train() {
    match_names();
    score_folds();
    const LabelSets& sets = plan_.occurring.sets;
    OneVsRestFit fit = fit_one_vs_rest(plan_.rows.X, sets, plan_.num_labels(), plan_.rows.weights,
                                       plan_.run, nullptr, false, executor_, control_);
    TrainResult result;
    result.report = to_report(fit);
    result.report.warnings = plan_.warnings;
    result.report.name_weight = match_.weight;
    if (match_.weight > 0) {
      result.report.unseen_score = match_.unseen;
    } else {
      result.report.warnings.emplace_back(kNamesSayNothing);
    }
    std::vector<std::uint32_t> all(sets.num_rows());
    std::iota(all.begin(), all.end(), 0U);
    auto parts = parts_of(std::move(fit.weights), has_rows(all), plan_.run.bias);
    parts.decision = tuner_.tuned();
    result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
    return result;
  }

 private:
  /// A model of the cross-validation, whose scores depend on the weight of the names.
  struct Fold {
    std::vector<std::uint32_t> held_out;  // rows
    WeightMatrix weights;
    std::vector<bool> has_rows;  // of plan_.named.labels()
  };

  void match_names() {
    const LabelSets& sets = plan_.occurring.sets;
    const CsrView X = plan_.rows.X;
    if (sets.num_rows() < 2) return;
    HeldOutMatches held_out(plan_.named, sets, plan_.rows.weights);
    bool has_fold = false;
    const auto score_fold = [&](const Split& split, RunControl& share) {
      OneVsRestFit part =
          fit_one_vs_rest(select_rows(X, split.training), select_rows(sets, split.training),
                          plan_.num_labels(), kept_weights(plan_.rows.weights, split.training),
                          plan_.run, nullptr, false, executor_, share);
      note_end(to_report(part).stop, share);
      end_if_interrupted(control_);
      if (std::exchange(has_fold, true) && !control_.proceed()) return;  // earlier folds must do
      std::vector<bool> in_training = has_rows(split.training);
      held_out.add(X, split.validation, part.weights, in_training, executor_);
      if (!tuner_.needs_scores()) return;
      folds_.push_back({split.validation, std::move(part.weights), std::move(in_training)});
    };
    const std::string_view result = tuner_.needs_scores()
                                        ? "the weight of the names of labels and the decision"
                                        : "the weight of the names of labels";
    cross_validate(sets, plan_.run.decision.folds, plan_.run.decision.seed, result, control_,
                   score_fold);
    // The training on all rows gets half of the time left.
    RunControl share = time_share(control_, control_.seconds_left() / 2);
    match_ = held_out.fit(executor_, share);
    end_if_interrupted(control_);
    if (share.stop_reason() == Stop::time_limit) {
      control_.note("the time limit ended the fit of the weight of names early");
    }
  }

  /// Gives the tuner the scores of the held-out rows.
  void score_folds() {
    for (Fold& fold : folds_) {
      if (tuner_.has_scores() && !control_.proceed()) return;  // earlier folds must do
      const LinearPredictor predictor(
          parts_of(std::exchange(fold.weights, {}), fold.has_rows, /*bias=*/0));
      tuner_.add(predictor, plan_.rows.X, fold.held_out, executor_);
    }
  }

  /// Of plan_.named.labels(), whether each has one of these rows.
  std::vector<bool> has_rows(const std::vector<std::uint32_t>& rows) const {
    std::vector<bool> has(plan_.named.labels().size(), false);
    for (const std::uint32_t row : rows) {
      for (const LabelId position : plan_.occurring.sets[row]) {
        has[plan_.named.place_of_occurring(position)] = true;
      }
    }
    return has;
  }

  LinearPredictor::Parts parts_of(WeightMatrix weights, const std::vector<bool>& has_rows,
                                  double bias) const {
    if (match_.weight == 0) {
      return flat_parts(plan_.occurring.labels, std::move(weights), bias, plan_.num_known_labels());
    }
    return flat_parts(plan_.named.labels(),
                      plan_.named.with_names(weights, has_rows, match_, plan_.run.bias), bias,
                      plan_.num_known_labels());
  }

  const OneVsRestPlan& plan_;
  Executor& executor_;
  RunControl& control_;
  DecisionTuner tuner_;
  std::vector<Fold> folds_;
  NameMatch match_;
};

TrainResult train_named(const OneVsRestPlan& plan, Executor& executor, RunControl& control) {
  return NamedTraining(plan, executor, control).train();
}

TrainResult train_ovr(const OneVsRestPlan& plan, const LabelFitSource& source, Executor& executor,
                      RunControl& control) {
  const CsrView X = plan.rows.X;
  const std::vector<LabelId>& labels = plan.occurring.labels;
  const LabelSets& sets = plan.occurring.sets;
  const auto* start = plan.data.continuation.start_as<OneVsRestState>();
  const bool keep = plan.data.continuation.keep && plan.groups.empty();
  OneVsRestState state;
  std::size_t fold = 0, problem = 0;
  const auto next_fit = [&] { return joined(X.num_columns(), source(problem++), executor); };
  const auto fit_part = [&](const std::vector<std::uint32_t>& rows, RunControl& share) {
    const LabelSets own = select_rows(sets, rows);
    const bool has_start = start != nullptr && fold < start->folds.size();
    OneVsRestFit part =
        source ? next_fit()
               : fit_one_vs_rest(select_rows(X, rows), own, labels.size(),
                                 kept_weights(plan.rows.weights, rows), plan.run,
                                 has_start ? &start->folds[fold] : nullptr, keep, executor, share);
    ++fold;
    note_end(to_report(part).stop, share);
    if (keep) state.folds.emplace_back(own, part);
    return std::make_unique<LinearPredictor>(
        flat_parts(labels, std::move(part.weights), 0, plan.num_known_labels()));
  };
  Decision decision = tuned_decision(plan.run.decision, X, sets, plan.rows.weights, labels,
                                     fit_part, executor, control);
  const auto fit_all = [&] {
    if (!plan.groups.empty()) {
      return joined(X.num_columns(), fit_groups(plan, source, executor, control), executor);
    }
    return source
               ? next_fit()
               : fit_one_vs_rest(X, sets, labels.size(), plan.rows.weights, plan.run,
                                 start != nullptr ? &start->all : nullptr, keep, executor, control);
  };
  OneVsRestFit fit = fit_all();
  TrainResult result;
  result.report = to_report(fit);
  result.report.warnings = plan.warnings;
  if (keep) {
    state.all = OneVsRestPart(sets, fit);
    result.state = std::make_shared<FitState>(std::move(state));
  }
  auto parts = flat_parts(labels, std::move(fit.weights), plan.run.bias, plan.num_known_labels());
  parts.decision = std::move(decision);
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

/// All rows, those without a label as well, with the labels that occur.
void set_rows(const TrainingSet& data, OneVsRestPlan& plan) {
  plan.occurring = occurring_labels(*data.labels, data.codec->size());
  require(!plan.occurring.labels.empty(), data.source, ": no row has a label");
  plan.rows = {with_intercept(data.X, plan.run.bias),
               {data.row_weights.begin(), data.row_weights.end()}};
}

/// Labels that are inner nodes are partial.
template <class Options>
void set_partial_rows(const Options& options, TrainingSet data, OneVsRestPlan& plan) {
  data.expected_labels = {};  // as in set_rows(), only labels that occur have classifiers
  LeafSets leaves = leaf_sets_of(options, data);
  plan.run.decision.rule = DecisionKind::argmax;
  plan.groups = groups_of(leaves);
  plan.warnings = std::move(leaves.warnings);
  plan.occurring =
      occurring_labels(known_leaves(leaves.tree.graph, leaves.sets), data.codec->size());
  plan.rows = planned_rows(data, leaves.kept, plan.run.bias);
}

/// Sets the names of the labels, and adds the memory that they take where the classifiers have so
/// many weights.
template <class Options>
void add_names(const Options& options, double nonzeros, OneVsRestPlan& plan,
               MemoryEstimate& memory) {
  require<InvalidOption>(!options.partial_labels,
                         "option match_names is given, but partial_labels is, too");
  plan.named = NamedLabels(plan.data, plan.occurring.labels, options.bias);
  const double of_names = 8.0 * static_cast<double>(plan.named.names().num_nonzeros());
  memory.add("classifiers of the folds", 8 * nonzeros * plan.run.decision.folds);
  memory.add("names of labels", 2 * of_names);
  memory.add("similarities to names",
             HeldOutMatches::num_bytes(plan.rows.X.num_rows(), plan.named.labels().size()));
}

/// The state that training starts from, and the one that it leaves: weights and dual variables of
/// all rows and of each fold of the decision.
double state_bytes(const OneVsRestPlan& plan, const MemoryEstimate& training) {
  const Continuation& continuation = plan.data.continuation;
  const int states = (continuation.start != nullptr ? 1 : 0) + (continuation.keep ? 1 : 0);
  if (states == 0) return 0;
  const auto parts =
      static_cast<double>(1 + decision_folds(plan.run.decision, plan.occurring.sets).size());
  return 0.5 * states * parts * static_cast<double>(training.total());
}

template <class Options>
Plan plan_ovr(const Options& options, PointLossKind loss, const TrainingSet& data,
              Executor& executor, RunControl& control) {
  const OneVsRestRun run = one_vs_rest_run(options, data.X, loss);
  OneVsRestPlan plan(run, data);
  if (!options.partial_labels) {
    set_rows(data, plan);
  } else {
    set_partial_rows(options, data, plan);
  }
  const CsrView X = plan.rows.X;
  const LabelSets& sets = plan.occurring.sets;
  const std::vector<double> nonzeros =
      measured_nonzeros(X, sets, plan.num_labels(), run.solver, control);
  MemoryEstimate training =
      one_vs_rest_memory(X, sets, plan.num_labels(), run.solver, executor.size(), nonzeros);
  if (!plan.groups.empty()) {
    training.add("rows with signs", 8.0 * static_cast<double>(X.num_nonzeros()));
  }
  const double of_state = state_bytes(plan, training);
  MemoryEstimate memory = planned_rows_memory(plan.rows, sets);
  memory.add(tuned_memory(run.decision, X, sets, plan.num_labels(), std::move(training)));
  if (of_state > 0) memory.add("states", of_state);
  if (options.match_names) {
    add_names(options, std::accumulate(nonzeros.begin(), nonzeros.end(), 0.0), plan, memory);
    return planned(std::move(memory), std::move(plan), train_named);
  }
  return planned(std::move(memory), std::move(plan), train_ovr, problems_of);
}

// Crammer-Singer, the structured SVM over paths of a single node ----------------------------------

struct CrammerSingerPlan {
  CrammerSinger problem;
  double bias;
  Continuation continuation;
  PlannedRows rows;
  OccurringLabels occurring;
  std::vector<std::uint32_t> label_of_row;  // positions in occurring.labels
  std::uint32_t num_known_labels;
  std::vector<std::string> warnings;
};

TrainResult train_crammer_singer(const CrammerSingerPlan& plan, Executor& executor,
                                 RunControl& control) {
  CrammerSinger::Fit fit = plan.problem.train(plan.rows.X, plan.label_of_row, plan.rows.weights,
                                              plan.continuation, executor, control);
  TrainResult result;
  result.report = std::move(fit.report);
  result.report.warnings.insert(result.report.warnings.begin(), plan.warnings.begin(),
                                plan.warnings.end());
  result.state = std::move(fit.state);
  result.predictor = std::make_unique<LinearPredictor>(
      flat_parts(plan.occurring.labels, std::move(fit.weights), plan.bias, plan.num_known_labels));
  return result;
}

Plan plan_crammer_singer(const FlatSvmOptions& options, const TrainingSet& data,
                         Executor& executor) {
  require<InvalidOption>(options.loss != FlatSvmLoss::squared_hinge, "option loss is ",
                         name_of(options.loss),
                         ", but must be hinge where multiclass is crammer-singer");
  require<InvalidOption>(
      options.decision == DecisionKind::automatic || options.decision == DecisionKind::argmax,
      "option decision is ", name_of(options.decision),
      ", but must be argmax where multiclass is crammer-singer");
  require<InvalidOption>(!options.partial_labels,
                         "option partial_labels is given, but multiclass is crammer-singer");
  require<InvalidOption>(!options.match_names,
                         "option match_names is given, but multiclass is crammer-singer");
  TrainingSet flat = data;  // without the hierarchy
  flat.hierarchy = nullptr;
  require_single_labels(flat, "flat-svm with crammer-singer");
  LeafSets leaves = leaf_sets(flat);
  const double bias = intercept_value(options);
  OccurringLabels occurring =
      occurring_labels(select_rows(*data.labels, leaves.kept), data.codec->size());
  std::vector<double> costs;
  if (!options.cost_matrix.empty()) {
    costs = read_cost_matrix(options.cost_matrix, *data.codec).among(occurring.labels, *data.codec);
  }
  const auto num_labels = static_cast<std::uint32_t>(occurring.labels.size());
  // Computed before: where an initialiser throws, g++ 12 destroys the members before it twice.
  PlannedRows rows = planned_rows(data, leaves.kept, bias);
  CrammerSingerPlan plan{
      .problem = CrammerSinger(options, loss_weight(options), num_labels, std::move(costs)),
      .bias = bias,
      .continuation = data.continuation,
      .rows = std::move(rows),
      .occurring = std::move(occurring),
      .label_of_row = {},
      .num_known_labels = static_cast<std::uint32_t>(data.codec->size()),
      .warnings = std::move(leaves.warnings)};
  const LabelSets& sets = plan.occurring.sets;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) plan.label_of_row.push_back(sets[i][0]);
  MemoryEstimate memory = planned_rows_memory(plan.rows, sets);
  memory.add(plan.problem.memory(plan.rows.X, plan.continuation, executor.size()));
  const bool keeps_checkpoints = writes_checkpoints(plan.problem.solver());
  Plan made = planned(std::move(memory), std::move(plan), train_crammer_singer);
  made.keeps_checkpoints = keeps_checkpoints;
  return made;
}

}  // namespace

Method flat_svm() {
  Method method = make_method<FlatSvmOptions>(
      "linear support vector machines without the hierarchy",
      [](const FlatSvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        if (options.multiclass == MulticlassKind::crammer_singer) {
          return plan_crammer_singer(options, data, executor);
        }
        require_one_vs_rest_options(options);
        const PointLossKind loss = options.loss == FlatSvmLoss::hinge
                                       ? PointLossKind::hinge
                                       : PointLossKind::squared_hinge;
        return plan_ovr(options, loss, data, executor, control);
      },
      [](const FlatSvmOptions& options) {
        if (options.multiclass == MulticlassKind::crammer_singer) return kPathHingeWeight;
        return options.loss == FlatSvmLoss::hinge ? kHingeWeight : kSquaredHingeWeight;
      });
  method.uses_hierarchy = false;
  method.empty_sets = true;
  method.no_empty_sets_with = {{"multiclass", "crammer-singer"}, {"partial_labels", "true"}};
  method.warm_starts = true;
  method.no_warm_starts_with = {
      {"multiclass", "crammer-singer"}, {"partial_labels", "true"}, {"match_names", "true"}};
  return method;
}

Method flat_lr() {
  Method method = make_method<FlatLrOptions>(
      "logistic regression without the hierarchy, one-vs-rest or multinomial",
      [](const FlatLrOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        if (options.multiclass == MulticlassKind::softmax) {
          return plan_softmax(options, data, executor, control);
        }
        return plan_ovr(options, PointLossKind::logistic, data, executor, control);
      },
      [](const FlatLrOptions& options) {
        return options.multiclass == MulticlassKind::softmax ? kSoftmaxWeight : kLogisticWeight;
      });
  method.uses_hierarchy = false;
  method.empty_sets = true;
  method.no_empty_sets_with = {{"multiclass", "softmax"}, {"partial_labels", "true"}};
  method.warm_starts = true;
  method.no_warm_starts_with = {
      {"multiclass", "softmax"}, {"partial_labels", "true"}, {"match_names", "true"}};
  return method;
}

}  // namespace margrove
