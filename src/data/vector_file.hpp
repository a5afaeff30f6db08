#pragma once
// Vectors of rows in an array of NumPy beside the file of the rows.

#include <string>
#include <string_view>

#include "data/row_formats.hpp"
#include "margrove/examples.hpp"

namespace margrove {

/// The column that the vectors of a file are, and that of texts which come with them.
inline constexpr std::string_view kVectorColumn = "vectors";
inline constexpr std::string_view kTextColumn = "text";

/// selection.check() where the vectors of a file are a feature beside those of the selection.
/// Throws InvalidOption also if the selection has vectors of its own.
void check_with_vector_file(RecordSelection selection);

/// Whether the vectors of records with this selection may come from a file.
bool takes_vector_file(const RecordSelection& selection);

/// Throws InvalidInput if rows of `name` in this format cannot hold the vectors that the options
/// say they need.
void require_vectors_within(const RowFormat& format, const ReadOptions& options,
                            const std::string& name);

/// Adds the vectors of options.vector_file, of which row i is that of row i, as the column
/// kVectorColumn. Texts become records with the column kTextColumn. Throws InvalidOption for rows
/// of numbers, InvalidInput if the file has another number of rows, or not options.vector_widths
/// columns if they are given, and if another column has the name, and as open_npy() and
/// NpyArray::row(). O(numbers).
void add_vectors(Examples& rows, const ReadOptions& options, RunControl* control);

}  // namespace margrove
