#include "cli/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "cli/model_arguments.hpp"
#include "cli/training_reports.hpp"
#include "data/code_hierarchy.hpp"
#include "data/label_names_reader.hpp"
#include "data/path_ids.hpp"
#include "data/stop_words.hpp"
#include "data/text_scan.hpp"
#include "data/utf8.hpp"
#include "methods/label_sources.hpp"
#include "methods/labelled_rows.hpp"
#include "methods/level_stack.hpp"
#include "methods/structured_method.hpp"
#include "model/process_encoder.hpp"

namespace margrove::cli {

void DataArguments::declare_data(CLI::App& app, const std::string& data, const std::string& result,
                                 const std::string& result_help) {
  const std::size_t first = app.get_options().size();
  app.add_option("--hierarchy", hierarchy_path_, "file of lines `parent child`, OBO or SKOS")
      ->type_name("FILE");
  app.add_flag("--part-of", read_hierarchy_.part_of,
               "OBO hierarchy: read the edges of part_of, too");
  app.add_option("--language", read_hierarchy_.language,
                 "SKOS hierarchy: language of the names that predict --show name writes and "
                 "--match-names reads")
      ->type_name("CODE");
  app.add_option(
         "--hierarchy-from", hierarchy_from_,
         "codes: labels are codes such as Dewey's; their common prefixes are the inner nodes")
      ->type_name("codes")
      ->check(CLI::IsMember({"codes"}));
  app.add_option("--label-names", label_names_path_,
                 "names of labels that predict --show name writes and --match-names reads: lines "
                 "label<TAB>name<TAB>other name ..., or CSV")
      ->type_name("FILE");
  app.add_option("--unknown-labels", unknown_labels_,
                 "labels of rows and of --label-names that the hierarchy lacks: error, or drop "
                 "(with a warning)")
      ->type_name("error|drop")
      ->check(CLI::IsMember({"error", "drop"}));
  app.add_option("--unlabelled", unlabelled_,
                 "rows without a label: drop leaves them out, with a warning; keep learns them as "
                 "rows with the empty set, so that the model gives label sets; auto drops them "
                 "where no row has several labels")
      ->type_name("auto|drop|keep")
      ->check(CLI::IsMember({"auto", "drop", "keep"}));
  views_.declare(app);
  records_.declare(app);
  annotations_.declare(app);
  app.add_option(data, data_path_, "rows to train on")->required()->type_name("");
  app.add_option(result, result_path_, result_help)->required()->type_name("");
  named_ = named_options(app, first);
}

void DataArguments::declare_preprocessing(CLI::App& app) {
  const std::size_t first = app.get_options().size();
  preprocessing_.declare(app, "Preprocessing (kept in the model)");
  kernel_model_options_.declare(app, "Preprocessing (kept in the model)");
  weights_.declare(app, "Weights of rows");
  for (const CLI::Option* option : named_options(app, first)) named_.push_back(option);
}

void TrainingArguments::declare(CLI::App& app, const std::vector<std::string>& arguments,
                                const std::string& result, const std::string& result_help) {
  app.add_option("--method", method_name_,
                 "method to train; by default level-svm with a hierarchy, otherwise flat-svm")
      ->type_name("NAME");
  declare_data(app, "TRAIN", result, result_help);
  if (const auto name = method_argument(arguments)) {
    method_ = &find_method(*name);
    method_options_.declare(app, method_->start()->options().list(), "Options of " + *name);
  } else {
    app.footer(list_of_methods());
  }
  note_of_method_ = note_of_default(arguments);
  declare_preprocessing(app);
  run_.declare(app, "Run");
}

bool DataArguments::is_given(std::string_view name) const {
  return std::ranges::any_of(
      named_, [&](const auto* each) { return each->get_name() == name && each->count() > 0; });
}

bool DataArguments::reads_texts() {
  const bool is_given = preprocessing_.parse().text;
  const std::string format = records_.format();
  const bool is_text = format == "text" || format == "annif";
  require<InvalidOption>(format.empty() || is_text || !is_given, "option format is ", format,
                         ", but option text says that rows are documents");
  return is_given || is_text;
}

PreprocessingOptions DataArguments::preprocessing(int num_threads) {
  PreprocessingOptions options = preprocessing_.parse();
  options.encoder_threads = num_threads;
  options.weights = weights_.parse();
  options.text = reads_texts();
  check_terms(options, grid_);
  const bool has_texts = options.text || is_given("--text-column");
  if (has_texts && is_given("--word-ngrams")) follow_given_length("word_ngrams", options);
  if (has_texts && is_given("--char-ngrams")) follow_given_length("char_ngrams", options);
  const bool has_share = is_given("--vector-share") || has_option(grid_, "vector_share");
  const bool makes_vectors = options.vectors != "none" || has_option(grid_, "vectors");
  require<InvalidOption>(!makes_vectors || !has_vector_file(),
                         "options vectors and vector_file are both given, but a row has one "
                         "vector");
  const bool has_vectors = makes_vectors || is_given("--vector-columns") || has_vector_file();
  require<InvalidOption>(!has_share || has_vectors,
                         "option vector-share is given, but there are no vectors: none of vectors, "
                         "vector-columns and vector-file is given");
  options.text = options.text && !has_vector_file();
  options.kernel_model = kernel_model();
  options.kernel_model_name = kernel_model_options_.parse().kernel_model;
  require_kernel_model(options);
  // One process for all trials.
  name_encoder(options, {.num_threads = num_threads});
  return options;
}

std::shared_ptr<const ModelParts> DataArguments::kernel_model() {
  const std::string& path = kernel_model_options_.parse().kernel_model;
  if (!kernel_model_ && !path.empty()) {
    kernel_model_ = std::make_shared<const ModelParts>(ModelArguments().load(path));
  }
  return kernel_model_;
}

namespace {

std::set<std::pair<std::string, std::string>> named_edges(const Hierarchy& hierarchy) {
  std::set<std::pair<std::string, std::string>> edges;
  for (const auto& [parent, child] : hierarchy.edges) {
    edges.emplace(hierarchy.codec.name(parent), hierarchy.codec.name(child));
  }
  return edges;
}

/// Paths define a hierarchy; a hierarchy that is given, too, must be the same.
void require_equal(const Hierarchy& given, const Hierarchy& of_paths) {
  const auto given_edges = named_edges(given), edges = named_edges(of_paths);
  const auto require_all = [](const auto& some, const auto& others, const std::string& has,
                              const std::string& lacks) {
    for (const auto& edge : some) {
      require(others.contains(edge), lacks, ": there is no edge '", edge.first, "' '", edge.second,
              "', which ", has, " has; leave --hierarchy out, because paths define the hierarchy");
    }
  };
  require_all(edges, given_edges, of_paths.source, given.source);
  require_all(given_edges, edges, given.source, of_paths.source);
}

/// The codec of the hierarchy followed by the former ids that are no nodes, so that readers know
/// both.
LabelCodec with_former(LabelCodec codec, const FormerTerms& former) {
  for (const std::string& id : former.ambiguous) codec.add(id);
  for (const auto& [id, replacement] : former.obsolete) codec.add(id);
  return codec;
}

void warn_of_dropped(const LeftOutLabels& dropped, const Hierarchy& hierarchy) {
  if (dropped.num_labels == 0) return;
  warn(fmt::format("{} labels of {} rows are not in {} and were dropped; one of them is '{}'",
                   dropped.num_labels, dropped.num_rows, hierarchy.source, dropped.example));
}

}  // namespace

std::optional<std::uint32_t> DataArguments::first_index(RowKind kind) {
  const std::optional<std::uint32_t> given = records_.first_index(kind);
  const auto model = kernel_model();
  if (given || !model || !info_of(kind).are_matrix) return given;
  return given_first_index(model->preprocessing.first_index);
}

Examples DataArguments::read_training_rows(const LabelCodec* codec, CommandControl& control) {
  const std::optional<RecordSelection> selection = columns();
  const ColumnPatterns patterns = selection ? records_.patterns(*selection) : ColumnPatterns();
  const std::string format = records_.format();
  const RowKind kind = row_kind(selection.has_value(), reads_texts(), format);
  try {
    return read_rows(data_path_, kind,
                     {.codec = codec,
                      .known_labels_only = codec != nullptr && unknown_labels_ == "error",
                      .refuse_labels_alone = true,
                      .selection = selection ? &*selection : nullptr,
                      .patterns = selection ? &patterns : nullptr,
                      .format = format,
                      .first_index = first_index(kind),
                      .vector_file = views_.vector_file()},
                     &control.run());
  } catch (const detail::UnknownLabel& error) {
    throw InvalidInput(concat(error.what(), ", the nodes of ", hierarchy_path_,
                              "; --unknown-labels drop leaves out the others"));
  }
}

std::string DataArguments::suspicion(const Data& data, bool is_of_paths) const {
  const Examples& raw = data.raw;
  if (!data.hierarchy || raw.labels.num_labels_total() == 0) return {};
  if (is_of_paths) {
    const std::optional<RecordSelection> selection = columns();
    if (!data.hierarchy->edges.empty()) return {};
    if (selection->path.empty()) {
      return concat(data_path_,
                    ": no path has a second level (option path_columns), so that every "
                    "label is a root without a child and the hierarchy says nothing");
    }
    const std::string first = split_path(raw.codec.name(0), selection->separator).front();
    return concat(data_path_, ": no path has the separator ", detail::quoted(selection->separator),
                  " (option separator), so that every label is a root without a child; the first "
                  "path is ",
                  detail::quoted(first));
  }
  if (hierarchy_path_.empty()) return {};
  std::vector<bool> is_child(data.hierarchy->codec.size(), false);
  for (const auto& [parent, child] : data.hierarchy->edges) is_child[child] = true;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    for (const LabelId label : raw.labels[i]) {
      if (is_child[label]) return {};
    }
  }
  // A file of documents, for example, has edges from each label to the texts.
  return concat(hierarchy_path_, ": every label of ", data_path_,
                " is a root of this hierarchy, which then says nothing about the labels; if it has "
                "lines, they must be 'parent child'");
}

