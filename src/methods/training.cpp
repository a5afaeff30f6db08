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
#include "data/terms.hpp"
#include "data/text_views.hpp"
#include "methods/convergence_curve.hpp"
#include "methods/labelled_rows.hpp"
#include "model/class_weights.hpp"
#include "model/feature_name.hpp"
#include "model/finite_scores.hpp"

namespace margrove {

RawRows::RawRows(ReadRows rows, std::string name) : source(std::move(name)) {
  std::visit(
      [&](auto& data) {
        labels = std::move(data.labels);
        codec = std::move(data.codec);
      },
      rows);
  if (auto* numbers = std::get_if<Dataset>(&rows)) {
    X = std::move(numbers->X);
    first_index = numbers->first_index;
  } else if (auto* records = std::get_if<RecordDataset>(&rows)) {
    kind = RowKind::records;
    fields = std::move(records->fields);
    selection = std::move(records->selection);
  } else {
    kind = RowKind::documents;
    documents = std::move(std::get<TextDataset>(rows).documents);
  }
}

RawRows read_rows(const std::string& path, RowKind kind, const ReadOptions& options,
                  RunControl* control, std::optional<Hierarchy>* hierarchy) {
  ReadRows rows =
      row_format_of(row_formats(), path, kind, options.format).read(path, options, control);
  if (auto* records = std::get_if<RecordDataset>(&rows); records != nullptr && hierarchy) {
    *hierarchy = std::move(records->hierarchy);
  }
  return {std::move(rows), path};
}

RowKind row_kind(const ModelParts& model) {
  if (model.records) return RowKind::records;
  return model.preprocessing.kind == Preprocessing::Kind::text_tfidf ? RowKind::documents
                                                                     : RowKind::numbers;
}

RawRows select_rows(const RawRows& raw, std::span<const std::uint32_t> rows) {
  RawRows selected;
  selected.kind = raw.kind;
  if (raw.kind == RowKind::documents) {
    selected.documents.reserve(rows.size());
    for (const std::uint32_t i : rows) selected.documents.push_back(raw.documents[i]);
  } else if (raw.kind == RowKind::records) {
    selected.fields = select_rows(raw.fields, rows);
    selected.selection = raw.selection;
  } else {
    selected.X = select_rows(raw.X.view(), rows);
    selected.first_index = raw.first_index;
  }
  selected.labels = select_rows(raw.labels, rows);
  selected.codec = raw.codec;
  selected.views = raw.views;
  selected.source = raw.source;
  return selected;
}

std::string_view kind_name(RowKind kind) {
  if (kind == RowKind::records) return "records";
  return kind == RowKind::numbers ? "numbers" : "texts";
}

namespace {

/// Throws unless `files` name each view of the model but the first exactly once.
void check_names(const RawRows& raw, std::span<const ViewFile> files, std::span<const View> views) {
  std::string names;
  for (const View& view : views) names += concat(names.empty() ? "" : ", ", view.name);
  const std::string the_model =
      views.empty() ? std::string("the model has no views")
                    : concat("the model has the views ", names, " (", raw.source, " is the first)");
  for (const ViewFile& file : files) {
    const auto has_name = [&](const auto& each) { return each.name == file.name; };
    require(!views.empty() && std::any_of(views.begin() + 1, views.end(), has_name), file.path,
            ": is given as view '", file.name, "', but ", the_model);
    require(std::count_if(files.begin(), files.end(), has_name) == 1, "view '", file.name,
            "' is given twice");
  }
  require(views.empty() || files.size() + 1 == views.size(), raw.source, ": comes with ",
          files.size(), " further views, but ", the_model, "; give a file for each");
}

void check_rows(const RawRows& raw, const RawRows& part) {
  require(part.num_rows() == raw.num_rows(), part.source, ": it has ", part.num_rows(),
          " rows, but must have ", raw.num_rows(), " as ", raw.source);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    const auto own = raw.labels[i];
    for (const LabelId label : own.empty() ? own : part.labels[i]) {
      const std::string& name = part.codec.name(label);
      const auto id = raw.codec.find(name);
      require(id && std::find(own.begin(), own.end(), *id) != own.end(), part.source, ": row ",
              i + 1, ": label is '", name, "', but must be one that the row has in ", raw.source);
    }
  }
}

std::vector<RawRows> read_parts(const RawRows& raw, std::span<const ViewFile> files,
                                RunControl* control) {
  require(raw.kind == RowKind::numbers, raw.source, ": the rows are ", kind_name(raw.kind),
          ", but only numbers can have further views");
  std::vector<RawRows> parts;
  for (const ViewFile& file : files) {
    parts.push_back(read_rows(file.path, RowKind::numbers,
                              {.first_index = given_first_index(raw.first_index)}, control));
    check_rows(raw, parts.back());
  }
  return parts;
}

}  // namespace

