// A library to be preloaded into a process of one unit test (`--gtest_filter=NAME`). At its end it
// adds a line "NAME THREADS" to the file THREAD_STARTS: how many threads the test has started.
// `make check-tsan` leaves out tests that start none (tools/tests_with_threads.py).
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr char kFilter[] = "--gtest_filter=";

int num_started = 0;

// Copies this process's filter into `name`; false if it has none.
bool read_filter(char* name, std::size_t size) {
  std::FILE* arguments = std::fopen("/proc/self/cmdline", "rb");
  if (arguments == nullptr) return false;
  char text[4096];
  const std::size_t length = std::fread(text, 1, sizeof(text) - 1, arguments);
  std::fclose(arguments);
  text[length] = '\0';
  for (const char* at = text; at < text + length; at += std::strlen(at) + 1) {
    if (std::strncmp(at, kFilter, sizeof(kFilter) - 1) != 0) continue;
    return std::snprintf(name, size, "%s", at + sizeof(kFilter) - 1) < static_cast<int>(size);
  }
  return false;
}

__attribute__((destructor)) void write_count() {
  char name[1024];
  if (!read_filter(name, sizeof(name))) return;
  const int file = ::open(THREAD_STARTS, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  ::dprintf(file, "%s %d\n", name, __atomic_load_n(&num_started, __ATOMIC_RELAXED));
  ::close(file);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) noexcept {
  const auto next =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  __atomic_fetch_add(&num_started, 1, __ATOMIC_RELAXED);
  return next(thread, attributes, run, argument);
}
