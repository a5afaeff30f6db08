#pragma once
// Attachment scores of predicted heads and relations.

#include <cstdint>

namespace margrove {

/// Counts of words, punctuation included.
struct AttachmentScores {
  std::int64_t words = 0, correct_heads = 0, correct_labelled = 0;

  double unlabelled() const { return share(correct_heads); }   // UAS
  double labelled() const { return share(correct_labelled); }  // LAS

 private:
  // 0/0 is 0.
  double share(std::int64_t correct) const {
    return words == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(words);
  }
};

}  // namespace margrove
