#include "methods/prepared_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "data/class_weight_reader.hpp"
#include "data/column_scale.hpp"
#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "data/number_rows.hpp"
#include "data/stop_words.hpp"
#include "data/text_views.hpp"
#include "methods/labelled_rows.hpp"
#include "methods/memory_obstacle.hpp"
#include "model/class_weights.hpp"
#include "model/kernel_predictor.hpp"
#include "model/process_encoder.hpp"

namespace margrove {
namespace {

constexpr std::string_view kPreparation = "the preparation of the rows";

}  // namespace

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
  name_encoder(tfidf, {.num_threads = options.encoder_threads});
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
                           "option vector_share is given, but there are no features beside the "
                           "vectors");
  }
  for (const OptionInfo& each : OptionTable(options, TfidfOptions::fields()).list()) {
    require<InvalidOption>(OptionTable(options).get(each.name) == each.default_value, "option ",
                           each.name, kNeeds);
  }
  require<InvalidOption>(options.stop_words_choice.empty() && options.stop_words.empty(),
                         "option stop_words", kNeeds);
}

}  // namespace

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

std::string columns_of(const RecordSelection& selection) {
  std::string names;
  for (const auto* part :
       {&selection.text, &selection.numeric, &selection.categorical, &selection.vectors}) {
    for (const std::string& name : *part) names += concat(names.empty() ? "" : ", ", name);
  }
  return names;
}

/// `given`: the columns of the rows; null where they are not known. `the_model`: what messages call
/// it.
void require_kind(const ModelParts& model, RowKind kind, const RecordSelection* given,
                  const std::string& source, const std::string& the_model = "the model") {
  const RowKind taken = row_kind(model);
  require(taken == kind, source, source.empty() ? "" : ": ", "the rows are ", info_of(kind).name,
          ", but ", the_model, " takes ", info_of(taken).name);
  if (given == nullptr || !model.records) return;
  const RecordSelection& own = model.records->selection;
  require(given->text == own.text && given->numeric == own.numeric &&
              given->categorical == own.categorical && given->vectors == own.vectors,
          source, source.empty() ? "" : ": ", "the rows have the columns ", columns_of(*given),
          ", but ", the_model, " takes ", columns_of(own));
}

/// The kernel that the model has learned, or that its kernel features have. Throws InvalidInput.
LearnedKernel learned_kernel(const ModelParts& model, const std::string& name) {
  if (model.kernel_features && model.kernel_features->learned) {
    return *model.kernel_features->learned;
  }
  const KernelPredictor* predictor = model.predictor->kernels();
  require(predictor != nullptr, name, ": its method is ", model.method,
          model.kernel_features ? " with features of a Gaussian kernel" : "",
          ", but option kernel_model needs a model of average-mkl, lp-mkl, simple-mkl or spn-mkl, "
          "or one with kernel features of such a model");
  LearnedKernel kernel;
  static_cast<CombinedKernel&>(kernel) = predictor->classifiers();
  kernel.network = predictor->network();
  kernel.beta.assign(predictor->beta().begin(), predictor->beta().end());
  return kernel;
}

/// The columns of the rows that the kernel of the model takes.
std::uint32_t num_kernel_columns(const ModelParts& model) {
  return model.kernel_features ? model.kernel_features->num_columns() : model.rows().num_features();
}

/// Throws InvalidOption for an option of preprocessing that is not its default.
void require_no_own_preprocessing(PreprocessingOptions options) {
  options.text = false;  // only says that rows are documents
  options.kernel_features = {};
  options.kernel_gamma = 0;
  for (const OptionInfo& each : OptionTable(options).list()) {
    require<InvalidOption>(OptionTable(options).get(each.name) == each.default_value, "option ",
                           each.name, " is given, but rows get the preprocessing of kernel_model ",
                           options.kernel_model_name);
  }
  require<InvalidOption>(options.stop_words.empty(),
                         "option stop_words is given, but rows get the preprocessing of "
                         "kernel_model ",
                         options.kernel_model_name);
}

}  // namespace

