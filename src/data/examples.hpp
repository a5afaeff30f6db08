#pragma once
// Examples from files, in the format that names, kinds and options give.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/row_formats.hpp"
#include "margrove/examples.hpp"

namespace margrove {

/// Reads a file in the format that its name and the kind give (data/row_formats.hpp), and the
/// vectors that the options have for its rows (data/vector_file.hpp).
Examples read_rows(const std::string& path, RowKind kind, const ReadOptions& options = {},
                   RunControl* control = nullptr);
/// SvmlightOptions::first_index for files that belong to rows whose column 0 has this index: 0 is
/// that of all of them, while files of rows from 1 on may have a header and count from 0.
inline std::optional<std::uint32_t> given_first_index(std::uint32_t first_index) {
  return first_index == 0 ? std::optional(first_index) : std::nullopt;
}

using ViewFile = ExampleOptions::ViewFile;
inline constexpr std::string_view kFirstView = "main";
/// Reads the files and puts their columns to the right of those of raw.X, which become the view
/// kFirstView. Throws InvalidInput if raw does not hold numbers, if names repeat, or if a file has
/// another number of rows, no features, or a label that its row does not have in raw. Rows of the
/// file may have no label. Files .npy are arrays (data/npy_reader.hpp), whose rows have none.
void read_views(Examples& raw, std::span<const ViewFile> files, RunControl* control = nullptr);
/// The same for the rows of a model with these views (empty: a single view). raw has the first view
/// and `files` the others in any order; features beyond the width of a view are dropped. Throws
/// InvalidInput also if the names are not those of the model, and if an array has another number of
/// columns than its view.
void read_views_of_model(Examples& raw, std::span<const ViewFile> files,
                         std::span<const View> views, RunControl* control = nullptr);

}  // namespace margrove
