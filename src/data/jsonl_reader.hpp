#pragma once
// JSON lines: one object on each line. Selected names are keys; `a.b` is the key b of the object,
// or of the objects of the list, at key a.

#include <string>
#include <string_view>

#include "data/records.hpp"
#include "data/row_formats.hpp"

namespace margrove {

/// Reads a plain, gzip or zstd file. Throws InvalidInput "file:line:column: ..." for a line that is
/// not JSON or is nested too deeply, a key that an object has twice, and values that RecordBuilder
/// refuses; and if no record has a selected key (with labels_optional: any selected feature). When
/// `control` asks to end, returns the rows read so far. O(bytes).
Examples read_jsonl(const std::string& path, const ReadOptions& options,
                    RunControl* control = nullptr);
/// The same from memory; `name` stands for the file in messages.
Examples parse_jsonl(std::string_view bytes, const std::string& name, const ReadOptions& options,
                     RunControl* control = nullptr);

bool starts_like_json(std::string_view start);

}  // namespace margrove
