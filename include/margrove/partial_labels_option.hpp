#pragma once
// The option of estimators that take partial labels (docs/notation.md).

#include <tuple>

#include "margrove/api.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {
namespace detail {

template <class Options>
auto partial_labels_field() {
  return std::tuple{field(
      "partial_labels", &Options::partial_labels,
      "an inner node of the hierarchy as the label of a row says that the row's class is a leaf "
      "below it, unknown which, and is no answer of its own (rows with one label)")};
}

}  // namespace detail
}  // namespace margrove
