#pragma once
// Files that appear whole or not at all.

#include <functional>
#include <string>
#include <string_view>

namespace margrove {

/// Writes beside the target and renames over it in commit(), so that whoever opens the path sees
/// the old file or the complete new one. A symbolic link is followed,
/// also to a file that does not exist yet; a target that is not a regular file (a device, a pipe)
/// is written to directly. Keeps the permissions of a file that it replaces.
///
/// Every member throws InvalidInput naming the path and the system's reason; an object that has
/// thrown, or is destroyed without commit(), leaves the old target untouched and no other file.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Writes into a buffer, and to the disk when it is full.
  void write(std::string_view bytes);
  /// Flushes to the disk, then renames. No call may follow. `check` is called before the renaming
  /// with the path of the finished file; what it throws leaves the old target untouched. Of a
  /// target that is written to directly there is nothing to check.
  void commit(const std::function<void(const std::string& path)>& check = {});

 private:
  void flush();
  void write_fully(std::string_view bytes);
  [[noreturn]] void fail(std::string_view action, int error);
  void discard() noexcept;

  std::string path_;       // as given, for messages
  std::string target_;     // links resolved
  std::string temporary_;  // empty when the target is written to directly
  int descriptor_ = -1;
  std::string buffer_;
};

/// Throws InvalidInput unless an AtomicFile of that path can be made now. Makes and removes a file
/// beside the target, which shows all that the file system can refuse; the target is not touched.
void require_writable(const std::string& path);

}  // namespace margrove
