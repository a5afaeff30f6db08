#pragma once
// The answers to the rows and sentences of a request, some at a time, as JSON.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/service.hpp"

namespace margrove::serve {

// In memory at once, and between two looks at the clock.
inline constexpr std::size_t kMaxRowsOfBlock = 64;
inline constexpr std::size_t kMaxLabelsOfBlock = 16 * 1024;
// Estimates of what the work takes, which service_memory_test.cpp holds against counts.
inline constexpr std::size_t kBytesPerRowByte = 60;

inline constexpr std::string_view kLate = "the time for a request is over";
/// Throws StatusError 504 after the deadline.
void require_time(Deadline deadline);
double seconds_until(Deadline deadline);

/// Rows as the predictor takes them.
CsrMatrix prepared(const ServedModel& model, std::span<const std::string_view> rows,
                   const std::string& source, std::int64_t first = 1);
/// The labels of a row's answer, if the options bound them.
std::size_t labels_per_row(const ServedModel& model, const AnswerOptions& options);
/// How many of the first rows are worked on at once: at least one.
std::size_t block_size(std::span<const std::string_view> rows, std::size_t labels);

/// A sentence, and the memory that it and the work on it hold.
struct HeldSentence {
  MemoryShare share;
  std::array<Sentence, 1> sentence;
  std::string place;
};
HeldSentence held_sentence(const ServedModel& model, std::string_view row,
                           const std::string& source, std::int64_t number, MemoryBudget& memory);

/// The answers to some rows, and the memory that they and the work on them hold.
struct HeldAnswers {
  MemoryShare share;
  std::vector<Answer> answers;
};
/// Of a model of rows, which are worked on together. Throws as MemoryShare.
HeldAnswers held_answers(const ServedModel& model, const AnswerOptions& options,
                         std::span<const std::string_view> rows, const std::string& source,
                         std::int64_t first, MemoryBudget& memory);

/// Calls use(json) for the answer to each row, in order. Rows are worked on together, sentences one
/// by one. Throws StatusError 504 after the deadline, and as MemoryShare.
void for_answers(const ServedModel& model, const AnswerOptions& options,
                 std::span<const std::string_view> rows, const std::string& source,
                 std::int64_t first, MemoryBudget& memory, Deadline deadline,
                 const std::function<void(std::string_view json)>& use);

}  // namespace margrove::serve
