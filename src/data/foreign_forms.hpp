#pragma once
// Files that are of another form than any that is read here: what they are, and what to do.

#include <string>
#include <string_view>

namespace margrove::detail {

/// Throws InvalidInput "F: the file is UTF-16, ...; convert it ..." for a file that begins with
/// bytes of no text in UTF-8: other encodings, archives, compressed bytes.
void refuse_no_text(std::string_view start, const std::string& name);

/// What a reader of text wants.
enum class Wanted : unsigned char { rows, hierarchy };

/// Throws InvalidInput "F:line:column: the file looks like JSON, ...; write ..." for a text of
/// another form: JSON, JSON-LD, ARFF, HTML, OWL, CoNLL-U, fastText. `start` is whole lines.
void refuse_foreign(std::string_view start, const std::string& name, Wanted wanted);

/// What a message about a line that is no row adds where the file, whose first lines are `start`,
/// looks like sentences: "; the file looks like CoNLL-U: ...". Empty otherwise.
std::string hint_for_sentences(std::string_view start);

}  // namespace margrove::detail
