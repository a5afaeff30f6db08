#pragma once
// Documents with the URIs of their subjects, as Annif's corpora have them:
// `text<TAB><URI> <URI> ...`.

#include <string>
#include <string_view>

#include "margrove/text_reader.hpp"

namespace margrove {

/// Whether a file that begins with the lines `start` is of this form. The first of them that has
/// something after its last tab decides: a first document may lack subjects.
bool starts_like_annif(std::string_view start);

/// Reads a folder of documents NAME.txt in the order of their names, with the subjects NAME.tsv
/// (lines `<URI><TAB>name`) or NAME.key (a subject per line), or without any; or a plain, gzip or
/// zstd file, one document per line; without subjects the line ends with the
/// tab or lacks it. Labels are the URIs without brackets. Empty lines are not rows. Throws
/// InvalidInput "file:line:column: ..." for what stands after the tab and is no URI in brackets,
/// and as read_text().
TextDataset read_annif(const std::string& path, const TextOptions& options,
                       RunControl* control = nullptr);
/// The same from memory; `name` stands for the file in messages.
TextDataset parse_annif(std::string_view bytes, const std::string& name,
                        const TextOptions& options = {}, RunControl* control = nullptr);

}  // namespace margrove
