#include "serve/memory_budget.hpp"

#include <algorithm>

#include "margrove/errors.hpp"
#include "serve/service.hpp"

namespace margrove::serve {

bool MemoryBudget::take(std::size_t bytes) {
  std::size_t before = in_use_.load();
  do {
    if (bytes > limit_ - std::min(before, limit_)) return false;
  } while (!in_use_.compare_exchange_weak(before, before + bytes));
  return true;
}

MemoryShare::MemoryShare(MemoryShare&& other) noexcept
    : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}

MemoryShare& MemoryShare::operator=(MemoryShare&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MemoryShare::resize(std::size_t bytes) {
  if (bytes <= bytes_) {
    if (bytes < bytes_) budget_->give(bytes_ - bytes);
  } else if (budget_ != nullptr && !budget_->take(bytes - bytes_)) {
    if (bytes > budget_->limit()) {
      throw StatusError(413, concat("the request would take about ", bytes,
                                    " bytes of memory, but all requests together may take ",
                                    budget_->limit(), " (option memory_limit)"));
    }
    throw StatusError(503, "other requests hold the memory for requests (option memory_limit)");
  }
  bytes_ = budget_ == nullptr ? 0 : bytes;
}

void AnswerText::append(std::string_view text) {
  const std::size_t size = text_.size() + text.size();
  if (size > max_bytes_) {
    throw StatusError(413, concat("the answer has more than ", max_bytes_,
                                  " bytes (option max_answer_mb); ask for fewer rows or labels, or "
                                  "send the rows as a stream of JSON lines"));
  }
  if (size > text_.capacity()) {
    const std::size_t larger = std::max(size, 2 * text_.capacity());
    share_.resize(text_.capacity() + larger);  // both are there while the text moves
    text_.reserve(larger);
    share_.resize(text_.capacity());
  }
  text_ += text;
}

}  // namespace margrove::serve
