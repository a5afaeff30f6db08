#pragma once
// Open files that readers take bytes from.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace margrove {

/// An open descriptor, which is closed with the object. All throw InvalidInput "name: cannot ...:
/// reason".
class InputDescriptor {
 public:
  /// What a path may lead to; never a folder. Only regular files have a size and read_at().
  enum class Kind : std::uint8_t { any, regular };

  InputDescriptor(const std::string& path, Kind kind);
  /// Takes an open descriptor; `name` is for messages.
  InputDescriptor(int descriptor, std::string name)
      : name_(std::move(name)), descriptor_(descriptor) {}
  ~InputDescriptor();
  InputDescriptor(const InputDescriptor&) = delete;
  InputDescriptor& operator=(const InputDescriptor&) = delete;

  /// Of a regular file when it was opened.
  std::uint64_t size() const { return size_; }
  /// Writes the next bytes to the front of `out` and returns their number, which is 0 only at the
  /// end.
  std::size_t read(std::span<char> out) const;
  /// Fills `out` with the bytes from `offset` on, which must all be below size(). Throws also if
  /// the file became shorter.
  void read_at(std::uint64_t offset, std::span<char> out) const;

 private:
  [[noreturn]] void fail(std::string_view action, int error) const;

  std::string name_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace margrove
