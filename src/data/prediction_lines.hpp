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

/// One line per row: `label:score` separated by blanks, in the order given.
void write_scored_predictions(const std::string& path,
                              std::span<const std::vector<ScoredLabel>> rows,
                              const LabelCodec& codec);

/// The same lines, without their end, for other outputs.
void append_labels(std::string& line, std::span<const LabelId> labels, const LabelCodec& codec);
void append_scored_labels(std::string& line, std::span<const ScoredLabel> labels,
                          const LabelCodec& codec);

}  // namespace margrove
