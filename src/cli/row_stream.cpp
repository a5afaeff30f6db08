#include "cli/row_stream.hpp"

#include <fmt/format.h>

#include "data/utf8.hpp"

namespace margrove::cli {

void RowStream::answer_all(LineBlocks blocks, const Answer& answer, const Write& write) {
  ReadOptions options = read_options(model_);
  options.labels_optional = true;
  RowParts parts(std::move(blocks), row_kind(model_), options);
  for (bool goes_on = true; goes_on && parts.next();) {
    std::string lines;
    std::size_t num_rows = 0;
    try {
      num_rows = answer_part(parts, parts.part(), answer, lines);
    } catch (const InvalidInput&) {  // of some row
      answer_rows(parts, answer, write, goes_on);
      continue;
    }
    num_answered_ += num_rows;
    if (num_rows > 0) parts.allow_labels_alone();
    if (!lines.empty()) goes_on = write(lines);
  }
  require(num_answered_ + num_skipped_ > 0, parts.name(),
          ": the file has no rows, but must have at least one");
  require(num_answered_ > 0, parts.name(), ": none of its ", num_skipped_, " rows can be read");
  if (num_skipped_ > 0) {
    warn(fmt::format("{}: {} of {} rows have errors; their answers are empty lines", parts.name(),
                     num_skipped_, num_answered_ + num_skipped_));
  }
}

std::size_t RowStream::answer_part(const RowParts& parts, const FilePart& part,
                                   const Answer& answer, std::string& lines) const {
  const RawRows raw(parts.read(part), parts.name());
  if (raw.num_rows() > 0) answer(preprocess(model_, raw), lines);
  return raw.num_rows();
}

void RowStream::answer_rows(RowParts& parts, const Answer& answer, const Write& write,
                            bool& goes_on) {
  const std::size_t size = parts.part().rows.size();
  for (std::size_t begin = 0; begin < size && goes_on;) {
    const FilePart row = parts.first_row(begin);
    begin += row.rows.size();
    std::string lines;
    try {
      const std::size_t num_rows = answer_part(parts, row, answer, lines);
      num_answered_ += num_rows;
      if (num_rows > 0) parts.allow_labels_alone();
    } catch (const LostRows&) {
      throw;
    } catch (const InvalidInput& error) {
      if (!skips_) throw;
      skip(parts, row, error);
      lines = "\n";
    }
    if (!lines.empty()) goes_on = write(lines);
  }
}

void RowStream::skip(const RowParts& parts, const FilePart& row, const InvalidInput& error) {
  ++num_skipped_;
  std::string message = error.what();
  if (!message.starts_with(parts.name())) {  // of preprocessing, which knows no lines
    message = concat(parts.name(), ":", row.lines_before + 1, ": ", message);
  }
  print_error(fmt::format("margrove: {}; the row is skipped\n", printable(message)));
}

}  // namespace margrove::cli
