#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "margrove/errors.hpp"

namespace margrove {
namespace {
constexpr std::size_t kBufferBytes = 1 << 18;
constexpr int kMaxLinks = 40;  // as Linux follows

// Temporary files, listed for signal handlers. A name belongs to its AtomicFile while its place is
// empty or filling, and to both while it is listed; a handler that ends the process takes it over.
enum class Place : int { empty, filling, listed, taken };
struct ListedName {
  std::atomic<Place> place = Place::empty;
  std::array<char, 4096> path{};
};
static_assert(std::atomic<Place>::is_always_lock_free);  // otherwise not safe in handlers
constexpr std::size_t kMaxListed = 16;
constinit std::array<ListedName, kMaxListed> listed_names{};

/// The place of the name, or kMaxListed if there is none for it.
std::size_t list_name(const std::string& path) {
  for (std::size_t k = 0; k < kMaxListed && path.size() < listed_names[k].path.size(); ++k) {
    Place expected = Place::empty;
    if (!listed_names[k].place.compare_exchange_strong(expected, Place::filling)) continue;
    std::copy(path.c_str(), path.c_str() + path.size() + 1, listed_names[k].path.begin());
    listed_names[k].place.store(Place::listed);
    return k;
  }
  return kMaxListed;
}

void unlist_name(std::size_t k) {
  if (k == kMaxListed) return;
  Place expected = Place::listed;
  if (listed_names[k].place.compare_exchange_strong(expected, Place::empty)) return;
  for (;;) ::pause();  // a handler on another thread ends the process
}

// Targets that wait for a reader now, for signal handlers.
std::atomic<int> waiting_targets = 0;
static_assert(std::atomic<int>::is_always_lock_free);

std::string resolve_links(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (real) return real.get();
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored))
    return path;                        // a pipe under /dev/fd has no other name
  std::filesystem::path target = path;  // the last link of a chain may lead to a file to be made
  for (int links = 0; links < kMaxLinks && std::filesystem::is_symlink(target, ignored); ++links) {
    target = target.parent_path() / std::filesystem::read_symlink(target, ignored);
  }
  return target.string();
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

constexpr std::string_view kPart = ".tmp-";
constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::size_t kRandomDigits = 16;
constexpr int kMaxAttempts = 1000;

std::string random_digits() {
  std::array<unsigned char, kRandomDigits> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<::ssize_t>(bytes.size())) return {};
  std::string digits;
  for (const unsigned char byte : bytes) digits += kHexDigits[byte % kHexDigits.size()];
  return digits;
}

struct Descriptor {
  int number;
  explicit Descriptor(int given) : number(given) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

/// Whether a process holds the file, or none can tell.
bool is_held(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) != 0; }
}  // namespace

AtomicFile::AtomicFile(std::string path, Links links)
    : path_(std::move(path)), target_(links == Links::follow ? resolve_links(path_) : path_) {
  struct stat existing {};
  const auto status = links == Links::follow ? ::stat : ::lstat;
  const bool exists = status(target_.c_str(), &existing) == 0;
  if (!exists && errno == ELOOP) fail("cannot write to it", ELOOP);
  if (exists && links == Links::refuse && !S_ISREG(existing.st_mode)) {
    throw InvalidInput(concat(path_, ": it is ",
                              S_ISLNK(existing.st_mode) ? "a symbolic link" : "not a regular file",
                              ", but must be a regular file; remove it"));
  }
  if (exists && S_ISDIR(existing.st_mode)) fail("cannot write to it", EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) {
    ++waiting_targets;
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);  // of a pipe, waits for a reader
    const int error = errno;
    --waiting_targets;
    if (descriptor_ < 0) fail("cannot open it for writing", error);
    return;
  }
  open_temporary();
  if (exists && ::fchmod(descriptor_, existing.st_mode & 07777) != 0) {
    fail("cannot set the permissions", errno);
  }
}

/// Other processes and threads may be writing the same target; O_EXCL reserves an unused name.
void AtomicFile::open_temporary() {
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    std::string name = concat(target_, kPart, random_digits());
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      // Whoever removes dead parts may have seen the file before it was locked.
      struct stat made {};
      const bool is_gone = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      if (is_gone || ::fstat(descriptor_, &made) != 0 || made.st_nlink == 0) {
        ::close(descriptor_);
        ::unlink(name.c_str());
        descriptor_ = -1;
        if (attempt >= kMaxAttempts) fail("cannot create a file beside it", EAGAIN);
        continue;
      }
      temporary_ = std::move(name);
      place_ = list_name(temporary_);
    } else if (errno != EEXIST || attempt >= kMaxAttempts) {
      fail("cannot create a file beside it", errno);
    }
  }
}

void remove_dead_parts(const std::string& path, Links links) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path target = links == Links::follow ? resolve_links(path) : path;
  const std::string begin = concat(target.filename().string(), kPart);
  for (const auto& entry : fs::directory_iterator(folder_of(target.string()), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin) || name.size() != begin.size() + kRandomDigits ||
        name.find_first_not_of(kHexDigits, begin.size()) != std::string::npos) {
      continue;
    }
    const Descriptor part{
        ::open(entry.path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (part.number >= 0 && !is_held(part.number)) ::unlink(entry.path().c_str());
  }
}

void require_writable(const std::string& path) {
  require(!path.empty(), "the name of the file to write is empty");
  // Opening and closing a pipe here would tell its reader that the result has ended.
  struct stat existing {};
  if (::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode) &&
      !S_ISDIR(existing.st_mode)) {
    require(::access(path.c_str(), W_OK) == 0, path,
            ": cannot open it for writing: ", std::generic_category().message(errno));
    return;
  }
  const AtomicFile file(path);
}

void remove_temporary_files() noexcept {
  for (ListedName& name : listed_names) {
    Place expected = Place::listed;
    if (name.place.compare_exchange_strong(expected, Place::taken)) ::unlink(name.path.data());
  }
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) {
    write_fully(bytes);
  } else {
    buffer_ += bytes;
  }
}

void AtomicFile::flush() {
  write_fully(buffer_);
  buffer_.clear();
}

void AtomicFile::write_fully(std::string_view bytes) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write to it", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit(const std::function<void(const std::string& path)>& check) {
  flush();
  if (temporary_.empty()) {  // a device: there is nothing to rename, and it may not know fsync
    const int result = ::close(descriptor_);
    descriptor_ = -1;
    if (result != 0) fail("cannot close it", errno);
    return;
  }
  if (::fsync(descriptor_) != 0) fail("cannot write to it", errno);
  const Descriptor lock{::dup(descriptor_)};  // keeps the file locked until it is renamed
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail("cannot write to it", errno);
  if (check) {
    try {
      check(temporary_);
    } catch (...) {
      discard();
      throw;
    }
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot replace it", errno);
  unlist_name(place_);
  temporary_.clear();
  // The file is whole by now; syncing the folder only makes the new name survive a power cut, and
  // some file systems refuse it.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

void AtomicFile::fail(std::string_view action, int error) {
  discard();
  throw InvalidInput(concat(path_, ": ", action, ": ", std::generic_category().message(error)));
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    unlist_name(place_);
  }
  temporary_.clear();
}

bool waits_for_a_reader() noexcept { return waiting_targets.load() > 0; }

}  // namespace margrove
