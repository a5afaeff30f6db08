#pragma once
// Predictions as lines of text.

#include <span>
#include <string>
#include <vector>

#include "margrove/dataset.hpp"

namespace margrove {

struct ScoredLabel {
  LabelId label;
  double score;
};

/// Appends a line without its end: labels separated by commas.
void append_labels(std::string& line, std::span<const LabelId> labels, const LabelCodec& codec);
/// The same of `label:score` separated by blanks, in the order given.
void append_scored_labels(std::string& line, std::span<const ScoredLabel> labels,
                          const LabelCodec& codec);

}  // namespace margrove
