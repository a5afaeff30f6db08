#pragma once
// Models in files: docs/model_format.md is the specification.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "model/model.hpp"

namespace margrove {

/// Files of later versions are refused, those of earlier versions are read.
inline constexpr std::uint64_t kModelFormatVersion = 14;
/// The first version that can hold the model, which is the one that is written:
///   12  multinomial logistic models
///   11  features of a learned kernel
///   10  other kernel features, calibrations with a shift
///    9  words of all scripts, vectors of columns
///    8  vectors of texts
///    7  stems
///    6  words with their marks
///    5  hashed terms
///    4  compressed models
///    3  terms or weights of terms other than tf-idf of single words
///    2  a selection of columns
///    1  all others
std::uint64_t format_version_of(const ModelParts& model);

/// Writes the whole file or changes nothing: the new file is read back before it replaces an old
/// one. Throws InvalidInput with the reason of the system or the reason for which load_model()
/// would refuse the model.
void save_model(const ModelParts& model, const std::string& path);
/// When the weights of linear models, which are most of a file, are read and checked.
enum class ReadWeights : unsigned char {
  as_needed,  // those of a feature by the first row that has it; the file stays open
  now,        // for users whose file may be written to afterwards, or that must know of all faults
};
/// Throws ModelFileError with the path unless the file holds a model that can be used: no content
/// makes it crash, hang, or allocate more than a small multiple of the file's size. Weights that
/// are read later throw ModelFileError then.
ModelParts load_model(const std::string& path, ReadWeights weights = ReadWeights::as_needed);

/// The bytes of save_model(), their number, and load_model() from memory; `source` stands for the
/// path.
std::string serialize_model(const ModelParts& model);
std::uint64_t model_file_size(const ModelParts& model);
ModelParts parse_model(std::span<const std::byte> bytes, const std::string& source);

}  // namespace margrove
