#pragma once
// Files of rows for a model.

#include <span>
#include <string>

#include "methods/prepared_rows.hpp"

namespace margrove {

/// Options to read the rows of a file that may lack the vectors which the model takes. They refer
/// to the model.
ReadOptions file_options(const ModelParts& model);

/// The rows of a file, what is in files beside it, and whether records may lack the labels.
struct RowFiles {
  const std::string& rows;
  std::span<const ViewFile> views;
  const std::string& vectors;  // empty: there is no such file
  bool labels_optional = true;
};

/// Throws InvalidOption if a file of vectors is given, but the model takes none.
void require_vectors_of_file(const ModelParts& model, const std::string& vector_file);

/// The rows as the model takes them. Throws as read_rows() and read_views_of_model(), and
/// InvalidOption as require_vectors_of_file().
Examples read_rows_of_model(const ModelParts& model, const RowFiles& files, RunControl* control);

/// Rows of which the labels alone count, so that the file may lack vectors.
Examples read_labels_of_model(const ModelParts& model, const std::string& path,
                              RunControl* control);

}  // namespace margrove
