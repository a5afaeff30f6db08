#pragma once
// Predictions as lines of text.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/dataset.hpp"

namespace margrove {

struct ScoredLabel {
  LabelId label;
  double score;
};

/// Appends the names of labels joined by a separator, without a line end.
void append_labels(std::string& line, std::span<const LabelId> labels,
                   std::span<const std::string> names, std::string_view separator = ",");
/// Appends `label:score` of each in the order given, joined by a separator.
void append_scored_labels(std::string& line, std::span<const ScoredLabel> labels,
                          std::span<const std::string> names, std::string_view separator = " ");

}  // namespace margrove
