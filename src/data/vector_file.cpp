#include "data/vector_file.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "data/input_file.hpp"
#include "data/npy_reader.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// Records of the texts.
void select_texts(Examples& rows) {
  rows.kind = RowKind::records;
  rows.selection.text = {std::string(kTextColumn)};
  rows.selection.of_texts = true;
  rows.fields.documents = std::exchange(rows.documents, {});
}

void require_free_name(const Examples& rows) {
  const RecordSelection& columns = rows.selection;
  const std::vector<std::string> labels{columns.label, columns.path};
  for (const auto* names :
       {&columns.text, &columns.numeric, &columns.categorical, &columns.path_levels, &labels}) {
    require(std::ranges::count(*names, kVectorColumn) == 0, rows.source, ": column '",
            kVectorColumn, "' is selected, but option vector_file gives the column of that name");
  }
}

void check_shape(const NpyArray& array, const Examples& rows, const ReadOptions& options) {
  require(array.num_rows() == rows.num_rows(), array.name(), ": it has ", array.num_rows(),
          " rows, but must have ", rows.num_rows(), " as ", rows.source);
  const FeatureId width = array.num_columns();
  require(width > 0, array.name(), ": it has no columns, but must have at least one");
  require(options.vector_widths.empty() || options.vector_widths.front() == width, array.name(),
          ": it has ", width, " columns, but must have ",
          options.vector_widths.empty() ? 0 : options.vector_widths.front(), " as in training");
}

}  // namespace

void check_with_vector_file(RecordSelection selection) {
  require<InvalidOption>(selection.vectors.empty(),
                         "options vector_file and vector_columns are both given, but a row has one "
                         "vector");
  selection.vectors = {std::string(kVectorColumn)};
  selection.check();
}

bool takes_vector_file(const RecordSelection& selection) {
  return selection.vectors.size() == 1 && selection.vectors.front() == kVectorColumn;
}

void require_vectors_within(const RowFormat& format, const ReadOptions& options,
                            const std::string& name) {
  const bool may_hold =
      format.holds_lists || options.vector_widths.empty() || options.vector_widths.front() == 1;
  require(may_hold || !options.may_need_vector_file, name,
          ": the model takes vectors of a file, --vector-file FILE.npy, or rows in JSON lines with "
          "a list of numbers in column '",
          kVectorColumn, "'");
}

void add_vectors(Examples& rows, const ReadOptions& options, RunControl* control) {
  require<InvalidOption>(!info_of(rows.kind).are_matrix,
                         "option vector_file is given, but the rows are numbers, not texts (option "
                         "text) or rows with named columns; an array beside numbers is a view: "
                         "--view NAME=FILE.npy");
  if (control != nullptr && !control->proceed()) end_reading(rows.source);
  NpyArray array = open_npy(std::string(options.vector_file), control);
  check_shape(array, rows, options);
  if (info_of(rows.kind).are_texts) select_texts(rows);
  require_free_name(rows);
  rows.selection.vectors = {std::string(kVectorColumn)};
  rows.fields.vector_widths = {array.num_columns()};
  std::vector<float>& numbers = rows.fields.vectors;
  numbers.reserve(rows.num_rows() * array.num_columns());
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    const std::span<const float> row = array.row(i);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
}

}  // namespace margrove