void require_kernel_model(const PreprocessingOptions& options) {
  if (!options.kernel_model) return;
  const KernelFeatures::Choice& choice = options.kernel_features;
  const std::string& name = options.kernel_model_name;
  require<InvalidOption>(!choice.is_none() && choice.kind == KernelFeatures::Kind::nystroem,
                         "option kernel_model is ", name, ", but kernel_features is ",
                         choice.to_text(), "; it must be nystroem:N");
  require<InvalidOption>(options.kernel_gamma == 0, "option kernel_gamma is ", options.kernel_gamma,
                         ", but is for a Gaussian kernel, and the kernel is that of kernel_model ",
                         name);
  require_no_own_preprocessing(options);
  const LearnedKernel kernel = learned_kernel(*options.kernel_model, name);
  require(!kernel.paths.empty(), name, ": all weights of its kernels are 0");
  naming(name, [&] { kernel.require_values_of_any_rows(); });
}

void require_kernel_features(const Method& method, bool are_given, std::string_view option) {
  require<InvalidOption>(!are_given || method.kernel_features, "option ", option,
                         " is given, but method ", method.name,
                         " takes none; kernel features, also those of a kernel_model, are for "
                         "methods that are linear in the columns, such as flat-svm");
}

RecordFeatures record_features_of(const ModelParts& kernel_model, const std::string& name,
                                  RecordSelection selection, const std::string& source) {
  const RowKind columns = row_kind(/*selects_columns=*/true, /*are_texts=*/false);
  require_kind(kernel_model, columns, &selection, source, concat("kernel_model ", name));
  RecordFeatures features = kernel_model.records.value();
  features.selection = std::move(selection);  // with its own labels
  features.text.num_rows_without_terms = 0;
  return features;
}

PreprocessingOptions preprocessing_for(const Method& method, const OptionTable& table,
                                       PreprocessingOptions options) {
  require_kernel_features(method, !options.kernel_features.is_none());
  require_kernel_features(method, options.kernel_model != nullptr, "kernel_model");
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

}  // namespace

CsrMatrix preprocess_columns(const ModelParts& model, const Rows& rows, const std::string& source,
                             RunControl* control) {
  require_kind(model, rows.kind(), rows.selection(), source);
  return done_in_time(source, kPreparation, control, [&] {
    return info_of(rows.kind())
        .apply(model.records ? &*model.records : nullptr, model.preprocessing, rows, control);
  });
}

CsrMatrix preprocess(const ModelParts& model, const Rows& rows, const std::string& source,
                     RunControl* control, Executor& executor) {
  CsrMatrix X = preprocess_columns(model, rows, source, control);
  if (!model.kernel_features) return X;
  return done_in_time(source, kPreparation, control,
                      [&] { return model.kernel_features->apply(X, executor, control); });
}

