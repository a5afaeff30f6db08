#pragma once
// --method structured for given types of output, which need not be those of the library.

#include <span>
#include <string>

#include "model/method.hpp"
#include "outputs/output_type.hpp"

namespace margrove {

/// `types` must outlive the method. structured() is this method with output_types().
Method structured_method(std::span<const OutputType> types);

/// The format of the files of examples ("CoNLL-U") of the type of output that the options of
/// structured() name; empty: it takes rows.
std::string structured_file_format(const OptionTable& options);

}  // namespace margrove
