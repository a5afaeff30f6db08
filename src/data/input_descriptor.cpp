#include "data/input_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "margrove/errors.hpp"

namespace margrove {

InputDescriptor::InputDescriptor(const std::string& path, Kind kind) : name_(path) {
  const bool is_regular = kind == Kind::regular;
  // A pipe that nobody writes to is refused at once where it must be a regular file.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (is_regular ? O_NONBLOCK : 0));
  if (descriptor_ < 0) fail("cannot open", errno);
  struct ::stat status {};
  int error = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(status.st_mode)) error = EISDIR;
  if (error == 0 && is_regular && !S_ISREG(status.st_mode)) error = ESPIPE;
  if (error != 0) {
    ::close(descriptor_);  // no destructor runs
    fail("cannot read", error);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputDescriptor::~InputDescriptor() { ::close(descriptor_); }

std::size_t InputDescriptor::read(std::span<char> out) const {
  for (;;) {
    const ::ssize_t count = ::read(descriptor_, out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail("cannot read", errno);
  }
}

void InputDescriptor::read_at(std::uint64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ::ssize_t count =
        ::pread(descriptor_, out.data(), out.size(), static_cast<::off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot read", errno);
    require(count > 0, name_, ": the file became shorter while it was read");
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

void InputDescriptor::fail(std::string_view action, int error) const {
  throw InvalidInput(concat(name_, ": ", action, ": ", std::generic_category().message(error)));
}

}  // namespace margrove
