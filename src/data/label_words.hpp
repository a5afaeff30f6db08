#pragma once
// Names of labels that their ids hold, where nobody has named them: `credit_limit_change`.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/examples.hpp"
#include "margrove/label_codec.hpp"

namespace margrove {

/// Whether a label is words, not a code: it has three letters in a row, or an ideograph, and
/// neither digits, of any script, nor `://`.
bool is_words(std::string_view label);

/// The words of a label with blanks between them: all of ASCII but letters and apostrophes become
/// blanks, and a capital after a small letter begins a word.
std::string words_of(std::string_view label);

/// The name that each label's id holds, or an empty text. Of paths, which `path_separator` says
/// where it is not null, the last part; otherwise the words of the labels that are words, if at
/// least half of all are. O(bytes of the ids).
std::vector<std::string> names_in_ids(const LabelCodec& labels, const std::string* path_separator);

/// All names of each label as one text, a line each, which is empty where it has none: its name and
/// other names, which may be fewer than the labels. Where no label has a name, names_in_ids() of
/// rows with these columns (null: of rows without columns).
std::vector<std::string> names_of_labels(const LabelCodec& labels,
                                         std::span<const std::string> names,
                                         std::span<const std::string> other_names,
                                         const RecordSelection* columns);

}  // namespace margrove
