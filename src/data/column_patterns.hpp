#pragma once
// Names of columns with `*`, each of which stands for all columns of a file that fit it.

#include <span>
#include <string>
#include <string_view>

#include "data/records.hpp"

namespace margrove {

/// Whether a selected name may stand for several columns: it has a `*`.
bool is_column_pattern(std::string_view name);
/// Whether each `*` of the pattern can be replaced by some text, perhaps none, to give the name.
bool fits_pattern(std::string_view pattern, std::string_view name);

/// The selection with the columns, in the order of `columns`, instead of the patterns of its
/// features. A name that is a column is no pattern. Patterns leave out columns without a name,
/// those that the selection names and the ignored ones; the pattern `*` also those that fit another
/// pattern. Throws InvalidInput that begins with `source` for a pattern that no column is left for,
/// a column that fits patterns of two kinds of features, and an ignored name that is no column.
/// O(columns * names).
RecordSelection expand_patterns(const RecordSelection& given, const ColumnPatterns& patterns,
                                std::span<const std::string> columns, const std::string& source);

/// Throws InvalidOption for ignored columns that are selected, or without a pattern that could take
/// them.
void check_patterns(const RecordSelection& selection, const ColumnPatterns& patterns);

/// "'a', 'b'" for messages, the first ones of many.
std::string list_of_columns(std::span<const std::string> columns);

}  // namespace margrove
