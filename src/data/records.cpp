#include "data/records.hpp"

#include "data/path_ids.hpp"
#include "margrove/errors.hpp"

namespace margrove {

void RecordSelection::check() const {
  require<InvalidOption>(has_features(),
                         "options text_column, numeric_columns, categorical_columns and "
                         "vector_columns: none is given, but at least one must name the features");
  const int kinds =
      (label.empty() ? 0 : 1) + (path.empty() ? 0 : 1) + (path_levels.empty() ? 0 : 1);
  require<InvalidOption>(kinds <= 1,
                         "options label_column, path_column and path_columns: more than one is "
                         "given, but only one may name the labels");
  require<InvalidOption>(label_separator.empty() || path_levels.empty(),
                         "option label_separator is given, but path_columns have one path");
  if (has_paths()) require_path_separator(separator);
}

RecordFields select_rows(const RecordFields& fields, std::span<const std::uint32_t> rows) {
  RecordFields selected;
  if (!fields.documents.empty()) {
    for (const std::uint32_t i : rows) selected.documents.push_back(fields.documents[i]);
  }
  for (const std::vector<float>& values : fields.numeric) {
    std::vector<float>& kept = selected.numeric.emplace_back();
    for (const std::uint32_t i : rows) kept.push_back(values[i]);
  }
  for (const CategoricalField& field : fields.categorical) {
    CategoricalField& kept = selected.categorical.emplace_back();
    kept.values = field.values;
    for (const std::uint32_t i : rows) kept.ids.push_back(field.ids[i]);
  }
  selected.vector_widths = fields.vector_widths;
  const std::size_t width = fields.vector_width();
  for (const std::uint32_t i : rows) {
    const auto begin = fields.vectors.begin() + static_cast<std::ptrdiff_t>(i * width);
    selected.vectors.insert(selected.vectors.end(), begin,
                            begin + static_cast<std::ptrdiff_t>(width));
  }
  return selected;
}

}  // namespace margrove
