#pragma once
// Examples that a caller has put together.

#include "margrove/examples.hpp"

namespace margrove {

/// Throws InvalidInput unless there are as many rows as label sets, the codec has all their labels,
/// and the views are those of the columns.
void require_consistent(const Examples& examples);

}  // namespace margrove
