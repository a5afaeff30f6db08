#pragma once
// The safetensors container: 8 bytes header length (little-endian), a JSON header, raw tensors.
// Written files can be read by any safetensors library; files of other writers can be read if their
// tensors have a supported dtype.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/atomic_file.hpp"
#include "base/tensors.hpp"

namespace margrove {

/// The largest header that the format allows.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// The map keeps the file open and reads a tensor when it is requested. Throws ModelFileError
/// "path: byte n: ..." unless every length, offset, shape and dtype agrees with the file and the
/// tensors cover the data section without gap or overlap. O(header).
TensorMap read_safetensors(const std::string& path);
/// The same from memory, which must outlive the map; `source` stands for the path.
TensorMap parse_safetensors(std::span<const std::byte> bytes, std::string source);

/// Writes the whole file or changes nothing. Throws InvalidInput with the system's reason. Tensors
/// are ordered by element size, largest first, then by name, so that all are aligned. `check`: as
/// AtomicFile::commit(). `links`: those at `path`.
void write_safetensors(const TensorMap& tensors, const std::string& path,
                       const std::function<void(const std::string& path)>& check = {},
                       Links links = Links::follow);
/// The bytes that write_safetensors() writes, and their number.
std::string serialize_safetensors(const TensorMap& tensors);
std::uint64_t safetensors_size(const TensorMap& tensors);

}  // namespace margrove
