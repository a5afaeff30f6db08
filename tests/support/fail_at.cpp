// A library to be preloaded, in which one call fails: the n-th call of `kind` after the begin of
// main(), and with a + behind it every later one too.
//
//   FAIL_AT=malloc:17 LD_PRELOAD=libfail_at.so PROGRAM    FAIL_AT=write:3+ ...
//
// At the end of main() the number of calls of every kind is written to the file FAIL_AT_COUNTS,
// one line "kind calls" each. Kinds: malloc, open, read, write, fsync, rename, thread. What glibc
// calls within itself (stdio, the loader) is not counted. It links no C++ library and allocates
// nothing.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT
void* __libc_realloc(void* old, std::size_t size);               // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT
}

namespace {

enum Kind { kMalloc, kOpen, kRead, kWrite, kFsync, kRename, kThread, kKinds };
constexpr const char* kNames[kKinds] = {"malloc", "open",   "read",  "write",
                                        "fsync",  "rename", "thread"};

long calls[kKinds];
Kind failing = kKinds;
long fail_from = 0;
long fail_to = 0;
bool counting = false;

/// Counts a call; true if it is to fail, with errno set.
bool fails(Kind kind, int error) {
  if (!counting) return false;
  const long call = __atomic_add_fetch(&calls[kind], 1, __ATOMIC_RELAXED);
  if (kind != failing || call < fail_from || call > fail_to) return false;
  errno = error;
  return true;
}

/// The function that this library stands in front of.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void read_request() {
  const char* request = std::getenv("FAIL_AT");
  const char* colon = request != nullptr ? std::strchr(request, ':') : nullptr;
  if (colon == nullptr) return;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::size_t length = std::strlen(kNames[kind]);
    if (static_cast<std::size_t>(colon - request) == length &&
        std::strncmp(request, kNames[kind], length) == 0) {
      failing = static_cast<Kind>(kind);
    }
  }
  char* end = nullptr;
  fail_from = std::strtol(colon + 1, &end, 10);
  fail_to = *end == '+' ? __LONG_MAX__ : fail_from;
}

void write_counts() {
  const char* path = std::getenv("FAIL_AT_COUNTS");
  if (path == nullptr) return;
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  for (int kind = 0; kind < kKinds; ++kind) {
    ::dprintf(file, "%s %ld\n", kNames[kind], calls[kind]);
  }
  ::close(file);
}

using Main = int (*)(int, char**, char**);
Main program_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  read_request();
  counting = true;
  const int code = program_main(argc, argv, environment);
  counting = false;
  write_counts();
  return code;
}

}  // namespace

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),  // NOLINT
                      void (*loader_fini)(), void* stack_end) {
  program_main = main;
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, loader_fini,
                                          stack_end);
}

void* malloc(std::size_t size) noexcept {
  return fails(kMalloc, ENOMEM) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return fails(kMalloc, ENOMEM) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) noexcept {
  return fails(kMalloc, ENOMEM) ? nullptr : __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return fails(kMalloc, ENOMEM) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  void* memory = fails(kMalloc, ENOMEM) ? nullptr : __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}

int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  if (fails(kOpen, EMFILE)) return -1;
  return ::openat(AT_FDCWD, path, flags, mode);
}
ssize_t read(int file, void* bytes, std::size_t count) {
  if (fails(kRead, EIO)) return -1;
  return next<decltype(&read)>("read")(file, bytes, count);
}
ssize_t pread(int file, void* bytes, std::size_t count, off_t offset) {
  if (fails(kRead, EIO)) return -1;
  return next<decltype(&pread)>("pread")(file, bytes, count, offset);
}
ssize_t write(int file, const void* bytes, std::size_t count) {
  if (fails(kWrite, ENOSPC)) return -1;
  return next<decltype(&write)>("write")(file, bytes, count);
}
int fsync(int file) {
  if (fails(kFsync, EIO)) return -1;
  return next<decltype(&fsync)>("fsync")(file);
}
int rename(const char* from, const char* to) noexcept {
  if (fails(kRename, EACCES)) return -1;
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  if (fails(kThread, EAGAIN)) return EAGAIN;
  return next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
      "pthread_create")(thread, attributes, run, argument);
}

}  // extern "C"
