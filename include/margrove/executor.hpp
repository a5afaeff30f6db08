#pragma once
// Threads. The library never starts any by itself; the caller makes an Executor and passes it on.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

/// Runs index ranges on a fixed set of threads. Executor(1) is the specification: results must have
/// the same bits for every size(). Therefore tasks write only to memory that belongs to their
/// index, use worker numbers only to find scratch space, and sums are taken in the order of the
/// index (see ordered_sum()).
class Executor {
 public:
  /// num_threads >= 1 counts the calling thread; 0 means one thread per core. There are at most
  /// max(256, cores) threads, and fewer if the system refuses to start more; size() says how many.
  explicit Executor(int num_threads = 1);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// A shared executor without threads, which runs everything on the calling thread.
  static Executor& serial();

  int size() const;

  /// Calls task(index, worker) for every index in [0, count), each once, in no fixed order, and
  /// returns when all are done. 0 <= worker < size(). If tasks throw, the remaining ones are
  /// skipped and the exception of the lowest index that threw is rethrown here. A call from inside
  /// a task runs serially in that task.
  void for_each(std::size_t count, const std::function<void(std::size_t index, int worker)>& task);

  /// The sum of task(index, worker), added up in the order of the index.
  double ordered_sum(std::size_t count,
                     const std::function<double(std::size_t index, int worker)>& task);

  /// Splits [0, count) into ranges of at most `grain` (a number that must not depend on size())
  /// and calls task(begin, end, worker) for each.
  void for_ranges(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t begin, std::size_t end, int worker)>& task);

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;  // null for one thread
};

}  // namespace margrove
