#pragma once
// Bytes that are read on request, of a file for example.

#include <cstddef>
#include <cstdint>
#include <span>

namespace margrove {

/// A file whose bytes are read on request. It is not mapped into memory, because a mapped file that
/// is truncated meanwhile would end the process, whereas a read gives an error.
class ByteStore {
 public:
  virtual ~ByteStore() = default;
  /// Throws ModelFileError if the bytes cannot be read.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

}  // namespace margrove
