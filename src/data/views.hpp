#pragma once
// Several sources of features of the same rows (pixels and captions, sequences and profiles), side
// by side in one X.

#include <span>
#include <variant>

#include "data/npy_reader.hpp"
#include "margrove/examples.hpp"

namespace margrove {

/// Throws InvalidInput naming the view unless views lie side by side from column 0 on, none is
/// empty, and no two have one name.
void check_views(std::span<const View> views);

/// The rows of one view; those of an array are read in turn.
using ViewRows = std::variant<CsrView, NpyArray*>;

/// Row i of the result is row i of all parts in turn. Part k has the columns of views[k]; its
/// further columns are dropped. Zeros of arrays stay, so that all rows have all of their columns.
/// Throws InvalidInput if the numbers of rows differ, and as NpyArray::row(). An array is not held
/// beside its columns. O(nonzeros).
CsrMatrix side_by_side(std::span<const ViewRows> parts, std::span<const View> views);

}  // namespace margrove
