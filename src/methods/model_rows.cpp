#include "methods/model_rows.hpp"

#include "data/vector_file.hpp"

namespace margrove {
namespace {

bool may_take_vector_file(const ModelParts& model) {
  return model.records && takes_vector_file(model.records->selection);
}

/// Rows for a model that takes vectors of a file: texts if those of training were.
Examples read_beside_vectors(const ModelParts& model, const std::string& path, ReadOptions options,
                             RunControl* control) {
  RecordSelection columns = model.records->selection;
  columns.vectors.clear();
  options.selection = &columns;
  options.may_need_vector_file = false;
  return read_rows(path, row_kind(!columns.of_texts, columns.of_texts), options, control);
}

}  // namespace

ReadOptions file_options(const ModelParts& model) {
  ReadOptions options = read_options(model);
  options.may_need_vector_file = may_take_vector_file(model);
  return options;
}

void require_vectors_of_file(const ModelParts& model, const std::string& vector_file) {
  require<InvalidOption>(vector_file.empty() || may_take_vector_file(model),
                         "option vector_file is given, but the model takes no vectors of a file");
}

Examples read_rows_of_model(const ModelParts& model, const RowFiles& files, RunControl* control) {
  require_vectors_of_file(model, files.vectors);
  ReadOptions options = file_options(model);
  options.labels_optional = files.labels_optional;
  options.vector_file = files.vectors;
  Examples rows = files.vectors.empty() ? read_rows(files.rows, row_kind(model), options, control)
                                        : read_beside_vectors(model, files.rows, options, control);
  read_views_of_model(rows, files.views, model.views, control);
  return rows;
}

Examples read_labels_of_model(const ModelParts& model, const std::string& path,
                              RunControl* control) {
  const ReadOptions options = read_options(model);
  if (!may_take_vector_file(model)) return read_rows(path, row_kind(model), options, control);
  return read_beside_vectors(model, path, options, control);
}

}  // namespace margrove
