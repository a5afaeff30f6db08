#include "margrove/executor.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "margrove/errors.hpp"

namespace margrove {
namespace {
/// True inside a task: a nested call must not wait for the workers that run its caller.
thread_local bool inside_task = false;

/// The maximum number of threads on machines with fewer cores. Tens of thousands of threads would
/// exhaust the memory mappings of a process, which ends it.
constexpr int kMaxThreads = 256;

/// Those that this process may use, which may be fewer than the machine has.
int num_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool is_known = ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  return std::max(
      1, is_known ? CPU_COUNT(&allowed) : static_cast<int>(std::thread::hardware_concurrency()));
}

using Task = std::function<void(std::size_t, int)>;
}  // namespace

class Executor::Pool {
 public:
  explicit Pool(int num_threads) {
    threads_.reserve(num_threads - 1);
    for (int worker = 1; worker < num_threads; ++worker) {
      try {
        threads_.emplace_back([this, worker](const std::stop_token& stop) { work(stop, worker); });
      } catch (const std::system_error&) {
        break;  // the system refuses more threads: go on with those started so far
      }
    }
  }

  ~Pool() {
    for (auto& thread : threads_) thread.request_stop();
    wake_.notify_all();
  }

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  void run(std::size_t count, const Task& task) {
    const std::lock_guard one_caller(callers_);
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      count_ = count;
      next_.store(0, std::memory_order_relaxed);
      failed_index_ = std::numeric_limits<std::size_t>::max();
      failure_ = nullptr;
      busy_ = static_cast<int>(threads_.size());
      ++generation_;
    }
    wake_.notify_all();
    drain(0);
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return busy_ == 0; });
    task_ = nullptr;
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work(const std::stop_token& stop, int worker) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (!wake_.wait(lock, stop, [&] { return generation_ != seen; })) return;
        seen = generation_;
      }
      drain(worker);
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) idle_.notify_one();
    }
  }

  void drain(int worker) {
    inside_task = true;
    for (;;) {
      const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= count_) break;
      try {
        (*task_)(index, worker);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (index < failed_index_) {
          failed_index_ = index;
          failure_ = std::current_exception();
        }
        next_.store(count_, std::memory_order_relaxed);
      }
    }
    inside_task = false;
  }

  std::mutex callers_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable idle_;
  const Task* task_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;
  int busy_ = 0;
  std::uint64_t generation_ = 0;
  std::size_t failed_index_ = 0;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // last, as they must end before the other members do
};

Executor::Executor(int num_threads) {
  require<InvalidOption>(num_threads >= 0, "threads is ", num_threads, ", but must be >= 0");
  const int cores = num_cores();
  num_threads = num_threads == 0 ? cores : std::min(num_threads, std::max(cores, kMaxThreads));
  if (num_threads > 1) pool_ = std::make_unique<Pool>(num_threads);
}

Executor::~Executor() = default;

Executor& Executor::serial() {
  static Executor executor(1);
  return executor;
}

int Executor::size() const { return pool_ ? pool_->size() : 1; }

void Executor::for_each(std::size_t count, const Task& task) {
  if (pool_ && !inside_task && count > 1) {
    pool_->run(count, task);
  } else {
    for (std::size_t index = 0; index < count; ++index) task(index, 0);
  }
}

double Executor::ordered_sum(std::size_t count,
                             const std::function<double(std::size_t, int)>& task) {
  std::vector<double> terms(count);
  for_each(count, [&](std::size_t index, int worker) { terms[index] = task(index, worker); });
  double sum = 0;
  for (const double term : terms) sum += term;
  return sum;
}

void Executor::for_ranges(std::size_t count, std::size_t grain,
                          const std::function<void(std::size_t, std::size_t, int)>& task) {
  const std::size_t num_ranges = (count + grain - 1) / grain;
  for_each(num_ranges, [&](std::size_t range, int worker) {
    task(range * grain, std::min(count, (range + 1) * grain), worker);
  });
}

}  // namespace margrove