DataArguments::Data DataArguments::read(CommandControl& control, bool is_strict) {
  Data data;
  const bool is_annotated = has_annotations();
  const bool drops_unknown = unknown_labels_ == "drop";
  FormerTerms former;
  LabelCodec nodes;
  const LabelCodec* codec = nullptr;  // of the labels in the file of rows
  if (!hierarchy_path_.empty()) {
    HierarchyOptions how = read_hierarchy_;
    how.control = &control.run();
    data.hierarchy = read_hierarchy(hierarchy_path_, how, &former);
    control.end_progress();
    for (const std::string& message : data.hierarchy->warnings) warn_or_refuse(message, is_strict);
    nodes = with_former(data.hierarchy->codec, former);
    if (!is_annotated) codec = &nodes;
  }
  data.raw = read_training_rows(codec, control);
  std::optional<Hierarchy> of_paths = std::exchange(data.raw.hierarchy, std::nullopt);
  if (is_annotated) annotations_.apply(data.raw, control);
  if (data.hierarchy && (is_annotated || drops_unknown || !former.empty())) {
    warn_of_dropped(use_nodes(data.raw, *data.hierarchy, former, drops_unknown), *data.hierarchy);
  }
  if (of_paths && data.hierarchy) require_equal(*data.hierarchy, *of_paths);
  const bool is_of_paths = of_paths.has_value();
  if (is_of_paths) data.hierarchy = std::move(of_paths);
  if (const std::string why = suspicion(data, is_of_paths); !why.empty()) {
    control.end_progress();
    warn_or_refuse(why, is_strict);
  }
  add_derived(data, control);
  data.raw.labels.set_unlabelled(unlabelled());
  if (const auto model = kernel_model()) {
    read_views_of_model(data.raw, views_.files(), model->views, &control.run());
  } else {
    read_views(data.raw, views_.files(), &control.run());
  }
  require<OutOfTimeLimit>(control.run().proceed(), data_path_,
                          ": the time limit ended reading; nothing is trained");
  return data;
}

