#pragma once
// Flat linear models in the text format of LIBLINEAR's train and predict.

#include <string>
#include <string_view>

#include "model/model.hpp"

namespace margrove {

/// Writes a file for LIBLINEAR's predict, whose decision is the best label or, for two labels, the
/// sign of a difference. Writes the whole file or changes nothing. Throws InvalidInput if the model
/// is not flat and linear with whole numbers as labels and an argmax decision, or if the file
/// cannot be written.
void export_liblinear(const ModelParts& model, const std::string& path);

/// A classification model of LIBLINEAR, as a model of flat-svm or flat-lr; weights are rounded to
/// float32. The file has no training counts, so that each label counts as seen once. Throws
/// ModelFileError with path and line for anything else, InvalidInput if the file cannot be read or
/// its compression is damaged. Memory: labels x features.
ModelParts import_liblinear(const std::string& path);
/// The same from text; `source` stands for the path in errors.
ModelParts parse_liblinear(std::string_view text, const std::string& source);

}  // namespace margrove
