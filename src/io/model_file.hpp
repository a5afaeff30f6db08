#pragma once
// Models in files: docs/model_format.md is the specification.

#include <cstddef>
#include <span>
#include <string>

#include "model/model.hpp"

namespace margrove {

/// Files of a later version are refused; those of an earlier one are read.
inline constexpr std::uint64_t kModelFormatVersion = 1;

/// Writes the whole file or changes nothing: what is written is read back before it takes the place
/// of another file. Throws InvalidInput with the system's reason, or with that for which
/// load_model() would refuse the model.
void save_model(const ModelParts& model, const std::string& path);
/// Throws ModelFileError with the path unless the file holds a model that can be used: no content
/// makes it crash, hang, or allocate more than a small multiple of the file's size.
ModelParts load_model(const std::string& path);

/// The bytes of save_model(), and load_model() from memory; `source` stands for the path.
std::string serialize_model(const ModelParts& model);
ModelParts parse_model(std::span<const std::byte> bytes, const std::string& source);

}  // namespace margrove
