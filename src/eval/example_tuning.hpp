#pragma once
// Model selection for methods whose examples are sentences in files of their own formats.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/tuning.hpp"

namespace margrove {

/// Sentences of which some are chosen: those of a file, each its lines, or sentences in memory.
class SentenceSet {
 public:
  /// Refers to sentences in memory; reads those of a file. Throws OutOfTimeLimit where `control`
  /// asks to end.
  explicit SentenceSet(const ExampleSource& source, RunControl* control = nullptr);
  std::size_t size() const { return in_memory_ ? in_memory_->size() : lines_.size(); }

  /// Some of them, as a method reads them.
  class Chosen {
   public:
    ExampleSource source() const;

   private:
    friend class SentenceSet;
    std::string text_;
    std::optional<std::vector<Sentence>> in_memory_;
  };
  Chosen choose(std::span<const std::uint32_t> rows) const;

 private:
  std::optional<std::span<const Sentence>> in_memory_;
  std::vector<std::string> lines_;  // of each sentence, with their ends
};

/// As search_rows() for sentences that the method reads without an error. `metric` is set to the
/// name of what is measured: that of the options, or las (of trees) or token_accuracy. Grid points
/// and splits run one after the other, each with all threads. Throws InvalidOption for an unknown
/// metric or option, and OutOfTimeLimit where `control` ends it.
TuningResult search_sentences(const Method& method, const OptionValues& fixed,
                              const SentenceSet& sentences, const TuneOptions& options,
                              std::string& metric, Executor& executor, RunControl& control);

}  // namespace margrove
