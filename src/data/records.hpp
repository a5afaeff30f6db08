#pragma once
// What readers of records return.

#include <optional>
#include <string>
#include <vector>

#include "margrove/examples.hpp"

namespace margrove {

/// What the names of a selection's features with `*` may stand for, where they are patterns.
struct ColumnPatterns {
  std::vector<std::string> ignored = {};  // columns, or patterns, that no pattern takes
};

using CategoricalField = RecordFields::Categorical;

/// What a file of records holds.
struct RecordDataset {
  RecordSelection selection;
  RecordFields fields;
  LabelSets labels;
  LabelCodec codec;                    // of paths: the ids of all nodes
  std::optional<Hierarchy> hierarchy;  // of paths
};

}  // namespace margrove
