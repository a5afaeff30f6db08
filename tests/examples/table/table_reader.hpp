#pragma once
// Tables: `label<TAB>number<TAB>number ...` on each line, as spreadsheets write them.

#include <string>
#include <string_view>

#include "data/row_formats.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"

namespace margrove {

/// Reads a plain, gzip or zstd file. Zeros are not stored. Throws InvalidInput "file:line:column:
/// ..." for a wrong label, a cell that is no number, and lines with different numbers of cells.
/// When `control` asks to end, returns the rows read so far. O(bytes).
Dataset read_table(const std::string& path, const ReadOptions& options = {},
                   RunControl* control = nullptr);
/// The same from memory; `name` stands for the file in messages.
Dataset parse_table(std::string_view bytes, const std::string& name,
                    const ReadOptions& options = {}, RunControl* control = nullptr);

/// read_table() as a RowFormat takes it.
Examples table_rows(const std::string& path, const ReadOptions& options, RunControl* control);

}  // namespace margrove
