#pragma once
// What readers of records share.

#include <string>
#include <vector>

#include "margrove/examples.hpp"

namespace margrove {

/// What the names of a selection's features with `*` may stand for, where they are patterns.
struct ColumnPatterns {
  std::vector<std::string> ignored = {};  // columns, or patterns, that no pattern takes
};

using CategoricalField = RecordFields::Categorical;

}  // namespace margrove
