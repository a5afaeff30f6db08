#include "data/views.hpp"

#include <algorithm>

#include "margrove/errors.hpp"

namespace margrove {

void check_views(std::span<const View> views) {
  FeatureId begin = 0;
  for (std::size_t k = 0; k < views.size(); ++k) {
    const View& view = views[k];
    require(view.begin == begin && view.begin < view.end, "view '", view.name, "': its columns [",
            view.begin, ", ", view.end, ") must begin at ", begin, " and not be empty");
    begin = view.end;
    require(std::none_of(views.begin(), views.begin() + static_cast<std::ptrdiff_t>(k),
                         [&](const View& other) { return other.name == view.name; }),
            "view '", view.name, "' occurs twice, but names must differ");
  }
}

CsrMatrix side_by_side(std::span<const CsrView> parts, std::span<const View> views) {
  CsrMatrix joined(views.empty() ? 0 : views.back().end);
  if (parts.empty()) return joined;
  for (std::size_t k = 1; k < parts.size(); ++k) {
    require(parts[k].num_rows() == parts[0].num_rows(), "view '", views[k].name, "' has ",
            parts[k].num_rows(), " rows, but must have ", parts[0].num_rows(), " as view '",
            views[0].name, "'");
  }
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (std::size_t i = 0; i < parts[0].num_rows(); ++i) {
    columns.clear();
    values.clear();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const SparseRow row = parts[k].row(i);
      const FeatureId width = views[k].end - views[k].begin;
      for (std::size_t j = 0; j < row.size() && row.columns[j] < width; ++j) {
        columns.push_back(views[k].begin + row.columns[j]);
        values.push_back(row.values[j]);
      }
    }
    joined.append_row(columns, values);
  }
  return joined;
}

}  // namespace margrove