void read_views(RawRows& raw, std::span<const ViewFile> files, RunControl* control) {
  if (files.empty()) return;
  const auto parts = read_parts(raw, files, control);
  raw.views = {{std::string(kFirstView), 0, raw.X.num_columns()}};
  std::vector<CsrView> rows{raw.X};
  for (std::size_t k = 0; k < files.size(); ++k) {
    const FeatureId begin = raw.views.back().end;
    raw.views.push_back({files[k].name, begin, begin + parts[k].X.num_columns()});
    rows.push_back(parts[k].X);
  }
  check_views(raw.views);
  raw.X = side_by_side(rows, raw.views);
}

void read_views_of_model(RawRows& raw, std::span<const ViewFile> files, std::span<const View> views,
                         RunControl* control) {
  check_names(raw, files, views);
  if (views.empty()) return;
  const auto parts = read_parts(raw, files, control);
  raw.views.assign(views.begin(), views.end());
  std::vector<CsrView> rows{raw.X};
  for (const View& view : views.subspan(1)) {
    const auto file = std::find_if(files.begin(), files.end(),
                                   [&](const ViewFile& each) { return each.name == view.name; });
    rows.push_back(parts[static_cast<std::size_t>(file - files.begin())].X);
  }
  raw.X = side_by_side(rows, raw.views);
}

namespace {

TfidfOptions tfidf_options(const PreprocessingOptions& options) {
  TfidfOptions tfidf = options;
  if (options.stop_words_file.empty()) return tfidf;
  for (std::string& word : read_stop_words(options.stop_words_file)) {
    tfidf.stop_words.push_back(std::move(word));
  }
  return tfidf;
}

/// Throws InvalidOption naming an option of terms that is not its default, as no terms are made.
void require_no_terms(PreprocessingOptions options) {
  constexpr std::string_view kNeeds =
      " is given, but needs rows of texts (option text, or a text column) or of counts (option "
      "tfidf)";
  for (const OptionInfo& each : OptionTable(options, TfidfOptions::fields()).list()) {
    require<InvalidOption>(OptionTable(options).get(each.name) == each.default_value, "option ",
                           each.name, kNeeds);
  }
  require<InvalidOption>(options.stop_words_file.empty() && options.stop_words.empty(),
                         "option stop_words", kNeeds);
}

}  // namespace

PreprocessingOptions preprocessing_for(const Method& method, const OptionTable& table,
                                       PreprocessingOptions options) {
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

}  // namespace

Preprocessing fit_preprocessing(const RawRows& raw, const PreprocessingOptions& options,
                                std::span<const std::uint8_t> is_numeric,
                                std::span<const double> row_weights, RunControl* control) {
  validate(options);
  const int num_kinds = options.text + options.tfidf + options.normalize;
  require<InvalidOption>(
      num_kinds <= 1,
      "options text, tfidf and normalize: more than one is given, but at most one may be");
  const bool scales = options.scale != ColumnScale::automatic && options.scale != ColumnScale::none;
  require<InvalidOption>(num_kinds == 0 || !scales, "option scale is ", name_of(options.scale),
                         ", which is for columns of numbers, but must be none beside text, tfidf "
                         "and normalize");
  const TfidfOptions tfidf = tfidf_options(options);
  if (options.text) {
    return naming(raw.source,
                  [&] { return fit_texts(views_of(raw.documents), tfidf, true, control); });
  }
  if (options.tfidf) return fit_counts(raw.X, tfidf, control);
  if (options.normalize) return Preprocessing::unit_norm();
  return fit_columns(raw.X, options.scale, row_weights, is_numeric, control);
}

namespace {

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

CsrMatrix applied(const Preprocessing& preprocessing, const RawRows& raw, RunControl* control) {
  if (raw.kind == RowKind::documents) {
    return weigh_texts(preprocessing, views_of(raw.documents), control);
  }
  return apply_to_numbers(preprocessing, raw.X, control);
}

CsrMatrix preprocessed(const ModelParts& model, const RawRows& raw, RunControl* control) {
  if (raw.kind != RowKind::records) return applied(model.preprocessing, raw, control);
  CsrMatrix X = apply_records(*model.records, views_of(raw.fields.documents), raw.fields, control);
  if (model.preprocessing.kind == Preprocessing::Kind::none) return X;
  return apply_to_numbers(model.preprocessing, X, control);
}

}  // namespace