void DataArguments::add_derived(Data& data, CommandControl& control) {
  LabelCodec codes = data.raw.codec;
  std::optional<LabelNames> names;
  if (!label_names_path_.empty()) {
    names = read_label_names(label_names_path_, &control.run());
    control.end_progress();
    if (!data.hierarchy) require_known_names(codes, *names, data_path_);
  }
  if (!hierarchy_from_.empty()) {
    if (names) {
      for (const std::string& code : names->labels.names()) codes.add(code);
    }
    data.hierarchy = hierarchy_of_codes(codes.names(), data_path_);
  }
  if (!names) return;
  if (!data.hierarchy) {
    data.hierarchy = flat_labels(data.raw.codec, *names);
    return;
  }
  const bool drops_unknown = unknown_labels_ == "drop";
  const UnknownNames unknown = use_label_names(*data.hierarchy, *names, drops_unknown);
  if (unknown.count == 0) return;
  warn(fmt::format("{} labels of {} are not in {} and were left out; one of them is '{}'",
                   unknown.count, names->source, data.hierarchy->source, unknown.example));
}

LabelSets::Unlabelled DataArguments::unlabelled() const {
  return parse_enum<LabelSets::Unlabelled>("unlabelled", unlabelled_);
}

void DataArguments::refuse_options_of_rows(std::string_view reader, std::string_view format) const {
  refuse_given(named_, concat(reader, " reads examples that are not rows: ", format, " files"));
}

