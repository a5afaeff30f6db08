#include "methods/training.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/memory_limit.hpp"
#include "base/out_of_time.hpp"
#include "data/class_weight_reader.hpp"
#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "data/number_rows.hpp"
#include "data/stop_words.hpp"
#include "data/text_views.hpp"
#include "methods/convergence_curve.hpp"
#include "methods/labelled_rows.hpp"
#include "model/class_weights.hpp"
#include "model/feature_name.hpp"
#include "model/finite_scores.hpp"
#include "model/process_encoder.hpp"

namespace margrove {

ReadOptions read_options(const ModelParts& model) {
  return {.refuse_labels_alone = true,
          .selection = model.records ? &model.records->selection : nullptr,
          .first_index = given_first_index(model.preprocessing.first_index),
          .vector_widths = model.records ? std::span(model.records->vector_widths)
                                         : std::span<const std::uint32_t>()};
}

namespace {

TfidfOptions tfidf_options(const PreprocessingOptions& options) {
  TfidfOptions tfidf = options;
  if (tfidf.vectors != "none" && tfidf.encoder == nullptr) {
    tfidf.encoder = std::make_shared<ProcessEncoder>(tfidf.vectors);
  }
  if (options.stop_words_choice.empty()) return tfidf;
  for (std::string& word : stop_words_of_choice(options.stop_words_choice)) {
    tfidf.stop_words.push_back(std::move(word));
  }
  return tfidf;
}

/// Throws InvalidOption naming an option of terms that is not its default, as no terms are made of
/// the columns. A vector may have a share beside others.
void require_no_terms(const RecordSelection& columns, PreprocessingOptions options) {
  constexpr std::string_view kNeeds =
      " is given, but needs rows of texts (option text, or a text column) or of counts (option "
      "tfidf)";
  if (!columns.vectors.empty()) {
    const double share = std::exchange(options.vector_share, TfidfOptions().vector_share);
    const bool has_others = !columns.numeric.empty() || !columns.categorical.empty();
    require<InvalidOption>(has_others || share == options.vector_share,
                           "option vector_share is given, but there are no features beside "
                           "vector_columns");
  }
  for (const OptionInfo& each : OptionTable(options, TfidfOptions::fields()).list()) {
    require<InvalidOption>(OptionTable(options).get(each.name) == each.default_value, "option ",
                           each.name, kNeeds);
  }
  require<InvalidOption>(options.stop_words_choice.empty() && options.stop_words.empty(),
                         "option stop_words", kNeeds);
}

void require_kernel_features(const Method& method, bool are_given) {
  require<InvalidOption>(!are_given || method.kernel_features,
                         "option kernel_features is given, but method ", method.name,
                         " takes none; they are for methods that are linear in the columns, such "
                         "as flat-svm");
}

}  // namespace

PreprocessingOptions preprocessing_for(const Method& method, const OptionTable& table,
                                       PreprocessingOptions options) {
  require_kernel_features(method, !options.kernel_features.is_none());
  if (table.has("seed")) {
    options.seed = static_cast<std::uint64_t>(detail::parse_integer("seed", table.get("seed")));
  }
  for (const OptionInfo& option : table.list()) {
    const bool speaks_of_columns = std::ranges::count(method.column_options, option.name) > 0;
    if (!speaks_of_columns || table.get(option.name) == option.default_value) continue;
    options.selects_columns = false;
    if (options.scale == ColumnScale::automatic) options.scale = ColumnScale::none;
  }
  return options;
}

namespace {

/// What fit() gives; its errors of the rows as a whole get their source.
template <class Fit>
auto naming(const std::string& source, const Fit& fit) {
  try {
    return fit();
  } catch (const InvalidOption&) {
    throw;
  } catch (const InvalidInput& error) {
    throw InvalidInput(concat(source, ": ", error.what()));
  }
}

/// Throws InvalidOption unless the options ask for at most one kind of preprocessing.
void require_one_kind(const PreprocessingOptions& options) {
  validate(options);
  const int num_kinds = options.text + options.tfidf + options.normalize;
  require<InvalidOption>(
      num_kinds <= 1,
      "options text, tfidf and normalize: more than one is given, but at most one may be");
  const bool scales = options.scale != ColumnScale::automatic && options.scale != ColumnScale::none;
  require<InvalidOption>(num_kinds == 0 || !scales, "option scale is ", name_of(options.scale),
                         ", which is for columns of numbers, but must be none beside text, tfidf "
                         "and normalize");
}

/// Of rows of numbers. is_numeric (empty: all) says which columns are scaled, and row_weights
/// (empty: all 1) how the rows count for it.
Preprocessing fit_to_numbers(const CsrView& X, const PreprocessingOptions& options,
                             std::span<const std::uint8_t> is_numeric,
                             std::span<const double> row_weights, RunControl* control) {
  if (options.tfidf) return fit_counts(X, tfidf_options(options), control);
  if (options.normalize) return Preprocessing::unit_norm();
  return fit_columns(X, options.scale, row_weights, is_numeric, control);
}

/// What prepare() returns. An end by the control, which is not null then, becomes OutOfTimeLimit.
template <class Prepare>
auto prepared_in_time(const std::string& source, RunControl* control, const Prepare& prepare) {
  try {
    return prepare();
  } catch (const OutOfTime&) {
    const bool is_interrupted = control->stop_reason() == Stop::interrupted;
    throw OutOfTimeLimit(concat(source, ": ", is_interrupted ? "an interruption" : "the time limit",
                                " ended the preparation of the rows; nothing is trained"));
  }
}

std::string columns_of(const RecordSelection& selection) {
  std::string names;
  for (const auto* part :
       {&selection.text, &selection.numeric, &selection.categorical, &selection.vectors}) {
    for (const std::string& name : *part) names += concat(names.empty() ? "" : ", ", name);
  }
  return names;
}

void require_kind(const ModelParts& model, const Rows& rows, const std::string& source) {
  const RowKind taken = row_kind(model);
  require(taken == rows.kind(), source, source.empty() ? "" : ": ", "the rows are ",
          info_of(rows.kind()).name, ", but the model takes ", info_of(taken).name);
  const RecordSelection* given = rows.selection();
  if (given == nullptr || !model.records) return;
  const RecordSelection& own = model.records->selection;
  require(given->text == own.text && given->numeric == own.numeric &&
              given->categorical == own.categorical && given->vectors == own.vectors,
          source, source.empty() ? "" : ": ", "the rows have the columns ", columns_of(*given),
          ", but the model takes ", columns_of(own));
}

}  // namespace

CsrMatrix preprocess(const ModelParts& model, const Rows& rows, const std::string& source,
                     RunControl* control, Executor& executor) {
  require_kind(model, rows, source);
  return prepared_in_time(source, control, [&] {
    CsrMatrix X =
        info_of(rows.kind())
            .apply(model.records ? &*model.records : nullptr, model.preprocessing, rows, control);
    return model.kernel_features ? model.kernel_features->apply(X, executor, control)
                                 : std::move(X);
  });
}

FeatureRows::FeatureRows(const ModelParts& model, const Rows& rows, Executor& executor) {
  const bool keeps_rows = model.preprocessing.keeps_rows() && !model.kernel_features;
  if (info_of(rows.kind()).are_matrix && keeps_rows) {
    require_kind(model, rows, {});
    view_ = rows.numbers();
  } else {
    own_ = preprocess(model, rows, {}, nullptr, executor);
    view_ = own_;
  }
}

TrainingSet PreparedRows::training_set() const {
  TrainingSet set;
  set.X = X;
  set.labels = &labelled.labels;
  set.codec = &labelled.codec;
  if (labelled.has_hierarchy) set.hierarchy = &labelled.hierarchy;
  set.row_weights = row_weights;
  set.views = views;
  set.label_names = labelled.names;
  set.other_names = labelled.other_names;
  const Preprocessing& terms = records ? records->text : preprocessing;
  if (terms.kind == Preprocessing::Kind::text_tfidf) set.texts = &terms;
  if (records) set.records = &*records;
  if (kernel_features) set.kernel_features = &*kernel_features;
  set.source = source;
  set.warnings = warnings;
  return set;
}

std::optional<KernelFeatures> fit_kernel_features(const CsrView& X,
                                                  const PreprocessingOptions& options,
                                                  const std::string& source, Executor& executor,
                                                  RunControl* control) {
  const KernelFeatures::Choice& choice = options.kernel_features;
  require<InvalidOption>(options.kernel_gamma == 0 || !choice.is_none(), "option kernel_gamma is ",
                         options.kernel_gamma, ", but kernel_features is none");
  if (choice.is_none()) return std::nullopt;
  const MemoryEstimate memory = kernel_features_memory(choice, X);
  const std::string obstacle =
      memory_obstacle(memory, control != nullptr ? control->memory_limit() / 1e9 : 0.0);
  require(obstacle.empty(), source, ": option kernel_features is ", choice.to_text(), ", but ",
          obstacle, "; ask for fewer features or raise memory_limit; the parts are ",
          memory.to_text());
  return naming(source, [&] {
    return KernelFeatures::fit(X, choice, options.kernel_gamma, options.seed, executor, control);
  });
}

namespace {

/// The features of rows whose kind fits some, and the rows in them.
FittedRecords fit_features(const Examples& raw, const PreprocessingOptions& options,
                           RunControl* control) {
  const RowKindInfo& kind = info_of(raw.kind);
  require<InvalidOption>(!options.text && !options.tfidf,
                         "options text and tfidf: they are not for ", kind.without_terms);
  validate(options);
  return naming(raw.source, [&] { return kind.fit(raw, tfidf_options(options), control); });
}

/// The given row weights times those of the rows' labels; empty if there are neither.
std::vector<double> all_weights(const std::string& class_weight, const LabelledRows& rows,
                                std::vector<double> row_weights, const std::string& source) {
  if (class_weight == "none") return row_weights;
  require<InvalidOption>(class_weight == "balanced" || std::filesystem::exists(class_weight),
                         "option class_weight is '", class_weight,
                         "', but must be none, balanced or a file that exists");
  const std::vector<double> of_label =
      class_weight == "balanced"
          ? balanced_class_weights(rows.labels, rows.codec.size(), row_weights, source)
          : read_class_weights(class_weight, rows.codec);
  return weigh_by_class(rows.labels, of_label, row_weights, source);
}

/// Equal rows become one with the sum of their weights.
void merge_rows(CsrMatrix& X, RunControl* control, PreparedRows& prepared) {
  auto merged = merge_equal_rows(X, prepared.labelled.labels, prepared.row_weights, control);
  if (!merged) return;
  X = select_rows(X, merged->rows);
  prepared.labelled.labels = select_rows(prepared.labelled.labels, merged->rows);
  prepared.row_weights = std::move(merged->row_weights);
}

/// Sets the preprocessing and the numbers that it makes of texts, or of the rows X.
void fit_and_apply(const Examples& raw, CsrMatrix X, const PreprocessingOptions& options,
                   std::span<const std::uint8_t> is_numeric, RunControl* control,
                   PreparedRows& prepared) {
  require_one_kind(options);
  if (options.text) {
    const Rows rows(raw);
    FittedTexts texts = naming(raw.source, [&] {
      return fit_and_weigh_texts(rows.documents(), tfidf_options(options), true, control);
    });
    prepared.preprocessing = std::move(texts.fitted);
    prepared.X = std::move(texts.X);
  } else {
    prepared.preprocessing = fit_to_numbers(X, options, is_numeric, prepared.row_weights, control);
    prepared.X = prepared.preprocessing.keeps_rows()
                     ? std::move(X)
                     : apply_to_numbers(prepared.preprocessing, X, control);
  }
}

/// As prepare_rows(), but throws OutOfTime.
PreparedRows prepare(Examples raw, const Hierarchy* hierarchy, PreprocessingOptions options,
                     std::vector<double> row_weights, RunControl* control, Executor& executor) {
  const RowKindInfo& kind = info_of(raw.kind);
  options.text = options.text || kind.are_texts;
  const bool has_terms = options.text || options.tfidf || !raw.selection.text.empty();
  if (!has_terms) require_no_terms(raw.selection, options);
  PreparedRows prepared;
  prepared.source = raw.source;
  prepared.views = raw.views;
  prepared.labelled = label_rows(raw.labels, raw.codec, hierarchy, raw.source, control);
  const std::size_t num_rows = prepared.labelled.labels.num_rows();
  prepared.row_weights = all_weights(options.weights.class_weight, prepared.labelled,
                                     std::move(row_weights), raw.source);
  CsrMatrix X = std::move(raw.X);  // of the rows, unless they are documents
  std::vector<std::uint8_t> is_numeric;
  std::vector<FeatureId> columns;
  if (kind.fit != nullptr) {
    FittedRecords records = fit_features(raw, options, control);
    prepared.records = std::move(records.fitted);
    X = std::move(records.X);
    raw.fields = {};
    const auto [begin, end] = prepared.records->numeric_columns();
    is_numeric.assign(X.num_columns(), 0);
    std::fill(is_numeric.begin() + begin, is_numeric.begin() + end, 1);
  } else if (kind.are_matrix && raw.views.empty() && options.selects_columns) {
    columns = columns_of_wide_rows(X);
    if (!columns.empty()) X = select_columns(X, columns);
  }
  const std::size_t num_given = kind.are_texts ? raw.documents.size() : X.num_rows();
  require(num_given == num_rows, raw.source, ": it has ", num_given, " rows, but labels of ",
          num_rows);
  // Scales are fitted to the merged rows, so that weights and repetitions give the same bits; how
  // often a term occurs is counted in the rows as they are.
  const bool is_weighted = !prepared.row_weights.empty();
  const bool is_scaled = !options.text && !options.tfidf && !options.normalize;
  if (is_weighted && is_scaled) merge_rows(X, control, prepared);
  fit_and_apply(raw, std::move(X), options, is_numeric, control, prepared);
  if (is_weighted && !is_scaled) merge_rows(prepared.X, control, prepared);
  prepared.kernel_features =
      fit_kernel_features(prepared.X, options, prepared.source, executor, control);
  if (prepared.kernel_features) {
    prepared.X = prepared.kernel_features->apply(prepared.X, executor, control);
  }
  const Preprocessing& texts = prepared.records ? prepared.records->text : prepared.preprocessing;
  if (texts.num_rows_without_terms > 0) {
    prepared.warnings.push_back(concat(
        raw.source, ": ", texts.num_rows_without_terms, " of ", num_rows,
        " texts have no term (a word, unless options say otherwise); their labels were learned "
        "without features"));
  }
  prepared.preprocessing.columns = std::move(columns);
  prepared.preprocessing.first_index = raw.first_index;
  return prepared;
}

}  // namespace

PreparedRows prepare_rows(Examples raw, const Hierarchy* hierarchy,
                          const PreprocessingOptions& options, std::vector<double> row_weights,
                          RunControl* control, Executor& executor) {
  const std::string source = raw.source;
  return prepared_in_time(source, control, [&] {
    return prepare(std::move(raw), hierarchy, options, std::move(row_weights), control, executor);
  });
}

namespace {

/// Smaller estimates are allowed whatever memory is free.
constexpr std::uint64_t kAlwaysAllowed = 64'000'000;

UsableMemory default_limit(const MemoryEstimate& memory) {
  if (memory.total() > kAlwaysAllowed) {
    if (const auto free = free_memory()) return usable_memory(*free);
  }
  return {std::numeric_limits<double>::infinity(), ""};
}

}  // namespace

std::string memory_obstacle(const MemoryEstimate& memory, double limit_gigabytes) {
  const UsableMemory limit =
      limit_gigabytes > 0 ? UsableMemory{limit_gigabytes, ""} : default_limit(memory);
  const double gigabytes = static_cast<double>(memory.total()) / 1e9;
  if (gigabytes <= limit.gigabytes) return {};
  return concat("training would take about ", gigabytes, " GB, but must not take more than ",
                limit.gigabytes, " GB", limit.source);
}

void require_memory(const Plan& plan, const TrainingSet& data, double limit_gigabytes) {
  const std::string obstacle = memory_obstacle(plan.memory, limit_gigabytes);
  require(obstacle.empty(), data.source, ": ", obstacle,
          "; drop rare features (min_document_frequency) or raise memory_limit; the parts are ",
          plan.memory.to_text());
}

Plan plan_training(const Method& method, MethodRun& run, const TrainingSet& data,
                   Executor& executor, RunControl& control) {
  require<InvalidOption>(data.hierarchy != nullptr || !needs_hierarchy(method, run.options()),
                         "method ", method.name, " needs a hierarchy, but none is given");
  require<InvalidOption>(data.start == nullptr || method.takes_start,
                         "option start is given, but method ", method.name,
                         " does not offer it; structured does");
  require_kernel_features(method, data.kernel_features != nullptr);
  if (data.labels != nullptr) {
    require_empty_sets(method, run.options(), data.labels->unlabelled());
  }
  return plan_labelled_rows(run, data, executor, control);
}

std::string column_name(FeatureId column, const TrainingSet& data,
                        const Preprocessing& preprocessing) {
  if (data.kernel_features != nullptr) return concat("kernel feature ", column + 1);
  const std::vector<FeatureId>& selected = preprocessing.columns;
  return feature_name(selected.empty() ? column : selected[column], data.records, preprocessing,
                      data.views);
}

namespace {

/// A column whose largest absolute value is this multiple of the median column's makes solvers
/// slow.
constexpr float kLargeColumn = 1000;

/// Names a column that makes the problem ill-conditioned; empty if there is none.
std::string large_column(const TrainingSet& data, const Preprocessing& preprocessing) {
  const CsrView& X = data.X;
  std::vector<float> largest(X.num_columns(), 0.0F);
  for (std::size_t k = 0; k < X.columns().size(); ++k) {
    float& value = largest[X.columns()[k]];
    value = std::max(value, std::abs(X.values()[k]));
  }
  std::vector<float> used;
  for (const float value : largest) {
    if (value > 0) used.push_back(value);
  }
  if (used.empty()) return {};
  const auto median = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
  std::nth_element(used.begin(), median, used.end());
  const auto column = std::max_element(largest.begin(), largest.end());
  if (*column < kLargeColumn * *median) return {};
  const auto index = static_cast<FeatureId>(column - largest.begin());
  return concat("; values of ", column_name(index, data, preprocessing), " reach ", *column,
                ", those of most features ", *median, ": scale the columns");
}

/// For every method, only a relative gap of no more than the tolerance, up or down, is convergence.
/// Any other end of training becomes a warning.
void settle_stop(FitReport& report, const OptionTable& options, const TrainingSet& data,
                 const Preprocessing& preprocessing) {
  const bool was_cut_short = report.stop == Stop::time_limit || report.stop == Stop::interrupted;
  if (!was_cut_short && !std::isfinite(report.primal)) {
    throw InvalidInput(concat(data.source,
                              ": training diverged: the objective is not a finite number",
                              large_column(data, preprocessing)));
  }
  double tolerance = std::numeric_limits<double>::infinity();  // of methods in closed form
  if (options.has("tolerance")) {
    tolerance = detail::parse_number("tolerance", options.get("tolerance"));
    // A dual value far above the objective shows rounding, and no optimum.
    if (report.stop == Stop::converged && !(std::abs(report.relative_gap) <= tolerance)) {
      report.stop = Stop::stalled;
    }
  }
  if (report.stop == Stop::converged || report.stop == Stop::interrupted) return;
  const std::string column = large_column(data, preprocessing);
  if (report.stop == Stop::stalled && report.relative_gap > tolerance) {
    report.warnings.push_back(concat("lack of progress ended training at a relative gap of ",
                                     report.relative_gap, ", above the tolerance", column));
  } else if (report.stop == Stop::stalled && report.relative_gap < -tolerance) {
    report.warnings.push_back(concat("rounding leaves the objective ", -report.relative_gap,
                                     " below its bound, more than the tolerance", column));
  } else if (report.stop == Stop::time_limit) {
    report.warnings.push_back(
        concat("the time limit ended training; the model has the best weights so far", column));
  } else if (report.stop == Stop::pass_limit) {
    report.warnings.push_back(concat(options.has("max_rounds") ? "max_rounds" : "max_passes",
                                     " ended training before the tolerance was reached", column));
  } else if (!column.empty()) {  // no gap shows how far from the optimum training ended
    report.warnings.push_back(concat("training may have ended far from the optimum", column));
  }
}

TrainResult trained(const Plan& plan, const TrainingSet& data, Executor& executor,
                    RunControl& control) {
  try {
    return plan.train(executor, control);
  } catch (const NonFiniteScores&) {  // its number is not that of the file
    throw InvalidInput(concat(data.source, ": a row is held out: ", NonFiniteScores::kReason));
  } catch (const OutOfTime&) {
    const bool is_interrupted = control.stop_reason() == Stop::interrupted;
    throw OutOfTimeLimit(concat(data.source, ": ",
                                is_interrupted ? "an interruption" : "the time limit",
                                " ended what comes before training, so there is no model"));
  }
}

}  // namespace

ModelParts train_examples(const Method& method, MethodRun& run, const ExampleSource& source,
                          const ModelParts* start, double memory_limit_gigabytes,
                          Executor& executor, RunControl& control) {
  const auto examples =
      method.read_examples ? method.read_examples({source}, run.options(), &control) : nullptr;
  require<InvalidOption>(examples != nullptr, "method ", method.name,
                         " with these options takes rows");
  TrainingSet data;
  data.examples = examples.get();
  data.source = source.name();
  data.start = start;
  const Plan plan = plan_training(method, run, data, executor, control);
  require_memory(plan, data, memory_limit_gigabytes);
  return train_model(method, run, plan, data, {}, executor, control);
}

ModelParts train_model(const Method& method, MethodRun& run, const TrainingSet& data,
                       const Preprocessing& preprocessing, Executor& executor,
                       RunControl& control) {
  return train_model(method, run, plan_training(method, run, data, executor, control), data,
                     preprocessing, executor, control);
}

ModelParts train_model(const Method& method, MethodRun& run, const Plan& plan,
                       const TrainingSet& data, const Preprocessing& preprocessing,
                       Executor& executor, RunControl& control) {
  ConvergenceCurve curve(control);
  TrainResult result = trained(plan, data, executor, curve.control());
  // Methods with rounds of trainings give the curve of the rounds.
  if (result.report.curve.empty()) result.report.curve = curve.points();
  result.report.warnings.insert(result.report.warnings.begin(), data.warnings.begin(),
                                data.warnings.end());
  settle_stop(result.report, run.options(), data, preprocessing);
  ModelParts model;
  model.method = method.name;
  model.options = option_values(run.options());
  for (auto& [name, value] : model.options) {
    for (const auto& [settled, text] : plan.settled_options) {
      if (name == settled) value = text;
    }
  }
  model.labels = data.codec != nullptr ? *data.codec : data.examples->codec();
  const auto num_labels = static_cast<std::uint32_t>(model.labels.size());
  model.has_hierarchy = data.hierarchy != nullptr;
  model.hierarchy = model.has_hierarchy ? *data.hierarchy : LabelGraph::flat(num_labels);
  model.training_rows.assign(num_labels, 0);
  if (data.labels != nullptr) {
    for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
      for (const LabelId label : (*data.labels)[i]) ++model.training_rows[label];
    }
  }
  model.preprocessing = preprocessing;
  model.label_names.assign(data.label_names.begin(), data.label_names.end());
  if (data.records != nullptr) model.records = *data.records;
  if (data.kernel_features != nullptr) model.kernel_features = *data.kernel_features;
  model.views.assign(data.views.begin(), data.views.end());
  model.report = std::move(result.report);
  model.predictor = std::move(result.predictor);
  model.state = std::move(result.state);
  return model;
}

}  // namespace margrove
