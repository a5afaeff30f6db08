#pragma once
// JSON lines: one object on each line. Selected names are keys, `a.b` the key b of the object at
// key a, also within lists of objects.

#include <string>
#include <string_view>

#include "data/records.hpp"
#include "data/row_formats.hpp"

namespace margrove {

/// Reads a plain, gzip or zstd file. Throws InvalidInput "file:line:column: ..." for what is not
/// JSON or nested too deeply, a key that an object has twice, and values that RecordBuilder
/// refuses; and if a selected key is in no record (with labels_optional: if no selected feature
/// is). When `control` asks to end, returns the rows read so far. O(bytes).
RecordDataset read_jsonl(const std::string& path, const ReadOptions& options,
                         RunControl* control = nullptr);
/// The same from memory; `name` stands for the file in messages.
RecordDataset parse_jsonl(std::string_view bytes, const std::string& name,
                          const ReadOptions& options, RunControl* control = nullptr);

/// As a RowFormat takes them.
ReadRows jsonl_rows(const std::string& path, const ReadOptions& options, RunControl* control);
bool starts_like_json(std::string_view start);

}  // namespace margrove