void DataArguments::require_names_count(const OptionTable& options) {
  const bool are_texts = reads_texts() || is_given("--text-column");
  if (label_names_path_.empty() || !are_texts || !options.has("stack")) return;
  const std::string stack = options.get("stack");
  const bool is_meant = options.get("match_names") != "auto" ||
                        !excludes_names({.stack = detail::Stack::parse(stack)});
  require<InvalidOption>(is_meant, "option label_names is given, but option stack is ", stack,
                         ", and scores of names are fitted beside those of centroids only; with ",
                         "--match-names=false the names serve predict --show name alone");
}

bool TrainingArguments::reads_examples(MethodRun& run) const {
  return method_->read_examples && !structured_file_format(run.options()).empty();
}

bool DataArguments::has_annotations() {
  const bool is_given = annotations_.is_given();
  const std::optional<RecordSelection> selection = columns();
  require<InvalidOption>(is_given || !records_.has_ids(),
                         "option id_column is given, but needs a --annotations FILE");
  require<InvalidOption>(!is_given || !selection || records_.has_ids(),
                         "option annotations is given, but id_column is not, which must name the "
                         "column with the ids of the annotated objects");
  return is_given;
}

bool DataArguments::has_hierarchy() const {
  const std::optional<RecordSelection> selection = columns();
  const bool has_paths = selection && selection->has_paths();
  require<InvalidOption>(hierarchy_from_.empty() || (hierarchy_path_.empty() && !has_paths),
                         "option hierarchy_from is given, but ",
                         has_paths ? "paths define the hierarchy" : "option hierarchy is, too");
  require<InvalidOption>(!read_hierarchy_.part_of || !hierarchy_path_.empty(),
                         "option part_of is given, but needs a --hierarchy FILE in OBO");
  const bool has_nodes = !hierarchy_path_.empty() || (has_paths && !label_names_path_.empty());
  require<InvalidOption>(unknown_labels_ == "error" || has_nodes,
                         "option unknown_labels is drop, but needs a --hierarchy FILE");
  require<InvalidOption>(read_hierarchy_.language.empty() || !hierarchy_path_.empty(),
                         "option language is given, but needs a --hierarchy FILE in SKOS");
  return has_paths || !hierarchy_path_.empty() || !hierarchy_from_.empty();
}

std::vector<std::string> DataArguments::data_paths() {
  const PreprocessingOptions options = preprocessing();
  const std::string& stop_words = options.stop_words_choice;
  const std::string stop_words_file = has_stop_words(stop_words) ? "" : stop_words;
  std::vector<std::string> paths{data_path_,
                                 hierarchy_path_,
                                 label_names_path_,
                                 annotations_.path(),
                                 stop_words_file,
                                 options.weights.class_weight,
                                 options.kernel_model_name};
  for (std::string& path : views_.paths()) paths.push_back(std::move(path));
  return paths;
}

std::vector<std::string> TrainingArguments::input_paths() {
  std::vector<std::string> paths = data_paths();
  for (const auto& [name, value] : method_options()) {
    if (name == "network" || name == "label_graph" || name == "cost_matrix") paths.push_back(value);
  }
  return paths;
}

std::unique_ptr<MethodRun> TrainingArguments::start(const OptionValues& more) {
  OptionValues values = method_options();
  values.insert(values.end(), more.begin(), more.end());
  auto run = method_->start();
  set_options(run->options(), values);
  if (reads_examples(*run)) {
    refuse_options_of_rows("method " + method_->name, structured_file_format(run->options()));
  }
  require_kernel_features(*method_, has_kernel_model(), "kernel_model");
  const OptionTable& options = run->options();
  const bool matches_names = options.has("match_names") && options.get("match_names") != "false";
  if (matches_names || has_option(grid(), "match_names")) read_other_names();
  require_names_count(options);
  require_empty_sets(*method_, options, unlabelled());
  require<InvalidOption>(has_hierarchy() || !needs_hierarchy(*method_, run->options()), "method ",
                         method_->name,
                         " needs a hierarchy: give --hierarchy FILE, or rows with paths: "
                         "--path-columns, --path-column, --hierarchy-from codes");
  return run;
}

ChosenTerms TrainingArguments::choose_terms(MethodRun& run, const Data& data, Executor& executor,
                                            CommandControl& control) {
  const PreprocessingOptions given = preprocessing(run_options().threads);
  ChosenTerms terms =
      print_terms(search_terms(method(), method_options(), data.raw, data.hierarchy_or_null(),
                               given, {}, "", executor, control.run()),
                  given, control);
  terms.preprocessing = preprocessing_for(method(), run.options(), std::move(terms.preprocessing));
  return terms;
}

}  // namespace margrove::cli
