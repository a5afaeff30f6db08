#pragma once
// The rows of a request, read by the readers of files.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "margrove/sentences.hpp"
#include "methods/training.hpp"
#include "model/model.hpp"

namespace margrove::serve {

/// Rows as JSON texts (RequestBody::rows) for a model:
///   - of texts: a string, or {"text": string};
///   - of named columns: an object as a line of JSON lines has it;
///   - of numbers: a line of SVMlight as a string, without the blank before features if it has no
///     labels, or {"features": {index: number}}, indices from 1 in any order;
///   - of several views: {"views": {name: row}}, with a row of numbers for each view.
/// The first row has the number `first` in messages. Throws InvalidInput "SOURCE:number: ..." or
/// "SOURCE:number:column: ...". At least one row.
Examples read_request_rows(const ModelParts& model, std::span<const std::string_view> rows,
                           const std::string& source, std::int64_t first = 1);

/// A sentence as JSON text: a list of tokens, each a text or the list of its columns.
Sentence read_request_sentence(std::string_view json, const std::string& source,
                               std::int64_t number);

}  // namespace margrove::serve
