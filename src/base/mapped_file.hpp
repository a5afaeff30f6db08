#pragma once
// Files that several processes of a machine read without copies of their own.

#include <cstddef>
#include <span>
#include <string>

#include "base/atomic_file.hpp"

namespace margrove {

/// A file in memory, read-only. The file must not become shorter meanwhile, which would end the
/// process: meant for files that are only ever replaced as a whole (AtomicFile).
class MappedFile {
 public:
  /// Throws ModelFileError naming the path and the system's reason, or that it is a symbolic link
  /// if those are refused.
  explicit MappedFile(const std::string& path, Links links = Links::follow);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace margrove