FeatureRows::FeatureRows(const ModelParts& model, const Rows& rows, Executor& executor) {
  const bool keeps_rows = model.preprocessing.keeps_rows() && !model.kernel_features;
  if (info_of(rows.kind()).are_matrix && keeps_rows) {
    require_kind(model, rows.kind(), rows.selection(), {});
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
  set.texts = texts_of(records, preprocessing);
  if (records) set.records = &*records;
  if (kernel_features) set.kernel_features = &*kernel_features;
  set.columns_are_scaled = centres_columns(preprocessing);
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
  require_kernel_model(options);
  if (choice.is_none()) return std::nullopt;
  std::optional<LearnedKernel> learned;
  if (options.kernel_model) {
    learned = learned_kernel(*options.kernel_model, options.kernel_model_name);
  }
  const MemoryEstimate memory =
      kernel_features_memory(choice, X, learned ? &*learned : nullptr, executor.size());
  const std::string obstacle =
      memory_obstacle(memory, control != nullptr ? control->memory_limit() / 1e9 : 0.0);
  require(obstacle.empty(), source, ": option kernel_features is ", choice.to_text(), ", but ",
          obstacle, "; ask for fewer features or raise memory_limit; the parts are ",
          memory.to_text());
  return naming(source, [&] {
    if (!learned) {
      return KernelFeatures::fit(X, choice, options.kernel_gamma, options.seed, executor, control);
    }
    return KernelFeatures::fit(X, std::move(*learned), num_kernel_columns(*options.kernel_model),
                               choice.size, options.seed, executor, control);
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

/// Fits the preprocessing to the rows and applies it.
void fit_preprocessing(Examples& raw, const PreprocessingOptions& options, RunControl* control,
                       PreparedRows& prepared) {
  const RowKindInfo& kind = info_of(raw.kind);
  const std::size_t num_rows = prepared.labelled.labels.num_rows();
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
  prepared.preprocessing.columns = std::move(columns);
}

/// Takes over the preprocessing of the kernel model and applies it. Throws InvalidInput for rows
/// that are not as those of the model.
void apply_that_of_kernel_model(Examples& raw, const PreprocessingOptions& options,
                                RunControl* control, PreparedRows& prepared) {
  const ModelParts& model = *options.kernel_model;
  const std::string the_model = concat("kernel_model ", options.kernel_model_name);
  if (info_of(raw.kind).fit != nullptr) {
    prepared.records =
        record_features_of(model, options.kernel_model_name, raw.selection, raw.source);
  } else {
    require_kind(model, raw.kind, nullptr, raw.source, the_model);
  }
  require(raw.views.empty() || raw.views == model.views, raw.source,
          ": the rows have other views than those of ", the_model);
  // Of wide rows the model knows the last column in use only.
  require(!info_of(raw.kind).are_matrix || !model.preprocessing.columns.empty() ||
              raw.X.num_columns() <= model.num_raw_features(),
          raw.source, ": the rows have ", raw.X.num_columns(), " columns, but ", the_model,
          " takes ", model.num_raw_features());
  prepared.preprocessing = model.preprocessing;
  prepared.preprocessing.num_rows_without_terms = 0;
  const bool keeps_rows = info_of(raw.kind).are_matrix && model.preprocessing.keeps_rows();
  prepared.X =
      keeps_rows ? std::move(raw.X) : preprocess_columns(model, Rows(raw), raw.source, control);
  const std::size_t num_rows = prepared.labelled.labels.num_rows();
  require(prepared.X.num_rows() == num_rows, raw.source, ": it has ", prepared.X.num_rows(),
          " rows, but labels of ", num_rows);
  if (!prepared.row_weights.empty()) merge_rows(prepared.X, control, prepared);
}

/// As prepare_rows(), but throws OutOfTime.
PreparedRows prepare(Examples raw, const Hierarchy* hierarchy, PreprocessingOptions options,
                     std::vector<double> row_weights, RunControl* control, Executor& executor) {
  require_kernel_model(options);
  const RowKindInfo& kind = info_of(raw.kind);
  options.text = options.text || kind.are_texts;
  const bool has_terms = options.text || options.tfidf || !raw.selection.text.empty();
  if (!has_terms) require_no_terms(raw.selection, options);
  PreparedRows prepared;
  prepared.source = raw.source;
  prepared.views = raw.views;
  prepared.labelled = label_rows(raw.labels, raw.codec, hierarchy, raw.source, control);
  prepared.row_weights = all_weights(options.weights.class_weight, prepared.labelled,
                                     std::move(row_weights), raw.source);
  if (options.kernel_model) {
    apply_that_of_kernel_model(raw, options, control, prepared);
  } else {
    fit_preprocessing(raw, options, control, prepared);
  }
  prepared.kernel_features =
      fit_kernel_features(prepared.X, options, prepared.source, executor, control);
  if (prepared.kernel_features) {
    prepared.X = prepared.kernel_features->apply(prepared.X, executor, control);
  }
  const Preprocessing& texts = prepared.records ? prepared.records->text : prepared.preprocessing;
  if (texts.num_rows_without_terms > 0) {
    prepared.warnings.push_back(concat(
        raw.source, ": ", texts.num_rows_without_terms, " of ", raw.labels.num_rows(),
        " texts have no term (a word, unless options say otherwise); their labels were learned "
        "without features"));
  }
  prepared.preprocessing.first_index = raw.first_index;
  return prepared;
}

}  // namespace

PreparedRows prepare_rows(Examples raw, const Hierarchy* hierarchy,
                          const PreprocessingOptions& options, std::vector<double> row_weights,
                          RunControl* control, Executor& executor) {
  const std::string source = raw.source;
  return done_in_time(source, kPreparation, control, [&] {
    return prepare(std::move(raw), hierarchy, options, std::move(row_weights), control, executor);
  });
}

}  // namespace margrove
