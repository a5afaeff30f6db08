#pragma once
// The memory that all requests may hold together.

#include <atomic>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace margrove::serve {

/// Safe to use from many threads.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit = std::numeric_limits<std::size_t>::max())
      : limit_(limit) {}
  /// False, and nothing is taken, if less is left.
  bool take(std::size_t bytes);
  void give(std::size_t bytes) { in_use_ -= bytes; }
  std::size_t limit() const { return limit_; }
  std::size_t in_use() const { return in_use_; }

 private:
  std::size_t limit_;
  std::atomic<std::size_t> in_use_{0};
};

/// What one request, or a part of its work, holds of the budget; gives it back at its end.
class MemoryShare {
 public:
  MemoryShare() = default;
  explicit MemoryShare(MemoryBudget& budget) : budget_(&budget) {}
  MemoryShare(MemoryShare&& other) noexcept;
  MemoryShare& operator=(MemoryShare&& other) noexcept;
  MemoryShare(const MemoryShare&) = delete;
  MemoryShare& operator=(const MemoryShare&) = delete;
  ~MemoryShare() { resize(0); }
  /// Throws StatusError 413 if the request could never have so much, 503 if others hold it now.
  void resize(std::size_t bytes);
  std::size_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The text of an answer, which holds a share of the budget while it grows.
class AnswerText {
 public:
  AnswerText(MemoryBudget& memory, std::size_t max_bytes) : share_(memory), max_bytes_(max_bytes) {}
  /// Throws StatusError 413 beyond max_bytes, and as MemoryShare.
  void append(std::string_view text);
  /// Once each, the share last: it must live as long as the text.
  std::string take_text() { return std::move(text_); }
  MemoryShare take_share() { return std::move(share_); }

 private:
  MemoryShare share_;
  std::size_t max_bytes_;
  std::string text_;
};

}  // namespace margrove::serve
