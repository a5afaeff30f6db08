#include "cli/model_arguments.hpp"

#include "data/row_parts.hpp"
#include "io/model_file.hpp"
#include "margrove/errors.hpp"
#include "methods/labelled_rows.hpp"
#include "methods/model_rows.hpp"
#include "model/process_encoder.hpp"

namespace margrove::cli {
namespace {

/// Columns that were selected without one for the labels give rows without labels.
void require_some_label(const ModelParts& model, const Examples& rows) {
  require(
      !model.records || model.records->selection.has_labels() || rows.labels.num_labels_total() > 0,
      rows.source,
      ": no row has a label, because the model was trained without a column of "
      "labels; give labels as in training");
}

}  // namespace

void ModelArguments::declare(CLI::App& app, bool needs_data) {
  app.add_option("MODEL", model_path, "file that train wrote")->required()->type_name("");
  app.add_option("DATA", data_path, "rows; -: standard input")->required(needs_data)->type_name("");
  views.declare(app);
  app.add_option("--threads", threads, "number of threads; 0: one per core")
      ->type_name("INT")
      ->check(number_from(0));
  app.add_option("--time-limit-seconds", time_limit_seconds,
                 "end with exit code 5, and write nothing, if there is no result after so long; 0: "
                 "no limit")
      ->type_name("NUMBER")
      ->check(number_from(0));
  app.add_flag("--quiet", quiet, "print no progress on stderr");
}

ModelParts ModelArguments::load(const std::string& path) const {
  ModelParts model = load_model(path);
  name_encoder(model.preprocessing.vectors, {.num_threads = threads});
  if (model.records) name_encoder(model.records->text.vectors, {.num_threads = threads});
  return model;
}

Examples ModelArguments::read(const ModelParts& model, CommandControl& control,
                              bool needs_labels) const {
  require<InvalidOption>(model.predictor->files() == nullptr, "the examples of method ",
                         model.method, " are not rows, but files of examples, which predict, ",
                         "evaluate and info alone take");
  const std::vector<ViewFile> view_files = views.files();
  if (data_path != kStandardInput) {
    Examples raw = read_rows_of_model(model,
                                      {.rows = data_path,
                                       .views = view_files,
                                       .vectors = views.vector_file(),
                                       .labels_optional = !needs_labels},
                                      &control.run());
    if (needs_labels) require_some_label(model, raw);
    return raw;
  }
  require_no_vector_file(model);
  ReadOptions options = file_options(model);
  options.labels_optional = !needs_labels;
  RowParts parts(LineBlocks(open_standard_input(), "standard input"), row_kind(model), options);
  Examples raw = parts.read_all();
  if (needs_labels) require_some_label(model, raw);
  read_views_of_model(raw, view_files, model.views, &control.run());
  return raw;
}

std::vector<std::string> ModelArguments::input_paths() const {
  std::vector<std::string> paths = views.paths();
  paths.insert(paths.end(), {model_path, data_path});
  return paths;
}

void ModelArguments::require_no_vector_file(const ModelParts& model) const {
  require_vectors_of_file(model, views.vector_file());
  require<InvalidOption>(views.vector_file().empty(),
                         "option vector_file is given, but its vectors are those of the rows of a "
                         "whole file; leave --on-error skip out, and give a file instead of -");
}

void ModelArguments::require_no_views(const ModelParts& model) const {
  require<InvalidOption>(views.files().empty(), "option view is given, but the examples of method ",
                         model.method, " are not rows");
  require<InvalidOption>(views.vector_file().empty(),
                         "option vector_file is given, but the examples of method ", model.method,
                         " are not rows");
}

const std::string& ModelArguments::examples_path(const ModelParts& model) const {
  require_no_views(model);
  require<InvalidOption>(data_path != kStandardInput, "the examples of method ", model.method,
                         " are not rows, which alone are read from standard input; give a file "
                         "instead of -");
  return data_path;
}

void refuse_options_of_rows(std::span<const CLI::Option* const> options, const ModelParts& model) {
  refuse_given(options, concat("the examples of method ", model.method, " are not rows"));
}

void leave_out_unlabelled(const ModelParts& model, Examples& raw) {
  if (!model.rows().gives_one_label()) return;
  const std::string left_out = margrove::leave_out_unlabelled(raw);
  if (!left_out.empty()) warn(left_out);
}

}  // namespace margrove::cli
