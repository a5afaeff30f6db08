#pragma once
// The rows of a request, read by the readers of files.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/row_formats.hpp"
#include "margrove/sentences.hpp"

namespace margrove {

/// Throws InvalidInput "SOURCE:number: ..." or "SOURCE:number:column: ...". At least one row.
Examples read_request_rows(RowKind kind, const JsonRows& rows);

/// RowKindInfo::read_json:
///   - of texts: a string, or {"text": string};
///   - of named columns: an object as a line of JSON lines has it;
///   - of numbers: a line of SVMlight as a string, without the blank before features if it has no
///     labels, or {"features": {index: number}}, indices from 1 in any order;
///   - of several views: {"views": {name: row}}, with a row of numbers for each view.
Examples json_texts(const JsonRows& rows);
Examples json_records(const JsonRows& rows);
Examples json_numbers(const JsonRows& rows);

/// A sentence as JSON text: a list of tokens, each a text, the list of its columns, or, where there
/// are `keys`, an object of features, which are texts, numbers, true for 1, and false or null for
/// none.
Sentence read_request_sentence(std::string_view json, const std::string& source,
                               std::int64_t number,
                               const std::optional<std::vector<std::string>>& keys);

}  // namespace margrove
