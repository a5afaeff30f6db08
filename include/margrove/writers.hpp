#pragma once
// Writers of the text formats that the readers read. All write with AtomicFile, so that the target
// is the complete new file or untouched, and throw InvalidInput for labels that the format cannot
// hold.

#include <span>
#include <string>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/dataset.hpp"
#include "margrove/text_reader.hpp"

namespace margrove MARGROVE_API {

/// Floats are written so that they read back with the same bits; trailing empty columns of X are
/// not recorded.
void write_svmlight(const std::string& path, const CsrView& X, const LabelSets& labels,
                    const LabelCodec& codec);
void write_hierarchy(const std::string& path, const Hierarchy& hierarchy);
/// Documents must not contain line ends.
void write_text(const std::string& path, const TextDataset& data);

/// One line per row: labels separated by commas; an empty line for an empty set.
void write_predictions(const std::string& path, const LabelSets& labels, const LabelCodec& codec);
}  // namespace margrove
