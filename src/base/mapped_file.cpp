#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "margrove/errors.hpp"

namespace margrove {

MappedFile::MappedFile(const std::string& path, Links links) {
  const int no_links = links == Links::refuse ? O_NOFOLLOW : 0;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | no_links);
  int error = errno;
  if (descriptor < 0 && error == ELOOP && links == Links::refuse) {
    throw ModelFileError(concat(path, ": it is a symbolic link, but must be a regular file"));
  }
  struct ::stat status {};
  const bool is_open = descriptor >= 0 && ::fstat(descriptor, &status) == 0;
  if (is_open) error = S_ISREG(status.st_mode) ? 0 : EINVAL;
  if (is_open && error == 0 && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    error = address == MAP_FAILED ? errno : 0;  // NOLINT: the system's macro has a cast
    if (error == 0) data_ = static_cast<const std::byte*>(address);
  }
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) {
    throw ModelFileError(concat(path, ": cannot be read: ", std::strerror(error)));
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace margrove