CsrMatrix preprocess(const ModelParts& model, const RawRows& raw, RunControl* control) {
  const RowKind taken = row_kind(model);
  require(taken == raw.kind, raw.source, ": the rows are ", kind_name(raw.kind),
          ", but the model takes ", kind_name(taken));
  return prepared_in_time(raw.source, control, [&] { return preprocessed(model, raw, control); });
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
  if (records) set.records = &*records;
  set.source = source;
  set.warnings = warnings;
  return set;
}

namespace {

/// Records become rows of numbers, by features that are fitted on them.
void to_numbers(RawRows& raw, const PreprocessingOptions& options, RunControl* control,
                std::optional<RecordFeatures>& records) {
  require<InvalidOption>(!options.text && !options.tfidf,
                         "options text and tfidf: they are not for rows with named columns, of "
                         "which text_column becomes tf-idf features");
  validate(options);
  const auto documents = views_of(raw.fields.documents);
  records = naming(raw.source, [&] {
    return fit_records(documents, raw.fields, raw.selection, tfidf_options(options), control);
  });
  raw.X = apply_records(*records, documents, raw.fields, control);
  raw.fields = {};
  raw.kind = RowKind::numbers;
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

/// As prepare_rows(), but throws OutOfTime.
PreparedRows prepare(RawRows raw, const Hierarchy* hierarchy, const PreprocessingOptions& options,
                     std::vector<double> row_weights, RunControl* control) {
  const bool has_terms = options.text || options.tfidf ||
                         (raw.kind == RowKind::records && !raw.selection.text.empty());
  if (!has_terms) require_no_terms(options);
  PreparedRows prepared;
  prepared.source = raw.source;
  prepared.views = raw.views;
  prepared.labelled = label_rows(raw.labels, raw.codec, hierarchy, raw.source, control);
  const std::size_t num_rows = prepared.labelled.labels.num_rows();
  prepared.row_weights = all_weights(options.weights.class_weight, prepared.labelled,
                                     std::move(row_weights), raw.source);
  std::vector<std::uint8_t> is_numeric;
  if (raw.kind == RowKind::records) {
    to_numbers(raw, options, control, prepared.records);
    const auto [begin, end] = prepared.records->numeric_columns();
    is_numeric.assign(raw.X.num_columns(), 0);
    std::fill(is_numeric.begin() + begin, is_numeric.begin() + end, 1);
  }
  std::vector<FeatureId> columns;
  if (raw.kind == RowKind::numbers && raw.views.empty() && !prepared.records &&
      options.selects_columns) {
    columns = columns_of_wide_rows(raw.X);
    if (!columns.empty()) raw.X = select_columns(raw.X, columns);
  }
  // Scales are fitted to the merged rows, so that weights and repetitions give the same bits; how
  // often a term occurs is counted in the rows as they are.
  const bool is_weighted = !prepared.row_weights.empty();
  const bool is_scaled = !options.text && !options.tfidf && !options.normalize;
  if (is_weighted && is_scaled) merge_rows(raw.X, control, prepared);
  prepared.preprocessing =
      fit_preprocessing(raw, options, is_numeric, prepared.row_weights, control);
  prepared.X = prepared.preprocessing.keeps_rows() ? std::move(raw.X)
                                                   : applied(prepared.preprocessing, raw, control);
  if (is_weighted && !is_scaled) merge_rows(prepared.X, control, prepared);
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

PreparedRows prepare_rows(RawRows raw, const Hierarchy* hierarchy,
                          const PreprocessingOptions& options, std::vector<double> row_weights,
                          RunControl* control) {
  const std::string source = raw.source;
  return prepared_in_time(source, control, [&] {
    return prepare(std::move(raw), hierarchy, options, std::move(row_weights), control);
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
  if (data.labels != nullptr) {
    require_empty_sets(method, run.options(), data.labels->unlabelled());
  }
  return plan_labelled_rows(run, data, executor, control);
}

std::string column_name(FeatureId column, const TrainingSet& data,
                        const Preprocessing& preprocessing) {
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
  model.views.assign(data.views.begin(), data.views.end());
  model.report = std::move(result.report);
  model.predictor = std::move(result.predictor);
  model.state = std::move(result.state);
  return model;
}

}  // namespace margrove
