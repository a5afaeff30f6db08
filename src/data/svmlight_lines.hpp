#pragma once
// Rows as lines of SVMlight text.

#include <span>
#include <string>

#include "margrove/dataset.hpp"

namespace margrove {

/// Appends a row without its line end. Values must be finite and names labels that the format can
/// hold.
void append_svmlight_row(std::string& line, std::span<const LabelId> labels,
                         std::span<const std::string> names, const SparseRow& row);

}  // namespace margrove
