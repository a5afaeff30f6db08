// A library to be preloaded, in which the monotonic clock advances by calls and not by time: each
// call is COUNTED_CLOCK microseconds after the one before, and no alarm comes. So a test knows how
// often a program asks for the time, and a time limit comes after the same work on every machine.
//
//   COUNTED_CLOCK=1000 LD_PRELOAD=libcounted_clock.so PROGRAM
//
// The number of calls stands in the first eight bytes of the file COUNTED_CLOCK_CALLS, however the
// program ends.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

constexpr long kMicrosecond = 1'000;
constexpr long kSecond = 1'000'000'000;

long own_calls = 0;
long* calls = &own_calls;
long step = 0;  // nanoseconds; 0: the clock of the system

__attribute__((constructor)) void read_request() {
  const char* request = std::getenv("COUNTED_CLOCK");
  if (request != nullptr) step = std::strtol(request, nullptr, 10) * kMicrosecond;
  const char* path = std::getenv("COUNTED_CLOCK_CALLS");
  if (path == nullptr) return;
  const int file = ::open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  if (::ftruncate(file, sizeof(long)) == 0) {
    void* shared = ::mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) calls = static_cast<long*>(shared);
  }
  ::close(file);
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* time) noexcept {
  if (id != CLOCK_MONOTONIC || step == 0) {
    return static_cast<int>(::syscall(SYS_clock_gettime, id, time));
  }
  const long now = kSecond + __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED) * step;
  time->tv_sec = now / kSecond;
  time->tv_nsec = now % kSecond;
  return 0;
}

extern "C" int setitimer(__itimer_which_t which, const itimerval* timer, itimerval* old) noexcept {
  if (step != 0) return 0;
  return static_cast<int>(::syscall(SYS_setitimer, which, timer, old));
}
