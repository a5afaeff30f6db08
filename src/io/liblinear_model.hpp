#pragma once
// Flat linear models in the text format of LIBLINEAR's train and predict.

#include <string>
#include <string_view>

#include "model/model.hpp"

namespace margrove {

/// Writes a file that LIBLINEAR's predict takes, with its decisions: the best label, or of two
/// labels the sign of a difference. On failure no file is changed. Throws InvalidInput if the model
/// is not flat and linear with whole numbers as labels and an argmax decision, or the file cannot
/// be written.
void export_liblinear(const Model& model, const std::string& path);

/// Reads a classification model that LIBLINEAR wrote as a model of flat-svm or flat-lr; weights are
/// rounded to float32. The training data are not known: each label counts as seen once.
/// Throws ModelFileError with path and line for anything else, InvalidInput if the file cannot be
/// read or its compression is damaged. Memory: labels x features.
Model import_liblinear(const std::string& path);
/// The same from text; `source` stands for the path in errors.
Model parse_liblinear(std::string_view text, const std::string& source);

}  // namespace margrove
