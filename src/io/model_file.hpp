#pragma once
// Models in files: docs/model_format.md is the specification.

#include <cstddef>
#include <span>
#include <string>

#include "model/model.hpp"

namespace margrove {

/// Files of later versions are refused, those of earlier versions are read.
inline constexpr std::uint64_t kModelFormatVersion = 12;
/// The first version that can hold the model, which is the one that is written: 12 for multinomial
/// logistic models, 11 for features of a learned kernel, 10 for other kernel features and for
/// calibrations with a shift, 9 for words of all scripts and for vectors of columns, 8 for vectors
/// of texts, 7 for stems, 6 for words with their marks, 5 for hashed terms, 4 for compressed
/// models, 3 for models whose terms or their weights are other than tf-idf of single words, 2 for
/// models that keep a selection of columns, otherwise 1.
std::uint64_t format_version_of(const ModelParts& model);

/// Writes the whole file or changes nothing: the new file is read back before it replaces an old
/// one. Throws InvalidInput with the reason of the system or the reason for which load_model()
/// would refuse the model.
void save_model(const ModelParts& model, const std::string& path);
/// Throws ModelFileError with the path unless the file holds a model that can be used: no content
/// makes it crash, hang, or allocate more than a small multiple of the file's size.
ModelParts load_model(const std::string& path);

/// The bytes of save_model(), and load_model() from memory; `source` stands for the path.
std::string serialize_model(const ModelParts& model);
ModelParts parse_model(std::span<const std::byte> bytes, const std::string& source);

}  // namespace margrove
