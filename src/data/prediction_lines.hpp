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

/// Appends a line without its end: names of labels with a separator between.
void append_labels(std::string& line, std::span<const LabelId> labels,
                   std::span<const std::string> names, std::string_view separator = ",");
/// The same of `label:score`, in the order given.
void append_scored_labels(std::string& line, std::span<const ScoredLabel> labels,
                          std::span<const std::string> names, std::string_view separator = " ");

}  // namespace margrove
