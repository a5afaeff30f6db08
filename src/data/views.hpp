#pragma once
// Several sources of features of the same rows (pixels and captions, sequences and profiles), side
// by side in one X.

#include <span>

#include "margrove/examples.hpp"

namespace margrove {

/// Throws InvalidInput naming the view unless views lie side by side from column 0 on, none is
/// empty, and no two have one name.
void check_views(std::span<const View> views);

/// Row i of the result is row i of all parts in turn. Part k has the columns of views[k]; its
/// further columns are dropped. Throws InvalidInput if the numbers of rows differ. O(nonzeros).
CsrMatrix side_by_side(std::span<const CsrView> parts, std::span<const View> views);

}  // namespace margrove
