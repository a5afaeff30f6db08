#pragma once
// The body of a request: one JSON object with rows and options, or a form with a text.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/method.hpp"

namespace margrove::serve {

struct RequestBody {
  std::vector<std::string_view> rows;  // the JSON text of each; refers to the text of the body
  bool has_rows = false;               // "row" or "rows" was given
  OptionValues options;                // every other key, in the order given
};

/// Parses `{"rows": [ROW, ...], OPTION: VALUE, ...}` or the same with `"row": ROW`; an option's
/// value is a text, a number or true or false. A row is any string, object or list:
/// data/json_rows.hpp reads them. Throws InvalidInput "body:line:column: ..." for anything else,
/// for both keys together, and for a key that is given twice. O(bytes), in memory of the rows'
/// places.
RequestBody parse_request_body(std::string_view text);

/// The options of a target's query, `top=3&show=path`, percent-decoded; without a value: "true".
/// Throws InvalidInput for a wrong percent sign and for what is not UTF-8.
OptionValues parse_query(std::string_view query);

/// The form that Annif's backend `http` sends.
struct FormBody {
  std::optional<std::string> text;
  OptionValues options;  // "limit", "min_confidence" and "model", which may be called "project"
};

/// Parses `text=a+cat&limit=10`, percent-encoded as a query is. Other fields are decoded and
/// skipped: Annif sends what it knows of a document. Throws InvalidInput "body: ..." as
/// parse_query(), and for a field that is given twice. O(bytes), in memory of the text.
FormBody parse_form_body(std::string_view form);

}  // namespace margrove::serve
