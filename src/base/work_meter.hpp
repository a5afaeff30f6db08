#pragma once
// How work that has no passes, such as the preparation of rows, asks for the time.

#include <algorithm>
#include <cstddef>

#include "base/memory_limit.hpp"
#include "base/out_of_time.hpp"

namespace margrove {

/// Counts work in bytes, terms, numbers, labels or whatever takes about as long, and asks a control
/// after each kWorkBetweenQuestions of it, and a watch over the memory after kQuestionsBetweenLooks
/// of these.
class WorkMeter {
 public:
  static constexpr std::size_t kWorkBetweenQuestions = 16'384;  // a few milliseconds
  static constexpr int kQuestionsBetweenLooks = 32;             // which read a file of the system

  /// Both may be null.
  explicit WorkMeter(RunControl* control = nullptr, MemoryWatch* memory = nullptr)
      : control_(control), memory_(memory) {}

  /// Throws OutOfTime if the control asks to end, and what MemoryWatch::look() throws.
  void add(std::size_t work = 1) {
    if (work < left_) {
      left_ -= work;
    } else {
      ask();
    }
  }

 private:
  void ask() {
    left_ = kWorkBetweenQuestions;
    end_if_out_of_time(control_);
    if (memory_ == nullptr || ++questions_ < kQuestionsBetweenLooks) return;
    questions_ = 0;
    memory_->look();
  }

  RunControl* control_;
  MemoryWatch* memory_;
  int questions_ = 0;  // since the last look
  std::size_t left_ = kWorkBetweenQuestions;
};

/// Sorts, and counts comparisons where there are so many that they take long: by merging then,
/// whose number of comparisons does not depend on the order that the range has.
template <class Range, class Less>
void sort_metered(Range& range, const Less& less, WorkMeter& meter) {
  const auto size = static_cast<std::size_t>(range.end() - range.begin());
  meter.add(size);
  if (size < WorkMeter::kWorkBetweenQuestions) return std::sort(range.begin(), range.end(), less);
  std::stable_sort(range.begin(), range.end(), [&](const auto& a, const auto& b) {
    meter.add();
    return less(a, b);
  });
}

}  // namespace margrove
