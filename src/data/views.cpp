#include "data/views.hpp"

#include <algorithm>
#include <numeric>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

std::size_t num_rows(const ViewRows& part) {
  if (const auto* array = std::get_if<NpyArray*>(&part)) return (*array)->num_rows();
  return std::get<CsrView>(part).num_rows();
}

/// Numbers that the part has at most.
std::size_t most_numbers(const ViewRows& part) {
  if (const auto* array = std::get_if<NpyArray*>(&part)) {
    return (*array)->num_rows() * (*array)->num_columns();
  }
  return static_cast<std::size_t>(std::get<CsrView>(part).num_nonzeros());
}

/// Rows that grow by the columns of one view after the other.
class JoinedRows {
 public:
  JoinedRows(std::size_t most_numbers, std::size_t num_rows) {
    pointers_.reserve(num_rows + 1);
    pointers_.push_back(0);
    columns_.reserve(most_numbers);
    values_.reserve(most_numbers);
  }
  void add(const SparseRow& row, const View& view) {
    const FeatureId width = view.end - view.begin;
    for (std::size_t j = 0; j < row.size() && row.columns[j] < width; ++j) {
      columns_.push_back(view.begin + row.columns[j]);
      values_.push_back(row.values[j]);
    }
  }
  void add(std::span<const float> row, const View& view) {
    const std::size_t width = std::min<std::size_t>(row.size(), view.end - view.begin);
    columns_.resize(columns_.size() + width);
    std::iota(columns_.end() - static_cast<std::ptrdiff_t>(width), columns_.end(), view.begin);
    values_.insert(values_.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(width));
  }
  void finish_row() { pointers_.push_back(static_cast<std::int64_t>(columns_.size())); }
  CsrMatrix take(std::uint32_t num_columns) {
    return {num_columns, std::move(pointers_), std::move(columns_), std::move(values_)};
  }

 private:
  std::vector<std::int64_t> pointers_;
  std::vector<FeatureId> columns_;
  std::vector<float> values_;
};

}  // namespace

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

CsrMatrix side_by_side(std::span<const ViewRows> parts, std::span<const View> views) {
  const std::uint32_t num_columns = views.empty() ? 0 : views.back().end;
  if (parts.empty()) return CsrMatrix(num_columns);
  const std::size_t count = num_rows(parts[0]);
  std::size_t most = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    require(num_rows(parts[k]) == count, "view '", views[k].name, "' has ", num_rows(parts[k]),
            " rows, but must have ", count, " as view '", views[0].name, "'");
    most += most_numbers(parts[k]);
  }
  JoinedRows joined(most, count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (const auto* array = std::get_if<NpyArray*>(&parts[k])) {
        joined.add((*array)->row(i), views[k]);
      } else {
        joined.add(std::get<CsrView>(parts[k]).row(i), views[k]);
      }
    }
    joined.finish_row();
  }
  return joined.take(num_columns);
}

}  // namespace margrove
