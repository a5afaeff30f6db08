#pragma once
// Files that appear whole or not at all.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace margrove {

/// What is done where a symbolic link has the name of a file: `refuse` is for folders to which
/// others write, whose links could lead anywhere.
enum class Links { follow, refuse };

/// Writes a file beside the target and renames it to the target in commit(), so that the path
/// always holds the old file or the complete new one. Symbolic links are followed, also to a file
/// that does not exist yet, unless they are refused, as is then whatever else is not a regular
/// file. The file beside the target has a random name that no link can take in advance, and is
/// locked while it is written (remove_dead_parts()). A target that is not a regular file (a device,
/// a pipe) is written to directly. A file that is replaced keeps its permissions.
///
/// Every member throws InvalidInput naming the path and the system's reason; an object that has
/// thrown, or is destroyed without commit(), leaves the old target untouched and no other file.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path, Links links = Links::follow);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Writes into a buffer, and to the disk when it is full.
  void write(std::string_view bytes);
  /// Flushes to the disk, then renames. No call may follow. `check` is called with the path of the
  /// finished file before it is renamed; if it throws, the old target stays untouched. It is not
  /// called for a target that is written to directly.
  void commit(const std::function<void(const std::string& path)>& check = {});

 private:
  void open_temporary();
  void flush();
  void write_fully(std::string_view bytes);
  [[noreturn]] void fail(std::string_view action, int error);
  void discard() noexcept;

  std::string path_;       // as given, for messages
  std::string target_;     // links resolved
  std::string temporary_;  // empty when the target is written to directly
  std::size_t place_ = 0;  // in the list of remove_temporary_files()
  int descriptor_ = -1;
  std::string buffer_;
};

/// Throws InvalidInput unless an AtomicFile of that path can be made now. It tries by making and
/// removing a file beside the target, which is not touched.
void require_writable(const std::string& path);

/// Removes the temporary files beside the path of AtomicFiles whose process was killed. Those that
/// are still written are left alone, also of other machines if the file system has locks for all.
void remove_dead_parts(const std::string& path, Links links = Links::follow);

/// Removes the temporary files of all AtomicFiles of the process, for what ends it at once, such as
/// a signal handler; nothing else may call it. Async-signal-safe. Afterwards, threads that would
/// rename or close such a file wait for the end. Of more than sixteen files at a time, and where a
/// path has more than 4,095 bytes, the others stay.
void remove_temporary_files() noexcept;

/// Whether an AtomicFile waits for the reader of a pipe, and has written nothing to it.
/// Async-signal-safe.
bool waits_for_a_reader() noexcept;

}  // namespace margrove
